// exp, log, sigmoid, softplus, erf, softmax: the forms that people write, and no more kernels than they need.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

// Differences that are exactly 0 show that two spellings are one.
TEST(SimplifyExponentials, Spellings) {
  expect_simplified({
      {"log(exp(x))", [](L l) { return log(exp(l.x)); }, 0},
      {"exp(log(x))", [](L l) { return exp(log(l.x)); }, 1},
      {"log1p(expm1(x))", [](L l) { return log1p(expm1(l.x)); }, 0},
      {"expm1(log1p(x))", [](L l) { return expm1(log1p(l.x)); }, 1},
      {"tanh(arctanh(x))", [](L l) { return tanh(arctanh(l.x)); }, 0, kFast},
      {"sinh(arcsinh(x))", [](L l) { return sinh(arcsinh(l.x)); }, 0},
      {"log(1+x)", [](L l) { return log(1 + l.x) - log1p(l.x); }, 0, kFast},
      {"log(x+1)", [](L l) { return log(l.x + 1) - log1p(l.x); }, 0, kFast},
      {"exp(x)-1", [](L l) { return exp(l.x) - 1 - expm1(l.x); }, 0, kFast},
      {"1-exp(x)", [](L l) { return 1 - exp(l.x) + expm1(l.x); }, 0, kFast},
      {"log(1+exp(x))", [](L l) { return log(1 + exp(l.x)) - softplus(l.x); }, 0, kFast},
      {"log1p(exp(x))", [](L l) { return log1p(exp(l.x)) - softplus(l.x); }, 0, kFast},
      {"log(exp(x)+exp(y))", [](L l) { return log(exp(l.x) + exp(l.y)); }, 1},
      {"exp(x)*exp(y)", [](L l) { return exp(l.x) * exp(l.y) - exp(l.x + l.y); }, 0, kFast},
      {"exp(x)/exp(y)", [](L l) { return exp(l.x) / exp(l.y) - exp(l.x - l.y); }, 0, kFast},
      {"y/exp(x)", [](L l) { return l.y / exp(l.x); }, 1},
      {"log(sqrt(x))", [](L l) { return log(sqrt(l.x)) - 0.5 * log(l.x); }, 0, kFast},
      {"log(softmax)", [](L l) { return log(softmax(l.a)); }, 1},
  });
}

TEST(SimplifyExponentials, Sigmoids) {
  expect_simplified({
      {"1/(1+exp(-x))", [](L l) { return 1 / (1 + exp(-l.x)) - sigmoid(l.x); }, 0, kFast},
      {"1/(exp(-x)+1)", [](L l) { return 1 / (exp(-l.x) + 1) - sigmoid(l.x); }, 0, kFast},
      {"-1/(1+exp(-x))", [](L l) { return -1 / (1 + exp(-l.x)) + sigmoid(l.x); }, 0, kFast},
      {"-1/(-1-exp(-x))", [](L l) { return -1 / (-1 - exp(-l.x)) - sigmoid(l.x); }, 0, kFast},
      {"exp(x)/(1+exp(x))", [](L l) { return exp(l.x) / (1 + exp(l.x)) - sigmoid(l.x); }, 0, kFast},
      {"exp(x)/(exp(x)+1)", [](L l) { return exp(l.x) / (exp(l.x) + 1) - sigmoid(l.x); }, 0, kFast},
      {"(y exp x)/(1+exp x)", [](L l) { return l.y * exp(l.x) / (1 + exp(l.x)) - l.y * sigmoid(l.x); }, 1, kFast},
      {"y/(1+exp(x))", [](L l) { return l.y / (1 + exp(l.x)) - l.y * sigmoid(-l.x); }, 0, kFast},
      {"reciprocal", [](L l) { return reciprocal(1 + exp(-l.x)) - sigmoid(l.x); }, 0, kFast},
      {"1-sigmoid", [](L l) { return 1 - sigmoid(l.x) - sigmoid(-l.x); }, 0, kFast},
      {"1-1/(1+exp(x))", [](L l) { return 1 - 1 / (1 + exp(l.x)); }, 1},
      {"sigmoid(x) exp(-x)", [](L l) { return sigmoid(l.x) * exp(-l.x); }, 1},
      {"sigmoid(-x) exp(x)", [](L l) { return sigmoid(-l.x) * exp(l.x) - sigmoid(l.x); }, 0, kFast},
      {"log(sigmoid)", [](L l) { return log(sigmoid(l.x)) + softplus(-l.x); }, 0, kFast},
      {"log(1-sigmoid)", [](L l) { return log(1 - sigmoid(l.x)) + softplus(l.x); }, 0, kFast},
      {"log1p(-sigmoid)", [](L l) { return log1p(-sigmoid(l.x)) + softplus(l.x); }, 0, kFast},
      {"c is not 1", [](L l) { return 1 / (2 + exp(-l.x)); }, 1},
      {"1-exp", [](L l) { return 1 / (1 - exp(-l.x)); }, 1},
      {"exp(x+1)", [](L l) { return exp(l.x) / (1 + exp(l.x + 1)); }, 1},
      {"exp(x)/(exp(x)+exp(y))", [](L l) { return exp(l.x) / (exp(l.x) + exp(l.y)); }, 1},
  });
}

