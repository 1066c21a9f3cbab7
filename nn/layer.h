// What every layer is: parameters with names, and an expression of a minibatch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/init.h"
#include "nn/param.h"

namespace thtrain {

/// What every layer's options begin with.
struct LayerOptions {
  std::string name;
  ConfigPosition position = {};  // of the layer in a configuration, for messages
};

/// What a layer is made with: the lengths of one example that it gets, the dtype of its parameters, and the generator
/// that its initial weights come from.
struct LayerInput {
  const Shape& shape;
  DType dtype;
  RandomState& random;
};

class Layer {
 public:
  Layer(std::string type, const LayerOptions& options, Shape output)
      : type_(std::move(type)), options_(options), output_(std::move(output)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return options_.name; }
  const std::string& type() const { return type_; }  // "dense"
  const ConfigPosition& position() const { return options_.position; }
  /// The lengths of what one example becomes.
  const Shape& output_shape() const { return output_; }
  const std::vector<Param>& params() const { return params_; }

  /// Of a minibatch: x [batch, lengths of one example...] -> [batch, output_shape()...]. The nodes carry the layer's
  /// name and its place in the configuration.
  Expr operator()(const Expr& x) const {
    Scope scope(name(), position());
    return forward(x);
  }

 protected:
  virtual Expr forward(const Expr& x) const = 0;

  /// A new parameter `<layer>/<name>` that starts as `value`, cast to `dtype`.
  Shared add_param(const std::string& name, const Tensor& value, DType dtype, bool penalized) {
    Shared variable(value.cast(dtype), str(this->name(), "/", name), true);
    params_.push_back({variable.name(), variable, penalized, position()});
    return variable;
  }

 private:
  std::string type_;
  LayerOptions options_;
  Shape output_;
  std::vector<Param> params_;
};

/// UserError at the layer's place: what one example is does not suit the layer.
[[noreturn]] void fail_layer(const std::string& type, const LayerOptions& layer, std::string expected, const Shape& got,
                             std::string hint);

}  // namespace thtrain
