#include "compiler/ops/nnet/activations.h"

#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {
namespace {

// Builds under the user's line.
template <class F>
Expr built(const Operand& operand, const F& build) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  return build(operand.expr());
}

// e^x - 1 below 0, where it cannot overflow; 0 above, with derivative 0.
Expr expm1_below_0(const Expr& x) {
  return expm1(minimum(x, 0));  // a tie's derivative goes to x
}

}  // namespace

Expr relu(const Operand& x) {
  return built(x, [](const Expr& v) { return maximum(0, v); });  // a tie's derivative goes to the 0
}

Expr relu(const Operand& x, const Operand& slope) {
  return built(x, [&](const Expr& v) { return where(gt(v, 0), v, slope * v); });
}

Expr elu(const Operand& x) {
  return built(x, [](const Expr& v) { return where(gt(v, 0), v, expm1_below_0(v)); });
}

Expr elu(const Operand& x, const Operand& alpha) {
  return built(x, [&](const Expr& v) { return where(gt(v, 0), v, alpha * expm1_below_0(v)); });
}

Expr selu(const Operand& x) {
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return built(x, [&](const Expr& v) { return kScale * where(gt(v, 0), v, kAlpha * expm1_below_0(v)); });
}

// erfc keeps the digits that 1 + erf loses below 0.
Expr gelu(const Operand& x) {
  return built(x, [](const Expr& v) { return 0.5 * v * erfc(-1 / std::numbers::sqrt2 * v); });
}

// (1 + tanh(u)) / 2 = sigmoid(2 u)
Expr gelu_tanh(const Operand& x) {
  const double twice = 2 * std::sqrt(2 / std::numbers::pi);
  return built(x, [&](const Expr& v) { return v * sigmoid(twice * (v + 0.044715 * v * v * v)); });
}

Expr swish(const Operand& x) {
  return built(x, [](const Expr& v) { return v * sigmoid(v); });
}

Expr softsign(const Operand& x) {
  return built(x, [](const Expr& v) { return v / (1 + abs(v)); });
}

// Ties as relu's.
Expr hard_sigmoid(const Operand& x, HardSigmoid line) {
  return built(x, [&](const Expr& v) {
    return maximum(0, minimum(1, line == HardSigmoid::kSixth ? (v + 3) / 6 : 0.2 * v + 0.5));
  });
}

Expr ultra_fast_sigmoid(const Operand& x) {
  return built(x, [](const Expr& v) {
    const Expr u = 0.5 * abs(v);
    const Expr line = 0.935409070603099 + 0.0458812946797165 * (u - 1.7);
    const Expr z = where(lt(u, 1.7), 1.5 * u / (1 + u), where(lt(u, 3), line, 0.99505475368673));
    return 0.5 * (where(lt(v, 0), -z, z) + 1);
  });
}

}  // namespace thtrain
