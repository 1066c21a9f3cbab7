#include "nn/layers/activation.h"

#include "nn/activations.h"

namespace thtrain {

void Activation::Options::describe(Fields<Options>& f) {
  f.about("y = activation(x), element by element.");
  describe_layer(f);
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .required()
      .synonyms({"function"})
      .help("Function that is applied to each element.");
}

Expr Activation::forward(std::span<const Expr> inputs, LayerPass&) const {
  return apply_activation(activation_, inputs[0]);
}

LayerKind activation_layer() {
  return layer_kind<Activation>();
}

}  // namespace thtrain
