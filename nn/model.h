// A graph of layers, each of which takes the one before it or those that it names.
//
//   Model model({784}, DType::kFloat32, 1234);
//   model.add(Dense::Options{{.name = "hidden"}, 500, "tanh"});  // nn/layers/dense.h
//   model.add(Softmax::Options{{.name = "softmax"}, 10});
//   Expr loss = negative_log_likelihood(model.logits(x), y);
//   auto gradients = grad(loss, model.exprs());
//
//   model.add(Dense::Options{{.name = "right", .inputs = {"hidden"}}, 500, "tanh"});  // next to another one
//   model.add(Add::Options{{.name = "sum", .inputs = {"right", "hidden"}}});          // of nn/layers/add.h
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>

#include "nn/layer.h"
#include "nn/options.h"

namespace thtrain {

/// What a model takes: minibatches [batch, lengths of one example...], which layers call by this name.
struct ModelInput {
  std::string name;
  Shape shape;  // of sequences, of one step
  bool is_sequence = false;
  std::optional<std::array<int64_t, 3>> image = {};  // channels, height, width, where an example is an image
};

class ModelPass;  // nn/model_pass.h

class Model {
 public:
  /// For examples of the shape `input`, which layers call "x". The layers draw their weights in turn from one generator
  /// of that seed. `classes` are those of the data, where they are known. UserError: a length or `classes` is negative,
  /// the dtype is not floating, or it is no seed.
  Model(Shape input, DType dtype, int64_t seed, int64_t classes = 0)
      : Model({}, std::vector<ModelInput>{{"x", std::move(input)}}, dtype, seed, classes) {}
  /// With several inputs; a layer that names none takes the first one where no layer precedes it.
  static Model with_inputs(std::vector<ModelInput> inputs, DType dtype, int64_t seed, int64_t classes = 0) {
    return {Several(), std::move(inputs), dtype, seed, classes};
  }

  /// The next layer. With a seed it draws from a generator of its own. UserError where an option is out of its declared
  /// range, where it cannot take its inputs, where one of them is no layer before it, and where another layer has its
  /// name.
  template <std::derived_from<LayerOptions> O>
  void add(O options, std::optional<int64_t> seed = {}) {
    if (seed) options.seed = seed;
    O fresh;
    check_declared(called(options, O::kName), schema_of<O>(), &options, &fresh);
    add_layer(options, O::kName, LayerOptions::Maker::of<O>());
  }
  /// The same of any kind.
  void add(OneOf<LayerOptions> options);
  /// How many examples the minibatches of training have, for layers whose state has an array of each; before such a
  /// layer is added.
  void set_batch(int64_t batch) { batch_ = batch; }

  /// Lengths of one example of the first input.
  const Shape& input_shape() const { return inputs_.front().shape; }
  const std::vector<ModelInput>& inputs() const { return inputs_; }
  DType dtype() const { return dtype_; }
  /// Of the softmax at the end. UserError where the last layer is another one.
  int64_t classes() const;
  /// In the order in which they were added.
  const std::vector<std::shared_ptr<const Layer>>& layers() const { return layers_; }
  /// The layers that no other layer takes: the last one, and others.
  std::vector<std::string> outputs() const;
  /// The generator after the last layer's draw: shuffling goes on from there.
  const RandomState& random() const { return random_; }

  /// Of a minibatch, a value [batch, input...] for each input; [batch, steps, input...] where it is a sequence.
  /// `lengths`: integers [batch], the steps of each sequence; empty where all have the same length. UserError unless
  /// there is one value for each input, none wider than dtype(): a float64 in a float32 model would make all of it
  /// float64.
  ModelPass pass(std::vector<Expr> values, Phase phase, const Expr& lengths = {}) const;
  /// Of a sparse minibatch, which lives as long as the pass: the one input.
  ModelPass pass(const SparseExamples& examples, Phase phase) const;
  /// What the last layer makes of x [batch, input...], the one input. Where layers have state, a cost is built of
  /// pass(), in training, and its updates are applied with those of the optimizer.
  Expr output(const Expr& x, Phase phase = Phase::kEvaluation) const;
  /// z [batch, classes] of the softmax at the end; see Softmax. UserError where the last layer is another one.
  Expr logits(const Expr& x, Phase phase = Phase::kEvaluation) const;
  /// softmax(z). UserError as logits().
  Expr probabilities(const Expr& x, Phase phase = Phase::kEvaluation) const;

  /// Of all layers, in their order.
  std::vector<Param> params() const;
  std::vector<Param> trained_params() const;
  std::vector<Expr> exprs() const;
  int64_t parameter_count() const;
  /// What layers remember from one minibatch to the next, besides their parameters.
  std::vector<Param> state() const;
  /// What of it begins with zeros in every epoch: states of sequences that go on from one minibatch to the next.
  std::vector<Param> carried_state() const;

  /// Gives every parameter and all state the array of its name; parameters cast to dtype(), state to its own dtype
  /// (state of integers takes its own dtype only). UserError, and nothing is changed: arrays are missing, have another
  /// shape, are not real or not finite, or nothing has their name; all of these together. carried_state() begins with
  /// zeros where there is none, or that of minibatches of another size. Weights may come from a model that draws less,
  /// where generators stay as they are, or more, whose other generators are left out. `source` names the file, `where`
  /// the configuration's line that asked for it. With `unused`, arrays that nothing has the name of are no fault: their
  /// names go there.
  void load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where = {},
            std::vector<std::string>* unused = nullptr);

 private:
  friend class ModelPass;
  struct Several {};
  Model(Several, std::vector<ModelInput> inputs, DType dtype, int64_t seed, int64_t classes);

  static std::string called(const LayerOptions& options, std::string_view type);
  void add_layer(LayerOptions& options, std::string_view type, const LayerOptions::Maker& kind);
  std::vector<size_t> sources_of(const LayerOptions& options, std::string_view type) const;
  /// Indices count the inputs, then the layers.
  size_t index_of(const std::string& name) const;
  std::string name_at(size_t index) const;
  const Shape& shape_at(size_t index) const;
  bool is_sequence_at(size_t index) const;
  bool is_image_at(size_t index) const { return !is_sequence_at(index) && shape_at(index).size() == 3; }
  bool is_classifier_at(size_t index) const {
    return index >= inputs_.size() && kinds_[index - inputs_.size()].is_classifier;
  }
  const Layer& classifier_at(size_t index) const;
  const Layer& classifier() const;

  std::vector<ModelInput> inputs_;
  DType dtype_;
  RandomState random_;
  int64_t known_classes_;
  int64_t batch_ = 0;  // 0: not known
  std::vector<std::shared_ptr<const Layer>> layers_;
  std::vector<std::vector<size_t>> sources_;  // of each layer: the indices of what it takes
  std::vector<bool> gives_sequence_;          // of each layer
  std::vector<LayerOptions::Maker> kinds_;    // of each layer
};

}  // namespace thtrain
