#include "nn/activations.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/softmax.h"

namespace thtrain {

namespace {

// exp(x) - 1 below 0, where it cannot overflow; 0 above, with derivative 0.
Expr expm1_below_0(const Expr& x) {
  return expm1(minimum(x, 0));  // a tie's derivative goes to x
}

Expr elu(const Expr& x) {
  return where(gt(x, 0), x, expm1_below_0(x));
}

Expr selu(const Expr& x) {
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return kScale * where(gt(x, 0), x, kAlpha * expm1_below_0(x));
}

// erfc keeps the digits that 1 + erf loses below 0.
Expr gelu(const Expr& x) {
  return 0.5 * x * erfc(-1 / std::numbers::sqrt2 * x);
}

// (1 + tanh(u)) / 2 = sigmoid(2 u)
Expr gelu_tanh(const Expr& x) {
  const double twice = 2 * std::sqrt(2 / std::numbers::pi);
  return x * sigmoid(twice * (x + 0.044715 * x * x * x));
}

struct Row {
  const char* name;
  Expr (*apply)(const Expr&);
  bool gives_shares = false;  // all values are from 0 to 1
};

const Row kRows[] = {
    {"linear", [](const Expr& x) { return x; }},
    {"tanh", [](const Expr& x) { return tanh(x); }},
    {"sigmoid", [](const Expr& x) { return sigmoid(x); }, true},
    {"relu", [](const Expr& x) { return maximum(0, x); }},  // a tie's derivative goes to the 0
    {"softplus", [](const Expr& x) { return softplus(x); }},
    {"elu", elu},
    {"selu", selu},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"leaky_relu", [](const Expr& x) { return where(gt(x, 0), x, 0.01 * x); }},
    {"swish", [](const Expr& x) { return x * sigmoid(x); }},
    {"hard_sigmoid", [](const Expr& x) { return maximum(0, minimum(1, (x + 3) / 6)); }, true},  // ties as relu's
    {"softsign", [](const Expr& x) { return x / (1 + abs(x)); }},
    {"softmax", [](const Expr& x) { return softmax(x, -1); }, true},
};

}  // namespace

Expr apply_activation(const std::string& name, const Expr& x) {
  for (const Row& row : kRows)
    if (name == row.name) return row.apply(x);
  throw UserError(Message{.what = str("there is no activation \"", name, '"'),
                          .expected = join(activation_function_names(), ", ")});
}

bool gives_shares(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.name == name && row.gives_shares; });
}

const std::vector<std::string>& activation_function_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Row& row : kRows) out.push_back(row.name);
    return out;
  }();
  return names;
}

}  // namespace thtrain
