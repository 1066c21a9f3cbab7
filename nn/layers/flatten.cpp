#include "nn/layers/flatten.h"

#include "compiler/ops/shape/shape.h"

namespace thtrain {

void Flatten::Options::describe(Fields<Options>& f) {
  f.about("Turns each example into one row of numbers; of sequences, each step.");
  describe_layer(f);
}

Expr Flatten::forward(std::span<const Expr> inputs, LayerPass&) const {
  return flatten(inputs[0], 2);
}

LayerKind flatten_layer() {
  return layer_kind<Flatten>();
}

}  // namespace thtrain
