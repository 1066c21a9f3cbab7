#include "nn/activations.h"

#include <algorithm>
#include <iterator>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/activations.h"
#include "compiler/ops/nnet/softmax.h"

namespace thtrain {

namespace {

struct Row {
  const char* name;
  Expr (*apply)(const Expr&);
  bool gives_shares = false;  // all values are from 0 to 1
};

const Row kRows[] = {
    {"linear", [](const Expr& x) { return x; }},
    {"tanh", [](const Expr& x) { return tanh(x); }},
    {"sigmoid", [](const Expr& x) { return sigmoid(x); }, true},
    {"relu", [](const Expr& x) { return relu(x); }},
    {"softplus", [](const Expr& x) { return softplus(x); }},
    {"elu", [](const Expr& x) { return elu(x); }},
    {"selu", [](const Expr& x) { return selu(x); }},
    {"gelu", [](const Expr& x) { return gelu(x); }},
    {"gelu_tanh", [](const Expr& x) { return gelu_tanh(x); }},
    {"leaky_relu", [](const Expr& x) { return relu(x, 0.01); }},
    {"swish", [](const Expr& x) { return swish(x); }},
    {"hard_sigmoid", [](const Expr& x) { return hard_sigmoid(x); }, true},
    {"softsign", [](const Expr& x) { return softsign(x); }},
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
