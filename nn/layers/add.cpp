#include "nn/layers/add.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/activations.h"

namespace thtrain {

void Add::Options::describe(Fields<Options>& f) {
  f.about(
      "The sum of its `inputs`, which have one shape: with an input that skips layers, a residual connection, y = "
      "activation(x + F(x)).");
  describe_layer(f);
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .help("Function that is applied to the sum.");
}

Add::Add(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, several_inputs(Options::kName, options, input)[0]),
      activation_(options.activation) {
  auto is_other = [&](const Shape& shape) { return shape != input.shapes[0]; };
  if (std::any_of(input.shapes.begin(), input.shapes.end(), is_other))
    fail_layer(Options::kName, options, input, "inputs of one shape",
               input.shapes[0].size() == 3
                   ? "a conv layer of size 1 gives images the channels of the other one, and with its stride its sides"
                   : "a dense layer gives its input as many units as the other one has");
}

Expr Add::forward(std::span<const Expr> inputs, LayerPass&) const {
  Expr sum = inputs[0];
  for (const Expr& input : inputs.subspan(1)) sum = sum + input;
  return apply_activation(activation_, sum);
}

LayerKind add_layer() {
  return layer_kind<Add>();
}

}  // namespace thtrain
