#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> term_rewrites() {
  return {
      {"collect_numbers", [](L l) { return l.x + 1 + 2; }, [](L l) { return l.x + 3; }},
      {"collect_numbers", [](L l) { return 3 - (l.x + 1); }, [](L l) { return 2 - l.x; }},
      {"collect_numbers", [](L l) { return (1 + l.x) - 1; }, [](L l) { return l.x; }},
      {"collect_numbers", [](L l) { return l.i + 1 + 2; }, [](L l) { return l.i + 3; }, Level::kStrict},
      {"collect_terms", [](L l) { return (l.x + l.y) + l.x; }, [](L l) { return 2 * l.x + l.y; }},
      {"collect_terms", [](L l) { return l.x + l.x + l.x; }, [](L l) { return 3 * l.x; }},
      {"collect_terms", [](L l) { return 5 * l.x - (l.y + 2 * l.x); }, [](L l) { return 3 * l.x - l.y; }},
      {"cancel_terms", [](L l) { return (l.x + l.y) - l.x; }, [](L l) { return l.y; }, Level::kFast},
      {"cancel_terms", [](L l) { return (l.i + 1) - l.i; }, [](L l) { return l.i * 0 + 1; }, Level::kStrict},
      {"cancel_terms", [](L l) { return (l.x - l.y) + (l.y - l.z); }, [](L l) { return l.x - l.z; }, Level::kFast},
  };
}

TEST(TermRules, Rewrite) {
  expect_rewrites(term_rewrites());
}

std::vector<UnchangedRow> term_unchanged() {
  return {
      // Sums that gain nothing keep the order in which they were written.
      {"", [](L l) { return l.x + l.y + l.z; }},
      {"", [](L l) { return (l.z + 1) - l.y; }},
      {"cancel_terms", [](L l) { return (l.x + l.y) - l.x; }, Level::kStandard},
      {"collect_numbers", [](L l) { return l.x + 1 + 2; }, Level::kStrict},
      {"collect_numbers", [](L l) { return l.x + 1e308 + 1e308; }},
      // x + y is read twice.
      {"collect_terms", [](L l) { return ((l.x + l.y) + l.x) * tanh(l.x + l.y); }},
      // The sum of short values is made once.
      {"collect_terms", [](L l) { return (l.x + l.s) + l.m + l.x; }},
  };
}

TEST(TermRules, Stay) {
  expect_unchanged(term_unchanged());
}

TEST(TermRules, LongSumsAreLeftAlone) {
  Expr sum = leaves().x;
  for (int i = 1; i < 40; ++i) sum = sum + tanh(leaves().x * i);
  EXPECT_FALSE(stable(sum + 1 + leaves().x).has("collect_terms"));
}

}  // namespace thtrain
