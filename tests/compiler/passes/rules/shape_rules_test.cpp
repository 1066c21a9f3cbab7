#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> shape_rewrites() {
  return {
      {"dimshuffle_chain", [](L l) { return transpose(transpose(l.m)); }, [](L l) { return l.m; }, Level::kStrict},
      {"dimshuffle_chain", [](L l) { return transpose(expand_dims(l.x, {0})); },
       [](L l) { return expand_dims(l.x, {1}); }, Level::kStrict},
      {"reshape_chain",
       [](L l) {
         return reshape(flatten(l.m), {7, 3});
       },
       [](L l) {
         return reshape(l.m, {7, 3});
       },
       Level::kStrict},
      {"reshape_chain",
       [](L l) {
         return reshape(flatten(l.m), {3, 7});
       },
       [](L l) { return l.m; }, Level::kStrict},
      {"reshape_chain", [](L l) { return reshape(expand_dims(l.x, {0}), {7}); }, [](L l) { return l.x; },
       Level::kStrict},
      {"dimshuffle_chain", [](L l) { return expand_dims(reshape(l.m, {21}), {1}); },
       [](L l) {
         return reshape(l.m, {21, 1});
       },
       Level::kStrict},
      {"view_of_repeated_scalar", [](L l) { return transpose(broadcast_like(l.s, l.m)); },
       [](L l) {
         return broadcast_to(l.s, {7, 3});
       },
       Level::kStrict},
      {"broadcast_chain",
       [](L l) {
         return broadcast_to(expand_dims(l.x, {0}), {5, 7});
       },
       [](L l) {
         return broadcast_to(l.x, {5, 7});
       },
       Level::kStrict},
      {"broadcast_chain",
       [](L l) {
         return broadcast_to(broadcast_to(l.s, {7}), {3, 7});
       },
       [](L l) {
         return broadcast_to(l.s, {3, 7});
       },
       Level::kStrict},
      {"repeated_operand", [](L l) { return l.m * broadcast_like(l.x, l.m); }, [](L l) { return l.m * l.x; },
       Level::kStrict},
      {"repeated_operand", [](L l) { return l.x + make_constant(Tensor::vector({2.5})); },
       [](L l) { return l.x + 2.5; }, Level::kStrict},
      {"repeated_result", [](L l) { return tanh(broadcast_like(l.x, l.m)); },
       [](L l) { return broadcast_like(tanh(l.x), l.m); }, Level::kStrict},
      {"repeated_result", [](L l) { return broadcast_like(l.s, l.x) * 2; },
       [](L l) { return broadcast_like(2 * l.s, l.x); }, Level::kStrict},
      {"join_of_one", [](L l) { return join(0, {l.x}); }, [](L l) { return l.x; }, Level::kStrict},
  };
}

TEST(ShapeRules, Rewrite) {
  expect_rewrites(shape_rewrites());
}

std::vector<UnchangedRow> shape_unchanged() {
  return {
      // A view that others read, loops that others read, views that are shorter than the loop.
      {"view_between_loops", [](L l) { return exp(transpose(tanh(l.m))) + transpose(tanh(l.m)); }},
      {"view_between_loops", [](L l) { return l.m * expand_dims(exp(l.x), {0}); }},
      {"view_between_loops",
       [](L l) {
         return exp(reshape(l.m + l.x, {7, 3}));
       }},
      {"shuffle_of_shuffled", [](L l) { return transpose(exp(l.m)); }},
      {"reshape_by_ones",
       [](L l) {
         return reshape(l.m, {7, 3});
       }},
      {"join_of_neighbours",
       [](L l) {
         return join(0, {subtensor(l.x, {Slice{3, 7}}), subtensor(l.x, {Slice{0, 3}})});
       }},
      {"join_of_neighbours",
       [](L l) {
         return join(0, {subtensor(l.x, {Slice{0, 3}}), subtensor(l.y, {Slice{3, 7}})});
       }},
      {"join_of_joins",
       [](L l) {
         return join(0, {join(1, {l.m, l.m}), join(1, {l.m, l.m})});
       }},
      {"", [](L l) { return transpose(l.m); }},
      {"", [](L l) { return broadcast_like(l.s, l.x); }},
      // Without the repetition the result would be shorter.
      {"repeated_operand", [](L l) { return broadcast_like(l.x, l.m) + l.s; }},
      {"repeated_result", [](L l) { return broadcast_like(l.x, l.m) + l.m; }},
      {"broadcast_chain",
       [](L l) {
         return broadcast_to(expand_dims(l.x, {1}), {7, 3});
       }},
      {"",
       [](L l) {
         return join(0, {l.x, l.y});
       }},
  };
}

TEST(ShapeRules, Stay) {
  expect_unchanged(shape_unchanged());
}

TEST(ShapeRules, NamesOfLengthsStay) {
  Expr x = make_input({.dtype = DType::kFloat64, .dims = {"n"}}, "x");
  Expr y = make_input({.dtype = DType::kFloat64, .dims = {"m"}}, "y");
  // x + y has the lengths of x; what is repeated to m has those of y.
  EXPECT_EQ(canonical(broadcast_to(x, {"m"}) + broadcast_to(leaves().s, {"m"})).value.dims(), Dims{"m"});
  EXPECT_EQ(canonical(y + broadcast_to(leaves().s, {"n"})).value.dims(), (y + x).dims());
}

}  // namespace thtrain
