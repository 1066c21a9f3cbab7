// Parts of values: what is not read is not computed, and what is written is read back.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

Expr part(const Expr& x, const std::vector<Index>& indices) {
  return subtensor(x, indices);
}
Expr set(const Expr& x, const std::vector<Index>& indices, const Operand& y) {
  return set_subtensor(subtensor(x, indices), y);
}
Expr inc(const Expr& x, const std::vector<Index>& indices, const Operand& y) {
  return inc_subtensor(subtensor(x, indices), y);
}

TEST(SimplifyParts, OfParts) {
  expect_simplified({
      {"all of it",
       [](L l) {
         return part(l.a, {all(), all()});
       },
       0, kStrict},
      {"from the start",
       [](L l) {
         return part(l.a, {Slice{0, 5}});
       },
       0, kStrict},
      {"beyond the end",
       [](L l) {
         return part(l.x, {Slice{0, 99}});
       },
       0, kStrict},
      {"slice of slice",
       [](L l) {
         return part(part(l.x, {Slice{1, 6}}), {Slice{1, 3}});
       },
       0, kStrict},
      {"row of slice",
       [](L l) {
         return part(part(l.a, {Slice{1, 4}}), {1});
       },
       0, kStrict},
      {"steps of steps", [](L l) { return part(part(l.x, {Slice{.step = 2}}), {Slice{.step = -1}}); }, 0, kStrict},
      {"negative of negative", [](L l) { return part(part(l.x, {Slice{.step = -1}}), {Slice{.step = -1}}); }, 0,
       kStrict},
      {"empty of slice",
       [](L l) {
         return part(part(l.x, {Slice{2, 5}}), {Slice{2, 2}});
       },
       0, kStrict},
      {"element of row", [](L l) { return part(part(l.a, {1}), {2}); }, 0, kStrict},
      {"a number of take", [](L l) { return take(l.a, 2); }, 0, kStrict},
      {"the last of take", [](L l) { return take(l.a, -1, 1); }, 0, kStrict},
  });
}

TEST(SimplifyParts, OfComputedValues) {
  expect_simplified({
      {"of exp", [](L l) { return part(exp(l.a), {2}); }, 1, kStrict},
      {"of a sum with a row", [](L l) { return part(l.a + l.x, {1}); }, 1, kStrict},
      {"of exp, less it", [](L l) { return part(exp(l.a), {2}) - exp(part(l.a, {2})); }, 0, kFast},
      {"of a repeated row",
       [](L l) {
         return part(broadcast_to(l.x, {5, 7}), {3});
       },
       0, kStrict},
      {"of a repeated scalar", [](L l) { return part(broadcast_to(l.s, {5}), {3}); }, 0, kStrict},
      {"of zeros",
       [](L) {
         return part(zeros({5, 7}), {3});
       },
       0, kStrict},
      {"row of a dot", [](L l) { return part(dot(l.a, l.b), {1}) - dot(part(l.a, {1}), l.b); }, 0, kFast},
      {"column of a dot",
       [](L l) {
         return part(dot(l.a, l.b), {all(), 2});
       },
       1},
      {"element of a dot",
       [](L l) {
         return part(dot(l.a, l.b), {1, 2});
       },
       1},
      {"rows of a dot",
       [](L l) {
         return part(dot(l.a, l.b), {Slice{1, 3}});
       },
       1},
      {"of a transpose",
       [](L l) {
         return part(transpose(l.a), {1}) - part(l.a, {all(), 1});
       },
       0, kFast},
      {"of a new axis", [](L l) { return part(expand_dims(l.x, {0}), {0}); }, 0, kStrict},
      {"of a join, first",
       [](L l) {
         return part(join(0, {l.x, l.y}), {Slice{0, 7}});
       },
       0, kStrict},
      {"of a join, second",
       [](L l) {
         return part(join(0, {l.x, l.y}), {9});
       },
       0, kStrict},
      {"of a stack",
       [](L l) {
         return part(stack({l.x, l.y, l.z}), {1});
       },
       0, kStrict},
      {"of a sum over columns", [](L l) { return part(sum(l.a, 1), {2}) - sum(part(l.a, {2})); }, 0, kFast},
      {"of a maximum over rows",
       [](L l) {
         return part(max(l.a, 0), {Slice{1, 3}});
       },
       1},
      {"of softmax", [](L l) { return part(softmax(l.a), {0}) - softmax(part(l.a, {0})); }, 0, kFast},
      {"of log softmax",
       [](L l) {
         return part(log_softmax(l.a), {Slice{1, 3}});
       },
       1},
      {"of a long chain",
       [](L l) {
         return part(exp(transpose(l.a) * 2) + 1, {1, Slice{0, 2}});
       },
       1, kStrict},
      {"labels of exp", [](L l) { return pick_rows(exp(l.c), l.labels) - exp(pick_rows(l.c, l.labels)); }, 0, kFast},
      {"labels of a scaled value", [](L l) { return pick_rows(l.s * l.c, l.labels); }, 2},
  });
}

