#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

using L = const Leaves&;

TEST(QuotientRules, Rewrite) {
  expect_rewrites({
      {"factor_out", [](L l) { return l.m - l.m * l.x; }, [](L l) { return l.m * (1 - l.x); }},
      {"factor_out", [](L l) { return l.y * sqr(l.x) - l.y * l.x; }, [](L l) { return -(l.y * l.x * (1 - l.x)); }},
      {"factor_out", [](L l) { return l.y * l.x - l.x; }, [](L l) { return -(l.x * (1 - l.y)); }},
      {"sigmoid_times_exp", [](L l) { return sigmoid(l.x) * exp(-l.x); }, [](L l) { return sigmoid(-l.x); }},
      {"sigmoid_times_exp", [](L l) { return exp(l.x) * sigmoid(-l.x); }, [](L l) { return sigmoid(l.x); }},
      {"sigmoid_times_exp", [](L l) { return -(l.y * sigmoid(l.x - l.z)) * exp(l.z - l.x); },
       [](L l) { return -(l.y * sigmoid(l.z - l.x)); }},
      {"sigmoid_times_exp", [](L l) { return l.y * (exp(-l.x) * sqr(sigmoid(l.x))); },
       [](L l) { return l.y * (sigmoid(l.x) * (1 - sigmoid(l.x))); }},
      {"distribute_quotients", [](L l) { return (l.z / l.x - l.y / (1 - l.x)) * l.x * (1 - l.x); },
       [](L l) { return l.z * (1 - l.x) - l.y * l.x; }},
      {"distribute_quotients", [](L l) { return (l.z / l.x + l.y) * l.x; }, [](L l) { return l.z + l.y * l.x; }},
  });
}

TEST(QuotientRules, Stay) {
  expect_unchanged({
      {"factor_out", [](L l) { return l.x - l.x * l.m; }},
      {"factor_out", [](L l) { return (l.x - l.x * l.y) * tanh(l.x * l.y); }},
      {"factor_out", [](L l) { return 2 - 2 * l.y; }},
      {"sigmoid_times_exp", [](L l) { return sigmoid(l.x) * exp(l.x); }},
      {"sigmoid_times_exp", [](L l) { return sigmoid(l.x) * exp(-l.y); }},
      {"sigmoid_times_exp", [](L l) { return sigmoid(l.x) / exp(-l.x); }},
      // x would be lost.
      {"distribute_quotients", [](L l) { return (l.z / l.x + l.y / l.x) * l.x; }, Level::kStandard},
      // Nothing cancels, or there would be more to do.
      {"distribute_quotients", [](L l) { return (l.z / l.x - l.y) * l.z; }},
      {"distribute_quotients", [](L l) { return (l.z / l.x - l.y / (1 - l.x)) * l.x; }},
      {"distribute_quotients", [](L l) { return (l.z / l.x - l.y) * l.x * tanh(l.z / l.x - l.y); }},
      {"distribute_quotients", [](L l) { return (l.z + l.y) * l.x; }},
  });
}

// What the rules are for: where sigmoid(x) rounds to 0 or 1.
TEST(QuotientRules, StayFiniteWhereProbabilitiesVanish) {
  const Leaves& l = leaves();
  Expr p = sigmoid(l.x);
  Expr plain = (l.y / p - l.z / (1 - p)) * (p * (1 - p));
  Expr form = stable(plain).value;
  auto vector = [](std::initializer_list<double> x) { return Tensor::vector(x); };
  Bindings inputs{{l.x, vector({-1000, -40, -1, 0, 1, 40, 1000})},
                  {l.y, vector({1, 0, 1, 0, 1, 0, 1})},
                  {l.z, vector({0, 1, 0, 1, 0, 1, 0})}};
  Tensor out = evaluate({form}, inputs)[0];
  EXPECT_TRUE(std::isnan(evaluate({plain}, inputs)[0].as_double(0)));
  for (int64_t i = 0; i < 7; ++i) {
    double q = 1 / (1 + std::exp(-inputs[0].second.as_double(i)));
    EXPECT_NEAR(out.as_double(i), i % 2 ? -q : 1 - q, 1e-15) << i;
  }
}

}  // namespace
}  // namespace thtrain
