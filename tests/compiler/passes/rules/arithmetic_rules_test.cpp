#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> arithmetic_rewrites() {
  return {
      {"neg_neg", [](L l) { return -(-l.x); }, [](L l) { return l.x; }, Level::kStrict},
      {"add_of_neg", [](L l) { return -l.x + l.y; }, [](L l) { return l.y - l.x; }, Level::kStrict},
      {"sub_of_neg", [](L l) { return l.x - (-l.y); }, [](L l) { return l.x + l.y; }, Level::kStrict},
      {"neg_of_sub", [](L l) { return -(l.x - l.y); }, [](L l) { return l.y - l.x; }},
      {"sub_from_neg", [](L l) { return -l.x - l.y; }, [](L l) { return -(l.x + l.y); }},
      {"mul_of_negs", [](L l) { return -l.x * -l.y; }, [](L l) { return l.x * l.y; }, Level::kStrict},
      {"mul_of_neg", [](L l) { return -l.x * l.y; }, [](L l) { return -(l.x * l.y); }, Level::kStrict},
      {"over_neg", [](L l) { return l.x / -l.y; }, [](L l) { return -(l.x / l.y); }, Level::kStrict},
      {"neg_times_number", [](L l) { return -(3 * l.x); }, [](L l) { return -3 * l.x; }, Level::kStrict},
      {"neg_of_over_number", [](L l) { return -(l.x / 3); }, [](L l) { return l.x / -3; }, Level::kStrict},
      {"number_over_neg", [](L l) { return 3 / -l.x; }, [](L l) { return -3 / l.x; }, Level::kStrict},
      {"add_negative_number", [](L l) { return l.x + -3; }, [](L l) { return l.x - 3; }, Level::kStrict},
      {"sub_negative_multiple", [](L l) { return l.x - -3 * l.y; }, [](L l) { return l.x + 3 * l.y; }},
      {"abs_of_neg", [](L l) { return abs(-l.x); }, [](L l) { return abs(l.x); }, Level::kStrict},
      {"sqr_of_neg", [](L l) { return sqr(-l.i); }, [](L l) { return sqr(l.i); }, Level::kStrict},

      {"add_zero", [](L l) { return 0 + l.x; }, [](L l) { return l.x; }},
      {"add_zero", [](L l) { return l.i + 0; }, [](L l) { return l.i; }, Level::kStrict},
      {"add_negative_zero", [](L l) { return l.x + -0.0; }, [](L l) { return l.x; }, Level::kStrict},
      {"sub_zero", [](L l) { return l.x - 0; }, [](L l) { return l.x; }, Level::kStrict},
      {"sub_from_zero", [](L l) { return 0 - l.x; }, [](L l) { return -l.x; }},
      {"mul_by_zero", [](L l) { return l.m * 0 + l.x; }, [](L l) { return broadcast_like(l.x, l.m); }},
      {"mul_by_zero", [](L l) { return l.x * zeros_like(l.m) + l.m; }, [](L l) { return l.m; }},
      {"zero_over", [](L l) { return l.y + 0 / l.x; }, [](L l) { return l.y; }},
      {"sub_of_same", [](L l) { return l.y + (l.x - l.x); }, [](L l) { return l.y; }, Level::kFast},
      {"sub_of_same", [](L l) { return l.i - l.i; }, [](L l) { return zeros_like(l.i); }, Level::kStrict},

      {"mul_by_one", [](L l) { return l.x * 1; }, [](L l) { return l.x; }, Level::kStrict},
      {"mul_by_one", [](L l) { return ones_like(l.m) * l.x; }, [](L l) { return broadcast_like(l.x, l.m); }},
      {"mul_by_one", [](L l) { return l.b * true; }, [](L l) { return l.b; }, Level::kStrict},
      {"div_by_one", [](L l) { return l.x / 1; }, [](L l) { return l.x; }, Level::kStrict},
      {"mul_by_minus_one", [](L l) { return -1 * l.x; }, [](L l) { return -l.x; }, Level::kStrict},
      {"div_of_same", [](L l) { return l.x / l.x; }, [](L l) { return ones_like(l.x); }, Level::kFast},
      {"add_of_same", [](L l) { return l.x + l.x; }, [](L l) { return 2 * l.x; }, Level::kStrict},
      {"add_of_same", [](L l) { return l.i + l.i; }, [](L l) { return l.i * 2; }, Level::kStrict},
  };
}

TEST(ArithmeticRules, Rewrite) {
  expect_rewrites(arithmetic_rewrites());
}

std::vector<UnchangedRow> arithmetic_unchanged() {
  return {
      // A sign stays with the shorter value: m is longer than x, and s than m.
      {"mul_of_neg", [](L l) { return l.m * -l.x; }},
      {"mul_of_neg", [](L l) { return -l.s * l.m; }},
      {"sub_from_neg", [](L l) { return -l.x - l.m; }},
      {"neg_over", [](L l) { return -l.x / l.m; }},
      {"over_neg", [](L l) { return l.m / -l.x; }},
      {"sub_negative_multiple", [](L l) { return l.x - 3 * l.y; }},
      // Strict keeps the sign of a zero.
      {"add_zero", [](L l) { return l.x + 0; }, Level::kStrict},
      {"neg_of_sub", [](L l) { return -(l.x - l.y); }, Level::kStrict},
      {"sub_from_zero", [](L l) { return 0 - l.x; }, Level::kStrict},
      // Infinities: standard does not cancel.
      {"sub_of_same", [](L l) { return l.x - l.x; }, Level::kStandard},
      {"div_of_same", [](L l) { return l.x / l.x; }, Level::kStandard},
      {"mul_by_zero", [](L l) { return l.x * 0; }, Level::kStrict},
      {"", [](L l) { return eq(l.x, l.x); }, Level::kStandard},
      {"add_of_same", [](L l) { return l.b + l.b; }},
      // A product that is read twice is not computed twice.
      {"neg_times_number", [](L l) { return tanh(3 * l.x) + exp(-(3 * l.x)); }},
      {"neg_of_number_over", [](L l) { return tanh(3 / l.x) + exp(-(3 / l.x)); }},
      {"neg_of_over_number", [](L l) { return tanh(l.x / 3) + exp(-(l.x / 3)); }},
      {"neg_of_add_number", [](L l) { return tanh(l.x + 3) + exp(-(l.x + 3)); }},
  };
}

TEST(ArithmeticRules, Stay) {
  expect_unchanged(arithmetic_unchanged());
}

TEST(ArithmeticRules, OneForm) {
  expect_one_form({[](L l) { return l.x + l.y; }, [](L l) { return l.y + l.x; }, [](L l) { return l.x - -l.y; },
                   [](L l) { return -(-l.x - l.y); }, [](L l) { return 0 + l.x + 1 * l.y; }});
  expect_one_form({[](L l) { return -2 * l.x; }, [](L l) { return l.x * -2; }, [](L l) { return -(2 * l.x); },
                   [](L l) { return -l.x * 2; }, [](L l) { return -(l.x + l.x); }, [](L l) { return l.x / -0.5; }});
  expect_one_form({[](L l) { return l.x - 1; }, [](L l) { return -1 + l.x; }, [](L l) { return -(1 - l.x); }});
}

}  // namespace thtrain
