#include "nn/layers/add.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Add::Options::describe(Fields<Options>& f) {
  f.about("The sum of its `inputs`, which have one shape.");
  describe_layer(f);
}

Add::Add(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, several_inputs(Options::kName, options, input)[0]) {
  auto is_other = [&](const Shape& shape) { return shape != input.shapes[0]; };
  if (std::any_of(input.shapes.begin(), input.shapes.end(), is_other))
    fail_layer(Options::kName, options, input, "inputs of one shape",
               "a dense layer gives its input as many units as the other one has");
}

Expr Add::forward(std::span<const Expr> inputs, LayerPass&) const {
  Expr sum = inputs[0];
  for (const Expr& input : inputs.subspan(1)) sum = sum + input;
  return sum;
}

LayerKind add_layer() {
  return layer_kind<Add>();
}

}  // namespace thtrain
