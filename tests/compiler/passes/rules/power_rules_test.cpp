#include <gtest/gtest.h>

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
      {"pow_half", [](L l) { return pow(sqr(l.x) + 1, 0.5); }, [](L l) { return sqrt(sqr(l.x) + 1); }},
      {"pow_minus_half", [](L l) { return pow(exp(l.x), -0.5); }, [](L l) { return 1 / sqrt(exp(l.x)); }},
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

}  // namespace thtrain
