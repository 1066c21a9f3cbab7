#include "nn/layers/lstm.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"

namespace thtrain {

void Lstm::Options::describe(Fields<Options>& f) {
  f.about("Long short-term memory: a recurrent layer with cells behind gates for input, forgetting and output.");
  describe_recurrent(f);
  describe_forget_bias(f);
}

Lstm::Lstm(const Options& options, const LayerInput& input) : Recurrent(Options::kName, options, input, 4, {"h", "c"}) {
  if (!options.bias) return;
  Tensor bias = Tensor::zeros(DType::kFloat64, {4 * options.units});
  std::fill_n(bias.data<double>() + options.units, options.units, options.forget_bias);
  params().back().variable.set_value(bias.cast(input.dtype));
}

std::vector<Expr> Lstm::step(const Expr& z, const std::vector<Expr>& before) const {
  const Expr gates = z + dot(before[0], u());
  const Expr c = sigmoid(gate(gates, 1)) * before[1] + sigmoid(gate(gates, 0)) * tanh(gate(gates, 2));
  return {sigmoid(gate(gates, 3)) * tanh(c), c};
}

LayerKind lstm_layer() {
  return layer_kind<Lstm>();
}

}  // namespace thtrain
