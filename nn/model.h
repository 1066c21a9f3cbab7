// A graph of layers, each of which takes the one before it or those that it names.
//
//   Model model({784}, DType::kFloat32, 1234);
//   model.add(Dense::Options{{.name = "hidden"}, 500, "tanh"});
//   model.add(Softmax::Options{{.name = "softmax"}, 10});
//   Expr loss = negative_log_likelihood(model.logits(x), y);
//   auto gradients = grad(loss, model.exprs());
//
//   model.add(Dense::Options{{.name = "right", .inputs = {"hidden"}}, 500, "tanh"});  // beside another one
//   model.add(Add::Options{{.name = "sum", .inputs = {"right", "hidden"}}});          // of nn/layers/add.h
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>

#include "nn/layers/activation.h"
#include "nn/layers/dense.h"
#include "nn/layers/flatten.h"
#include "nn/layers/softmax.h"
#include "nn/options.h"
#include "nn/predictions.h"

namespace thtrain {

/// What a model takes: minibatches [batch, lengths of one example...], which layers call by this name.
struct ModelInput {
  std::string name;
  Shape shape;  // of sequences, of one step
  bool is_sequence = false;
  std::optional<std::array<int64_t, 3>> image = {};  // channels, height, width, where an example is an image
};

class ModelPass;

class Model {
 public:
  /// For examples of the shape `input`, which layers call "x". The layers draw their weights in turn from one generator
  /// of that seed. `classes` are those of the data, where they are known. UserError: a length or `classes` is negative,
  /// the dtype is not floating, or it is no seed.
  Model(Shape input, DType dtype, int64_t seed, int64_t classes = 0)
      : Model({}, std::vector<ModelInput>{{"x", std::move(input)}}, dtype, seed, classes) {}
  /// With several inputs; a layer that names none takes the first one where no layer stands before it.
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
    add_layer(options, O::kName, O::Makes::kTakesRows, [&](const LayerInput& input) -> std::shared_ptr<const Layer> {
      return std::make_shared<const typename O::Makes>(options, input);
    });
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
  /// The layers that no other layer takes: the last one, and others beside it.
  std::vector<std::string> outputs() const;
  /// The generator after the last layer's draw: shuffling goes on from there.
  const RandomState& random() const { return random_; }

  /// Of a minibatch, a value [batch, input...] for each input; [batch, steps, input...] where it is a sequence.
  /// `lengths`: integers [batch], the steps of each sequence; empty where all have the same length. UserError unless
  /// there is one value for each input, none wider than dtype(): a float64 in a float32 model would make all of it
  /// float64.
  ModelPass pass(std::vector<Expr> values, Phase phase, const Expr& lengths = {}) const;
  /// What the last layer makes of x [batch, input...], the one input. Where layers have state, a cost is built of
  /// pass(), in training, and its updates stand beside those of the optimizer.
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
  /// What layers remember from one minibatch to the next, beside their parameters.
  std::vector<Param> state() const;
  /// What of it begins with zeros in every epoch: states of sequences that go on from one minibatch to the next.
  std::vector<Param> carried_state() const;

  /// Gives every parameter and all state the array of its name; parameters cast to dtype(), state to its own dtype
  /// (state of integers takes its own dtype only). UserError, and nothing is changed: arrays are missing, have another
  /// shape, are not real or not finite, or nothing has their name; all of these together. carried_state() begins with
  /// zeros where there is none, or that of minibatches of another size. Weights may come from a model that draws less,
  /// where generators stay as they are, or more, whose other generators are left out. `source` names the file, `where`
  /// the configuration's line that asked for it.
  void load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where = {});

 private:
  friend class ModelPass;
  struct Several {};
  Model(Several, std::vector<ModelInput> inputs, DType dtype, int64_t seed, int64_t classes);

  using Make = std::function<std::shared_ptr<const Layer>(const LayerInput&)>;
  static std::string called(const LayerOptions& options, std::string_view type);
  void add_layer(LayerOptions& options, std::string_view type, bool takes_rows, const Make& make);
  std::vector<size_t> sources_of(const LayerOptions& options, std::string_view type) const;
  /// Places count the inputs, then the layers.
  size_t place_of(const std::string& name) const;
  std::string name_at(size_t place) const;
  const Shape& shape_at(size_t place) const;
  bool is_sequence_at(size_t place) const;
  bool is_image_at(size_t place) const { return !is_sequence_at(place) && shape_at(place).size() == 3; }
  const Softmax* classifier() const;

  std::vector<ModelInput> inputs_;
  DType dtype_;
  RandomState random_;
  int64_t known_classes_;
  int64_t batch_ = 0;  // 0: not known
  std::vector<std::shared_ptr<const Layer>> layers_;
  std::vector<std::vector<size_t>> sources_;  // of each layer: the places of what it takes
  std::vector<bool> gives_sequence_;          // of each layer
  std::vector<bool> takes_rows_;              // of each layer: images come to it as rows
};

/// The expressions of one minibatch in one phase. A layer is computed when it is first asked for, and once. Sequences
/// are given as rows [steps * batch, ...]: row t * batch + i is step t of example i.
class ModelPass {
 public:
  /// `values` and `lengths`, and errors, as Model::pass.
  ModelPass(const Model& model, std::vector<Expr> values, Phase phase, const Expr& lengths = {});

  /// Of the last layer. UserError where there is none.
  Expr output();
  /// Of the layer or the input of that name. UserError where there is none.
  Expr output(const std::string& name);
  /// The same as objectives read it: with the logits of a softmax layer, and of a layer whose last operation is a
  /// sigmoid.
  ModelOutput model_output();
  /// The same of the layer of that name.
  ModelOutput model_output(const std::string& name);
  /// z of a softmax, the last layer or that of the name. UserError where it is another layer.
  Expr logits();
  Expr logits(const std::string& name);
  /// Of the state of the layers that were computed; none in evaluation.
  const std::vector<Update>& updates() const { return updates_; }

 private:
  // A value is computed in one of two forms; a sequence has the other one when it is asked for.
  struct Value {
    Expr rows = {};       // [batch, ...], of a sequence [steps * batch, ...]
    Expr sequences = {};  // [steps, batch, ...]
    bool is_empty() const { return !rows.has_value() && !sequences.has_value(); }
  };

  const Expr& rows_at(size_t place);
  const Expr& sequences_at(size_t place);
  Expr taken_from(size_t layer, size_t place);
  void compute(size_t place);
  void compute_layer(size_t layer);
  Expr logits_at(size_t place);
  ModelOutput model_output_at(size_t place);
  const Softmax* softmax_at(size_t place) const;

  const Model& model_;
  Phase phase_;
  std::vector<Value> values_;  // by place; empty where it was not asked for yet
  Dim steps_ = 1, batch_ = 1;  // of the sequences
  Expr mask_;                  // floats [steps, batch]; empty where all sequences have the same length
  std::vector<Update> updates_;
};

}  // namespace thtrain
