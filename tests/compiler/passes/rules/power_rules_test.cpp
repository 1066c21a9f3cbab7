#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/api.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> power_rewrites() {
  return {
      {"mul_of_same", [](L l) { return l.x * l.x; }, [](L l) { return sqr(l.x); }, Level::kStrict},
      {"pow_0", [](L l) { return pow(l.x, 0) * l.y; }, [](L l) { return l.y; }, Level::kStrict},
      {"pow_1", [](L l) { return pow(l.x, 1); }, [](L l) { return l.x; }, Level::kStrict},
      {"pow_2", [](L l) { return pow(l.x, 2); }, [](L l) { return sqr(l.x); }},
      {"pow_2", [](L l) { return pow(l.i, 2); }, [](L l) { return sqr(l.i); }, Level::kStrict},
      {"pow_half", [](L l) { return pow(l.x, 0.5); },
       [](L l) { return abs(sqrt(switch_(isinf(l.x), abs(l.x), l.x))); }},
      {"pow_minus_half", [](L l) { return pow(l.x, -0.5); },
       [](L l) { return 1 / abs(sqrt(switch_(isinf(l.x), abs(l.x), l.x))); }},
      {"pow_minus_1", [](L l) { return pow(l.x, -1); }, [](L l) { return 1 / l.x; }},
      {"pow_minus_2", [](L l) { return pow(l.x, -2); }, [](L l) { return 1 / sqr(l.x); }},
      {"pow_by_squares", [](L l) { return pow(l.x, 3); }, [](L l) { return sqr(l.x) * l.x; }},
      {"pow_by_squares", [](L l) { return pow(l.x, 13); }, [](L l) { return sqr(sqr(sqr(l.x) * l.x)) * l.x; }},
      {"reciprocal", [](L l) { return reciprocal(l.x); }, [](L l) { return 1 / l.x; }, Level::kStrict},
      {"div_by_power_of_two", [](L l) { return l.x / 4; }, [](L l) { return l.x * 0.25; }, Level::kStrict},
      {"div_by_reciprocal", [](L l) { return l.x / (1 / l.y); }, [](L l) { return l.x * l.y; }},
      {"mul_by_reciprocal", [](L l) { return l.x * (1 / l.y); }, [](L l) { return l.x / l.y; }},
      {"sqrt_of_sqr", [](L l) { return sqrt(sqr(l.x)); }, [](L l) { return abs(l.x); }},
      {"over_abs", [](L l) { return l.x / abs(l.x); }, [](L l) { return sign(l.x); }},
      {"abs_over", [](L l) { return abs(l.x) / l.x; }, [](L l) { return sign(l.x); }},
  };
}

TEST(PowerRules, Rewrite) {
  expect_rewrites(power_rewrites());
}

std::vector<UnchangedRow> power_unchanged() {
  return {
      {"div_by_power_of_two", [](L l) { return l.x / 3; }},
      {"div_by_power_of_two", [](L l) { return l.x / 0; }},
      {"pow_by_squares", [](L l) { return pow(l.x, 2.5); }},
      {"pow_by_squares", [](L l) { return pow(l.x, 17); }},
      {"pow_by_squares", [](L l) { return pow(l.i, -3); }},
      {"pow_2", [](L l) { return pow(l.x, 2); }, Level::kStrict},
      // One division for a scalar, not one for each element.
      {"mul_by_reciprocal", [](L l) { return l.x * (1 / l.s); }},
      {"mul_by_reciprocal", [](L l) { return l.x * (1 / l.y) + tanh(1 / l.y); }},
      {"div_by_reciprocal", [](L l) { return l.x / (1 / l.y) + tanh(1 / l.y); }},
  };
}

TEST(PowerRules, Stay) {
  expect_unchanged(power_unchanged());
}

// The table of C's Annex F (F.10.4.4), after whatever the rules made of the power.
template <class T>
void expect_special_values() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> bases{0, T(-0.0), 1, -1, 2, -2, T(0.5), T(-0.5), inf, -inf, nan};
  Expr x = tensor("x", {static_cast<int64_t>(bases.size())}, dtype_of<T>());
  std::vector<double> exponents{0, 1, 2, 3, 4, -1, -2, -3, -4, 0.5, -0.5, 1.5, -1.5, 2.5, inf, -inf, nan};
  std::vector<Out> powers;
  for (double exponent : exponents) powers.emplace_back(pow(x, exponent));
  const Tensor values = Tensor::of(bases, {static_cast<int64_t>(bases.size())});
  for (Level level : {Level::kStrict, Level::kStandard, Level::kFast})
    for (Mode mode : {Mode::kNative, Mode::kReference}) {
      std::vector<Tensor> got = function({x}, powers, {}, {.mode = mode, .level = level})({values});
      for (size_t k = 0; k < exponents.size(); ++k)
        for (size_t i = 0; i < bases.size(); ++i) {
          const T want = std::pow(bases[i], static_cast<T>(exponents[k])), is = got[k].data<T>()[i];
          SCOPED_TRACE(str("pow(", bases[i], ", ", exponents[k], ")"));
          if (std::isnan(want))
            EXPECT_TRUE(std::isnan(is)) << is;
          else if (want == 0 || std::isinf(want))
            EXPECT_TRUE(is == want && std::signbit(is) == std::signbit(want)) << is << ", not " << want;
          else
            EXPECT_NEAR(is, want, std::abs(want) * 1e-6);
        }
    }
}

TEST(PowerRules, SpecialValuesOfPowers) {
  expect_special_values<float>();
  expect_special_values<double>();
}

}  // namespace thtrain
