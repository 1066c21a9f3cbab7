#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> quotient_rewrites() {
  return {
      {"quotient_of_functions", [](L l) { return l.y / cosh(l.x) * sinh(l.x); }, [](L l) { return l.y * tanh(l.x); }},
      {"quotient_of_functions", [](L l) { return log(sigmoid(l.x) / (1 - sigmoid(l.x))); }, [](L l) { return l.x; }},
      {"quotient_of_functions", [](L l) { return log((1 - sigmoid(l.x)) / sigmoid(l.x)); }, [](L l) { return -l.x; }},
      {"quotient_of_functions", [](L l) { return sigmoid(l.x) / sigmoid(-l.x); }, [](L l) { return exp(l.x); }},
      {"quotient_by_expm1", [](L l) { return l.y * exp(l.x) / expm1(l.x); }},
      {"quotient_by_expm1", [](L l) { return l.y * (expm1(l.x) + 1) / expm1(l.x); },
       [](L l) { return l.y * (-1 / expm1(-l.x)); }},
      {"quotient_of_functions", [](L l) { return l.y * sign(l.x) / abs(l.x); }, [](L l) { return l.y * (1 / l.x); }},
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
  };
}

TEST(QuotientRules, Rewrite) {
  expect_rewrites(quotient_rewrites());
}

std::vector<UnchangedRow> quotient_unchanged() {
  return {
      {"quotient_of_functions", [](L l) { return sinh(l.x) / cosh(l.y); }},
      {"quotient_of_functions", [](L l) { return cosh(l.x) / sinh(l.x); }},
      {"quotient_by_expm1", [](L l) { return exp(l.y) / expm1(l.x); }},
      {"quotient_by_expm1", [](L l) { return (expm1(l.x) + 2) / expm1(l.x); }},
      {"log_of_erfc", [](L l) { return log(erfc(l.x)); }, Level::kStrict},
      {"log_of_erfc", [](L l) { return log(2 + erfc(l.x)); }},
      {"gradient_of_log_erfc", [](L l) { return exp(-sqr(l.x)) / erfc(l.y); }},
      {"gradient_of_log_erfc", [](L l) { return exp(sqr(l.x)) / erfc(l.x); }},
      {"gradient_of_log_erfc", [](L l) { return exp(-sqr(l.x)) * erfc(l.x); }},
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
  };
}

TEST(QuotientRules, Stay) {
  expect_unchanged(quotient_unchanged());
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

// Numbers by mpmath 1.3 with 40 digits: log(erfc(x)) and its derivative, where erfc(x) is no number of float64 any
// more.
TEST(QuotientRules, TellTheTailOfErfc) {
  const Leaves& l = leaves();
  const double x[] = {-3, 0, 3, 24.9, 25.1, 30, 100};
  const double value[] = {0.69313613525044681032, 0,
                          -10.720363041981112568, -623.79803756557437181,
                          -633.80602485873522019, -903.97411711064387808,
                          -10005.177585122664333};
  const double slope[] = {-0.000069627295024149802247, -1.1283791670955125739, -6.303753689003234425,
                          -49.840096128020328832,      -50.239777648825090037, -60.033296398756228406,
                          -200.00999900024990754};
  for (const Expr& spelling : {log(erfc(l.x)), log(1 - erf(l.x))}) {
    const std::vector<Expr> out = stable_all({spelling, grad(sum(spelling), l.x)});
    const std::vector<Tensor> got =
        evaluate(out, {{l.x, Tensor::of(std::vector<double>(std::begin(x), std::end(x)), {7})}});
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(got[0].as_double(i), value[i], 1e-14 * std::abs(value[i])) << x[i];
      EXPECT_NEAR(got[1].as_double(i), slope[i], 1e-13 * std::abs(slope[i])) << x[i];
    }
  }
}

}  // namespace thtrain
