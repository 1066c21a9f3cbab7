// The table of quotients follows the ones that Theano's canonical forms were tested with.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> factor_rewrites() {
  return {
      {"collect_factors", [](L l) { return 2 * l.x / 3; }, [](L l) { return l.x * (2.0 / 3); }},
      {"collect_factors", [](L l) { return (2 * l.x) / (4 * l.y); }, [](L l) { return 0.5 * l.x / l.y; }},
      {"collect_factors", [](L l) { return 3 * l.i * 5; }, [](L l) { return 15 * l.i; }, Level::kStrict},
      {"cancel_factors", [](L l) { return (l.x * l.y) / l.x; }, [](L l) { return l.y; }, Level::kFast},
      {"cancel_factors", [](L l) { return (l.x / l.y) * (l.y / l.z); }, [](L l) { return l.x / l.z; }, Level::kFast},
      {"cancel_factors", [](L l) { return (l.s / l.y) * (l.y / l.z) * (l.z / l.x); }, [](L l) { return l.s / l.x; },
       Level::kFast},
      {"cancel_factors", [](L l) { return (2 * l.x) / (2 * l.x * l.y); }, [](L l) { return 1 / l.y; }, Level::kFast},
      {"div_of_same", [](L l) { return -l.x / l.x; }, [](L l) { return -ones_like(l.x); }, Level::kFast},
      {"cancel_kept_factors", [](L l) { return sqr(l.x) / l.x; }, [](L l) { return l.x; }},
      {"cancel_kept_factors", [](L l) { return l.x / sqr(l.x); }, [](L l) { return 1 / l.x; }},
      {"cancel_kept_factors", [](L l) { return l.y / l.x * (l.x * (1 - l.x)); }, [](L l) { return l.y * (1 - l.x); }},
  };
}

TEST(FactorRules, Rewrite) {
  expect_rewrites(factor_rewrites());
}

std::vector<UnchangedRow> factor_unchanged() {
  return {
      {"", [](L l) { return l.x * l.y / l.z; }},
      {"", [](L l) { return l.x / l.y / l.z; }},
      // A NaN or an infinity in x would be lost.
      {"cancel_kept_factors", [](L l) { return l.x * l.y / l.x; }},
      {"cancel_factors", [](L l) { return l.x * l.y / l.x; }, Level::kStandard},
      {"cancel_factors", [](L l) { return l.x / l.y; }},
      // 1e400 is no number of float64, 1e-400 is 0.
      {"collect_factors", [](L l) { return l.x * 1e200 * 1e200; }},
      {"collect_factors", [](L l) { return l.x * 1e-200 * 1e-200; }},
      // s * 2 is a scalar: it is made once.
      {"collect_factors", [](L l) { return (l.s * 2) * (3 * l.x); }},
  };
}

TEST(FactorRules, Stay) {
  expect_unchanged(factor_unchanged());
}

}  // namespace thtrain