TEST(SimplifyExponentials, ErrorFunctions) {
  expect_simplified({
      {"1-erf", [](L l) { return 1 - erf(l.x) - erfc(l.x); }, 0, kFast},
      {"1+erf", [](L l) { return 1 + erf(l.x) - erfc(-l.x); }, 0, kFast},
      {"1-erfc", [](L l) { return 1 - erfc(l.x) - erf(l.x); }, 0, kFast},
      {"erfc-1", [](L l) { return erfc(l.x) - 1 + erf(l.x); }, 0, kFast},
      {"-1+erfc", [](L l) { return -1 + erfc(l.x) + erf(l.x); }, 0, kFast},
      {"1+(-erf)", [](L l) { return 1 + (-erf(l.x)) - erfc(l.x); }, 0, kFast},
      {"erf(-x)", [](L l) { return erf(-l.x) + erf(l.x); }, 0, kFast},
      {"log(erfc)", [](L l) { return log(erfc(l.x)); }, 1},
      {"log(1-erf)", [](L l) { return log(1 - erf(l.x)); }, 1},
      {"gradient of log(erfc)", [](L l) { return grad(sum(log(erfc(l.x))), l.x); }, 1},
      {"gradient of log(1-erf)", [](L l) { return grad(sum(log(1 - erf(l.x))), l.x); }, 1},
  });
}

TEST(SimplifyExponentials, StableForms) {
  expect_simplified({
      {"log(1-exp(-x))", [](L l) { return log(1 - exp(-sqr(l.x))); }, 1},
      {"log1p(-exp(-x))", [](L l) { return log1p(-exp(-sqr(l.x))); }, 1},
      {"its gradient", [](L l) { return grad(sum(log(1 - exp(-sqr(l.x)))), l.x); }, 1},
      {"log(exp(a)-exp(b))", [](L l) { return log(exp(l.x + 5) - exp(l.y)); }, 1},
      {"its gradient", [](L l) { return grad(sum(log(exp(l.x + 5) - exp(l.y))), l.x); }, 1},
      {"log(prod(exp(x)))", [](L l) { return log(prod(exp(l.a), 1)) - sum(l.a, 1); }, 0, kFast},
      {"log(mean(exp(x)))", [](L l) { return log(mean(exp(l.a), 1)); }, 6},
      {"log(x^2)", [](L l) { return log(sqr(l.x)); }, 1},
      {"its gradient", [](L l) { return grad(sum(log(sqr(l.x))), l.x) - 2 / l.x; }, 0, kFast},
      {"log(cosh(x))", [](L l) { return log(cosh(l.x)); }, 1},
      {"its gradient", [](L l) { return grad(sum(log(cosh(l.x))), l.x) - tanh(l.x); }, 0, kFast},
      {"log(1-tanh^2)", [](L l) { return log(1 - sqr(tanh(l.x))); }, 1},
      {"its gradient", [](L l) { return grad(sum(log(1 - sqr(tanh(l.x)))), l.x) + 2 * tanh(l.x); }, 0, kFast},
      {"logit", [](L l) { return log(sigmoid(l.x) / (1 - sigmoid(l.x))) - l.x; }, 0, kFast},
      {"logit by log1p", [](L l) { return log(sigmoid(l.x)) - log1p(-sigmoid(l.x)) - l.x; }, 0, kFast},
      {"softplus(x)-x", [](L l) { return softplus(l.x) - l.x - softplus(-l.x); }, 0, kFast},
      {"s(1-s)", [](L l) { return grad(sum(sigmoid(l.x)), l.x); }, 1},
      {"1-tanh^2", [](L l) { return grad(sum(tanh(l.x)), l.x); }, 1},
      {"tanh by hand", [](L l) { return (exp(l.x) - exp(-l.x)) / (exp(l.x) + exp(-l.x)) - tanh(l.x); }, 0, kFast},
      {"tanh by exp(2x)", [](L l) { return (exp(2 * l.x) - 1) / (exp(2 * l.x) + 1) - tanh(l.x); }, 0, kFast},
      {"softmax by hand",
       [](L l) {
         Expr e = exp(l.a - max(l.a, 1, true));
         return e / sum(e, 1, true) - softmax(l.a);
       },
       0, kFast},
  });
}

