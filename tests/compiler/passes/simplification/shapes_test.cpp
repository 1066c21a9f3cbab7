// Views of views, repetition, joins, and lengths, which cost nothing.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

TEST(SimplifyShapes, Views) {
  expect_simplified({
      {"transpose twice", [](L l) { return transpose(transpose(l.a)); }, 0, kStrict},
      {"three rotations",
       [](L l) {
         return transpose(transpose(transpose(l.cube, {1, 2, 0}), {1, 2, 0}), {1, 2, 0});
       },
       0, kStrict},
      {"reshape and back",
       [](L l) {
         return reshape(flatten(l.a), {5, 7});
       },
       0, kStrict},
      {"reshape twice",
       [](L l) {
         return reshape(reshape(l.cube, {6, 4}), {2, 12});
       },
       0, kStrict},
      {"expand and squeeze",
       [](L l) {
         return squeeze(expand_dims(l.x, {0, 2}));
       },
       0, kStrict},
      {"reshape to one more axis",
       [](L l) {
         return reshape(l.x, {1, 7, 1}) - expand_dims(l.x, {0, 2});
       },
       0, kFast},
      {"transpose between loops", [](L l) { return exp(transpose(tanh(l.a))); }, 1, kStrict},
      {"reshape between loops",
       [](L l) {
         return exp(reshape(tanh(l.a), {7, 5}));
       },
       1, kStrict},
      {"flatten between loops", [](L l) { return 2 * flatten(tanh(l.cube)); }, 1, kStrict},
      {"new axis between loops", [](L l) { return exp(expand_dims(tanh(l.x), {0})); }, 1, kStrict},
      {"transpose, exp, transpose", [](L l) { return transpose(exp(transpose(l.a))); }, 1, kStrict},
      {"transpose of a sum of transposes", [](L l) { return transpose(transpose(l.b) + transpose(l.w)); }, 1, kStrict},
      {"view of a repeated scalar",
       [](L l) {
         return transpose(broadcast_to(l.s, {2, 3})) + 0;
       },
       1},
      {"useless dimshuffle",
       [](L l) {
         return dimshuffle(l.a, {0, 1});
       },
       0, kStrict},
  });
}

TEST(SimplifyShapes, Repetition) {
  expect_simplified({
      {"operand", [](L l) { return l.a + broadcast_like(l.x, l.a); }, 1, kStrict},
      {"operand, scalar", [](L l) { return l.a * full_like(l.a, l.s); }, 1, kStrict},
      {"twice",
       [](L l) {
         return broadcast_to(broadcast_to(l.x, {3, 7}), {2, 3, 7});
       },
       0, kStrict},
      {"result",
       [](L l) {
         return sum(exp(broadcast_to(l.s, {5, 7})));
       },
       1},
      {"both operands",
       [](L l) {
         return broadcast_to(l.x, {5, 7}) + broadcast_to(l.y, {5, 7});
       },
       1, kStrict},
      {"useless", [](L l) { return broadcast_to(l.x, {7}); }, 0, kStrict},
      {"of zeros", [](L l) { return l.a + zeros_like(l.a); }, 0},
      {"of ones", [](L l) { return l.a * ones_like(l.a); }, 0, kStrict},
      {"ones times a row", [](L l) { return ones_like(l.a) * l.x; }, 0, kStrict},
      {"full of number",
       [](L l) {
         return l.a - full({5, 7}, 0.0);
       },
       0, kStrict},
      {"deep in a loop",
       [](L l) {
         return tanh(broadcast_to(exp(l.x), {5, 7})) * l.a;
       },
       2, kStrict},
  });
}

Expr joined(int64_t axis, const std::vector<Expr>& pieces) {
  return join(axis, std::vector<Operand>(pieces.begin(), pieces.end()));
}

TEST(SimplifyShapes, Joins) {
  expect_simplified({
      {"of one", [](L l) { return join(0, {l.x}); }, 0, kStrict},
      {"of nothing and one",
       [](L l) {
         return join(0, {zeros({0}), l.x});
       },
       0, kStrict},
      {"of joins",
       [](L l) {
         return join(0, {join(0, {l.x, l.y}), l.z});
       },
       1, kStrict},
      {"of the pieces",
       [](L l) {
         return joined(0, split(l.a, {2, 3}));
       },
       0, kStrict},
      {"of neighbouring parts",
       [](L l) {
         return join(0, {subtensor(l.x, {Slice{0, 3}}), subtensor(l.x, {Slice{3, 7}})});
       },
       0, kStrict},
      {"of three neighbours",
       [](L l) {
         return joined(1, split(l.a, {1, 2, 4}, 1));
       },
       0, kStrict},
      {"a piece of it",
       [](L l) {
         return split(join(0, {l.x, l.y}), {7, 7})[1];
       },
       0, kStrict},
  });
}

TEST(SimplifyShapes, Lengths) {
  expect_simplified({
      {"of an axis", [](L l) { return length(exp(l.a), 0); }, 0, kStrict},
      {"of a product", [](L l) { return length(dot(l.a, l.b), 1); }, 0, kStrict},
      {"number of elements", [](L l) { return size(tanh(l.cube)); }, 0, kStrict},
      {"arithmetic", [](L l) { return length(l.a, 0) * 2 + length(l.b, 1) - 1; }, 0, kStrict},
      {"of a join",
       [](L l) {
         return length(join(0, {l.x, l.y}), 0);
       },
       0, kStrict},
      {"of a part",
       [](L l) {
         return length(subtensor(l.a, {Slice{1, 4}}), 0);
       },
       0, kStrict},
      {"of a reduction", [](L l) { return length(sum(l.a, 0), 0); }, 0, kStrict},
      {"in arithmetic with values", [](L l) { return l.x / cast(length(l.a, 0), DType::kFloat64); }, 1, kStrict},
      {"shape as target",
       [](L l) {
         return reshape(l.a, {length(l.a, 1), length(l.a, 0)});
       },
       0, kStrict},
  });
}

TEST(SimplifyShapes, CommonSubexpressions) {
  expect_simplified({
      {"same call", [](L l) { return exp(l.x) - exp(l.x); }, 0, kFast},
      {"commuted", [](L l) { return tanh(l.x + l.y) - tanh(l.y + l.x); }, 0, kFast},
      {"dot", [](L l) { return dot(l.a, l.b) + dot(l.a, l.b); }, 2},
      {"reductions", [](L l) { return sum(l.a, 0) - sum(l.a, 0); }, 0, kFast},
      {"through views", [](L l) { return sum(transpose(l.a), 1) - sum(l.a, 0); }, 0, kFast},
      {"constants", [](L l) { return (l.x + 2) * (l.x + 2); }, 1},
      {"of numbers alone", [](L l) { return l.x * exp(Operand(0.0).expr()); }, 0},
  });
}

}  // namespace
}  // namespace thtrain
