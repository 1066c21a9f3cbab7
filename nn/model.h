// A classifier: a chain of layers that ends with a softmax.
//
//   Model model({784}, DType::kFloat32, 1234);
//   model.add(Dense::Options{{.name = "hidden"}, 500, "tanh"});
//   model.add(Softmax::Options{{.name = "softmax"}, 10});
//   Expr loss = negative_log_likelihood(model.logits(x), y);
//   auto gradients = grad(loss, model.exprs());
#pragma once

#include <map>
#include <memory>

#include "nn/layers/activation.h"
#include "nn/layers/dense.h"
#include "nn/layers/flatten.h"
#include "nn/layers/softmax.h"

namespace thtrain {

class Model {
 public:
  /// For examples of the shape `input`. The layers draw their weights in turn from one generator of that seed.
  Model(Shape input, DType dtype, int64_t seed) : input_(std::move(input)), dtype_(dtype), random_(seed) {}

  /// The next layer. With `seed` it draws from a generator of its own. UserError where it cannot take what comes before
  /// it.
  void add(const Dense::Options& options, std::optional<int64_t> seed = {}) { add_layer<Dense>(options, seed); }
  void add(const Activation::Options& options) { add_layer<Activation>(options, {}); }
  void add(const Flatten::Options& options) { add_layer<Flatten>(options, {}); }
  /// The last layer.
  void add(const Softmax::Options& options, std::optional<int64_t> seed = {});

  const Shape& input_shape() const { return input_; }
  DType dtype() const { return dtype_; }
  int64_t classes() const { return classifier().classes(); }
  /// From input to output, the classifier last.
  const std::vector<std::shared_ptr<const Layer>>& layers() const { return layers_; }
  /// The generator after the last layer's draw: shuffling goes on from there.
  const RandomState& random() const { return random_; }

  /// z [batch, classes] of x [batch, input...]; see Softmax.
  Expr logits(const Expr& x) const;
  /// softmax(z).
  Expr probabilities(const Expr& x) const;

  /// Of all layers, in their order.
  std::vector<Param> params() const;
  std::vector<Expr> exprs() const;
  int64_t parameter_count() const;

  /// Gives every parameter the array of its name, cast to dtype(). UserError, and nothing is changed: arrays are
  /// missing, have another shape, are not real or not finite, or no parameter has their name; all of these together.
  /// `source` names the file, `where` the configuration's line that asked for it.
  void load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where = {});

 private:
  template <class L>
  std::shared_ptr<const L> add_layer(const typename L::Options& options, std::optional<int64_t> seed);
  const Softmax& classifier() const;
  const Shape& next_input() const { return layers_.empty() ? input_ : layers_.back()->output_shape(); }
  Expr before_classifier(const Expr& x) const;

  Shape input_;
  DType dtype_;
  RandomState random_;
  std::vector<std::shared_ptr<const Layer>> layers_;
  std::shared_ptr<const Softmax> classifier_;
};

}  // namespace thtrain
