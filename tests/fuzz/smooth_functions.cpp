#include "tests/fuzz/smooth_functions.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

const std::vector<NamedFunction>& smooth_functions() {
  static const std::vector<NamedFunction> functions{
      {"tanh($0)", [](const Expr& x) { return tanh(x); }},
      {"sigmoid($0)", [](const Expr& x) { return sigmoid(x); }},
      {"softplus($0)", [](const Expr& x) { return softplus(x); }},
      {"exp(-$0)", [](const Expr& x) { return exp(-x); }},
      {"sqr($0)", [](const Expr& x) { return sqr(x); }},
      {"log(1 + exp($0))", [](const Expr& x) { return log(1 + exp(x)); }},
      {"log(sqr($0) + 0.5)", [](const Expr& x) { return log(sqr(x) + 0.5); }},
      {"sqrt(abs($0))", [](const Expr& x) { return sqrt(abs(x)); }},
      {"1 / (1 + exp(-$0))", [](const Expr& x) { return 1 / (1 + exp(-x)); }},
      {"log(sigmoid($0))", [](const Expr& x) { return log(sigmoid(x)); }},
      {"log(1 - sigmoid($0))", [](const Expr& x) { return log(1 - sigmoid(x)); }},
      {"maximum($0, 0)", [](const Expr& x) { return maximum(x, 0); }},
      {"maximum(0, $0)", [](const Expr& x) { return maximum(0, x); }},
      {"minimum($0, 0.5)", [](const Expr& x) { return minimum(x, 0.5); }},
      {"exp($0) - 1", [](const Expr& x) { return exp(x) - 1; }},
      {"pow($0, 3)", [](const Expr& x) { return pow(x, 3); }},
      {"pow(abs($0), 0.5)", [](const Expr& x) { return pow(abs(x), 0.5); }},
      {"sin($0)", [](const Expr& x) { return sin(x); }},
      {"erf($0)", [](const Expr& x) { return erf(x); }},
      {"log(1 + erf($0))", [](const Expr& x) { return log(1 + erf(x)); }},
      {"$0 * 0", [](const Expr& x) { return x * 0; }},
      {"clip($0, -0.5, 0.75)", [](const Expr& x) { return clip(x, -0.5, 0.75); }},
  };
  return functions;
}

}  // namespace thtrain
