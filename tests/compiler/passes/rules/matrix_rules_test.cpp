#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

Expr square() {
  static const Expr out = make_input({.dtype = DType::kFloat64, .dims = {7, 7}}, "square");
  return out;
}

}  // namespace

std::vector<RewriteRow> matrix_rewrites() {
  return {
      {"transpose_of_dot", [](L l) { return transpose(dot(l.m, square())); },
       [](L l) { return dot(transpose(square()), transpose(l.m)); }},
      {"dot_of_scaled", [](L l) { return dot(l.s * l.m, l.x); }, [](L l) { return l.s * dot(l.m, l.x); }},
      {"dot_of_scaled", [](L l) { return dot(l.m, -l.x); }, [](L l) { return -dot(l.m, l.x); }},
      {"dot_of_single", [](L l) { return dot(expand_dims(l.x, {1}), expand_dims(l.y, {0})); },
       [](L l) { return expand_dims(l.x, {1}) * expand_dims(l.y, {0}); }},
      {"dot_chain", [](L l) { return dot(dot(l.m, square()), l.x); }, [](L l) { return dot(l.m, dot(square(), l.x)); }},
      // [7, 3] [3, 7] [7, 7] [7, 3]
      {"dot_chain", [](L l) { return dot(dot(dot(transpose(l.m), l.m), square()), transpose(l.m)); },
       [](L l) { return dot(transpose(l.m), dot(l.m, dot(square(), transpose(l.m)))); }},
  };
}

TEST(MatrixRules, Rewrite) {
  expect_rewrites(matrix_rewrites());
}

std::vector<UnchangedRow> matrix_unchanged() {
  return {
      {"transpose_of_dot", [](L l) { return sum(transpose(dot(l.m, square())), 1) + sum(dot(l.m, square()), 0); }},
      {"transpose_of_dot", [](L l) { return transpose(dot(l.m, square())); }, Level::kStrict},
      // A loop computes the operand anyway.
      {"dot_of_scaled", [](L l) { return dot(l.s * tanh(l.m), l.x); }},
      {"dot_of_scaled", [](L l) { return dot(l.m * l.y, l.x); }},
      // In the best order already, or of lengths that only a call knows.
      {"dot_chain", [](L l) { return dot(dot(l.m, square()), transpose(l.m)); }},
      {"dot_chain", [](L l) { return dot(l.m, dot(square(), l.x)); }},
      {"dot_chain",
       [](L) {
         auto of = [](Dims dims) { return make_input({.dtype = DType::kFloat64, .dims = std::move(dims)}, "u"); };
         return dot(dot(of({"n", "k"}), of({"k", "n"})), of({"n", 3}));
       }},
      {"dot_of_single", [](L l) { return dot(l.m, square()); }},
  };
}

TEST(MatrixRules, Stay) {
  expect_unchanged(matrix_unchanged());
}

}  // namespace thtrain
