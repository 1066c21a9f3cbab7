#include "nn/activations.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

namespace {

struct Row {
  const char* name;
  Expr (*apply)(const Expr&);
};

const Row kRows[] = {
    {"linear", [](const Expr& x) { return x; }},
    {"tanh", [](const Expr& x) { return tanh(x); }},
    {"sigmoid", [](const Expr& x) { return sigmoid(x); }},
    {"relu", [](const Expr& x) { return maximum(0, x); }},  // a tie's derivative goes to the 0
    {"softplus", [](const Expr& x) { return softplus(x); }},
};

}  // namespace

Expr apply_activation(const std::string& name, const Expr& x) {
  for (const Row& row : kRows)
    if (name == row.name) return row.apply(x);
  throw UserError(Message{.what = str("there is no activation \"", name, '"'),
                          .expected = join(activation_function_names(), ", ")});
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
