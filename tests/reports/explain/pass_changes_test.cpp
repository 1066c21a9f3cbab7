#include "reports/explain/pass_changes.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/golden_text.h"

namespace thtrain {
namespace {

// A step of linear regression, every length known.
Explanation small_step() {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {6, 3}}, "x");
  Expr y = make_input({.dtype = DType::kFloat32, .dims = {6}}, "y");
  Shared w(Tensor::zeros(DType::kFloat32, {3}), "w");
  Scope scope("model");
  Expr loss = sum(sqr(dot(x, w) - y * 1.0)) / 6.0;
  return function({x, y}, {loss}, {{w, w.expr() - 0.5 * grad(loss, w)}}, {.threads = 1, .use_cache = false}).explain();
}

TEST(GoldenRewrites, RulesAndLinesOfEachPass) {
  expect_golden(rewrites_text(small_step()), "rewrites.txt");
}

TEST(PassChanges, RewritesThatReadTheSameAreCounted) {
  Expr x = vector("x");
  Explanation e = function({x}, {Out(-(-x)), Out(exp(-(-x)))}).explain();
  std::vector<PassChange> changes = pass_changes(e);
  ASSERT_EQ(changes.size(), e.passes.size());
  int64_t all = 0;
  for (const PassChange& change : changes) {
    int64_t fired = 0;
    for (const RuleUse& use : change.rules) fired += use.times;
    EXPECT_EQ(fired, change.fired);
    all += fired;
  }
  EXPECT_EQ(all, static_cast<int64_t>(e.fired.size()));
}

TEST(PassChanges, SafetyHasTheWordsOfTheSemanticsPage) {
  EXPECT_STREQ(name_of(Safety::kExact), "exact");
  EXPECT_STREQ(name_of(Safety::kReassociating), "reassociating");
  EXPECT_STREQ(name_of(Safety::kRangeChanging), "range-changing");
  EXPECT_STREQ(name_of(Safety::kFiniteMath), "finite-math");
}

}  // namespace
}  // namespace thtrain
