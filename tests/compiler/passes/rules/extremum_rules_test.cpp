#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> extremum_rewrites() {
  return {
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m), 1); }, [](L l) { return argmax(l.m, 1); }},
      {"argument_of_increasing", [](L l) { return argmin(2 * sigmoid(l.m) + 3, 0); },
       [](L l) { return argmin(l.m, 0); }},
      {"neg_of_extremum_of_neg", [](L l) { return -max(-l.m, 1); }, [](L l) { return min(l.m, 1); }},
  };
}

TEST(ExtremumRules, Rewrite) {
  expect_rewrites(extremum_rewrites());
}

std::vector<UnchangedRow> extremum_unchanged() {
  return {
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m, 0), 1); }},
      {"argument_of_increasing", [](L l) { return argmax(softmax(l.m)); }},
      {"argument_of_increasing", [](L l) { return argmax(l.s * l.m, 1); }},  // a factor of unknown sign
      {"argument_of_increasing", [](L l) { return argmax(-2 * l.m, 1); }},
      {"argument_of_increasing", [](L l) { return argmax(1 - l.x); }},
      {"argument_of_increasing", [](L l) { return argmax(l.x + l.s); }},  // perhaps no number
      {"argument_of_increasing", [](L l) { return argmax(l.m + l.x, 1); }},
      {"argument_of_increasing", [](L l) { return argmax(log(l.x)); }},  // not defined for all numbers
      {"argument_of_increasing", [](L l) { return argmax(exp(l.x)); }, Level::kStrict},
      {"neg_of_extremum_of_neg", [](L l) { return -max(-l.x) + max(-l.x); }},
  };
}

TEST(ExtremumRules, Stay) {
  expect_unchanged(extremum_unchanged());
}

// The position that is found instead is one of those that the function rounds to its largest value.
TEST(ExtremumRules, TellTiesThatRoundingMade) {
  const Leaves& l = leaves();
  const Expr plain = argmax(sigmoid(l.x)), form = stable(plain).value;
  Bindings inputs{{l.x, Tensor::vector({-3.0, 40.0, 50.0, 7.0, 60.0, 0.0, 45.0})}};
  EXPECT_EQ(evaluate({plain}, inputs)[0].as_int(), 1);
  EXPECT_EQ(evaluate({form}, inputs)[0].as_int(), 4);
  EXPECT_EQ(evaluate({sigmoid(l.x)}, inputs)[0].as_double(1), evaluate({sigmoid(l.x)}, inputs)[0].as_double(4));
}

}  // namespace thtrain