TEST(SimplifyExponentials, Softmax) {
  auto total = [](const Expr& x) { return sum(exp(x), 1, true); };
  expect_simplified({
      {"quotient", [=](L l) { return exp(l.a) / total(l.a); }, 1},
      {"of a vector", [](L l) { return exp(l.x) / sum(exp(l.x)); }, 1},
      {"log of quotient", [=](L l) { return log(exp(l.a) / total(l.a)); }, 1},
      {"difference", [=](L l) { return l.a - log(total(l.a)); }, 1},
      {"exp(log softmax)", [](L l) { return exp(log_softmax(l.a)); }, 1},
      {"log-sum-exp", [](L l) { return log(sum(exp(l.a), 1)); }, 6},
      {"its gradient", [](L l) { return grad(sum(log(sum(exp(l.a), 1))), l.a); }, 1},
      {"with a bias", [](L l) { return softmax(l.a + l.x); }, 2},
      {"cross-entropy", [](L l) { return -log(pick_rows(softmax(l.c), l.labels)); }, 3},
      {"cross-entropy, mean", [](L l) { return -mean(log(pick_rows(softmax(l.c), l.labels))); }, 4},
      {"its gradient", [](L l) { return grad(-mean(log(pick_rows(softmax(l.c), l.labels))), l.c); }, 3},
      {"gradient, logarithm first", [](L l) { return grad(-mean(pick_rows(log(softmax(l.c)), l.labels)), l.c); }, 3},
      {"gradient with a bias",
       [](L l) {
         Expr bias = take(l.w, 0);
         return grad(-mean(log(pick_rows(softmax(l.c + bias), l.labels))), l.c);
       },
       4},
      {"library loss", [](L l) { return grad(mean(categorical_crossentropy(softmax(l.c), l.labels)), l.c); }, 3},
      {"entropy", [](L l) { return grad(-sum(softmax(l.c) * log(softmax(l.c))), l.c); }, 9},
      {"argmax(softmax)", [](L l) { return argmax(softmax(l.a), 1); }, 1},
      {"argmax(log softmax)", [](L l) { return argmax(log(softmax(l.a)), 1); }, 1},
      {"argmax(sigmoid)", [](L l) { return argmax(sigmoid(l.x)); }, 1},
      {"argmax(2 tanh(x) + 1)", [](L l) { return argmax(2 * tanh(l.x) + 1); }, 1},
      {"binary loss of a sigmoid",
       [](L l) { return grad(sum(-l.y * log(sigmoid(l.x)) - (1 - l.y) * log(1 - sigmoid(l.x))), l.x); }, 1},
      {"binary loss, spelled out",
       [](L l) {
         Expr p = 1 / (1 + exp(-l.x));
         return grad(sum(-l.y * log(p) - (1 - l.y) * log(1 - p)), l.x);
       },
       1},
      {"binary loss of the library", [](L l) { return grad(sum(binary_crossentropy(sigmoid(l.x), l.y)), l.x); }, 1},
  });
}

}  // namespace
}  // namespace thtrain