TEST(SimplifyParts, Writes) {
  expect_simplified({
      {"read of set", [](L l) { return part(set(l.a, {1}, l.x), {1}); }, 0, kStrict},
      {"read of inc", [](L l) { return part(inc(l.a, {1}, l.x), {1}); }, 1, kStrict},
      {"read elsewhere", [](L l) { return part(set(l.a, {1}, l.x), {2}); }, 0, kStrict},
      {"slice elsewhere",
       [](L l) {
         return part(inc(l.a, {Slice{0, 2}}, l.x), {Slice{2, 5}});
       },
       0, kStrict},
      {"set all", [](L l) { return set(l.a, {all()}, l.a); }, 0, kStrict},
      {"set all to a row", [](L l) { return set(l.a, {all()}, l.x); }, 0, kStrict},
      {"inc all", [](L l) { return inc(l.x, {all()}, l.y); }, 1, kStrict},
      {"set nothing",
       [](L l) {
         return set(l.x, {Slice{2, 2}}, 3.0);
       },
       0, kStrict},
      {"set own", [](L l) { return set(l.a, {1}, part(l.a, {1})); }, 0, kStrict},
      {"set twice", [](L l) { return set(set(l.a, {1}, l.x), {1}, l.y); }, 1, kStrict},
      {"inc twice", [](L l) { return inc(inc(l.a, {1}, l.x), {1}, l.y); }, 2},
      {"inc of set", [](L l) { return inc(set(l.a, {1}, l.x), {1}, l.y); }, 2},
      {"inc by zeros", [](L l) { return inc(l.a, {1}, 0.0); }, 0},
      {"set zeros to zeros",
       [](L) {
         return set(zeros({5, 7}), {1}, 0.0);
       },
       0},
      {"x + inc(0)",
       [](L l) {
         return l.a + inc(zeros({5, 7}), {1}, l.x);
       },
       1},
      {"x - inc(0)",
       [](L l) {
         return l.a - inc(zeros({5, 7}), {1}, l.x);
       },
       2},
      {"two gradients of parts",
       [](L l) {
         return inc(zeros({5, 7}), {1}, l.x) + inc(zeros({5, 7}), {3}, l.y);
       },
       2},
      {"s * inc(0)",
       [](L l) {
         return l.s * inc(zeros({5, 7}), {1}, l.x);
       },
       2},
      {"sum(inc(0))",
       [](L l) {
         return sum(inc(zeros({5, 7}), {1}, l.x)) - sum(l.x);
       },
       0, kFast},
      {"gradient of a part", [](L l) { return grad(sum(sqr(part(l.a, {1}))), l.a); }, 2},
      {"gradient of two parts",
       [](L l) {
         return grad(sum(part(l.x, {Slice{0, 3}})) + sum(l.x), l.x);
       },
       2},
      {"gradient of picked", [](L l) { return grad(sum(pick_rows(l.c, l.labels) * 3), l.c); }, 1},
  });
}

}  // namespace
}  // namespace thtrain
