#include "nn/layers/gru.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"

namespace thtrain {

void Gru::Options::describe(Fields<Options>& f) {
  f.about("Gated recurrent units: a recurrent layer with gates for update and reset.");
  describe_recurrent(f);
  describe_reset_after(f);
}

Gru::Gru(const Options& options, const LayerInput& input)
    : Recurrent(Options::kName, options, input, 3, {"h"}), reset_after_(options.reset_after) {
  if (options.bias && reset_after_)
    b_n_ = add_param("b_n", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
}

std::vector<Expr> Gru::step(const Expr& z, const std::vector<Expr>& before) const {
  const Expr& h = before[0];
  const int64_t n = units();
  const Expr products = dot(h, reset_after_ ? u() : slice_axis(u(), 1, 0, 2 * n));
  const Expr reset = sigmoid(gate(z, 0) + gate(products, 0)), keep = sigmoid(gate(z, 1) + gate(products, 1));
  Expr from_state;
  if (reset_after_) {
    const Expr product = gate(products, 2);
    from_state = reset * (b_n_.has_value() ? product + b_n_ : product);
  } else {
    from_state = dot(reset * h, slice_axis(u(), 1, 2 * n, n));
  }
  const Expr fresh = tanh(gate(z, 2) + from_state);
  return {(1 - keep) * fresh + keep * h};
}

LayerKind gru_layer() {
  return layer_kind<Gru>();
}

}  // namespace thtrain
