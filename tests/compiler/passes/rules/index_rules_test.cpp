#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

// Of [7, 4], in row k the element i[k].
Expr picked(const Expr& y) {
  return scatter_add_rows(zeros({7, 4}, DType::kFloat64), leaves().i, y);
}
// Zeros of [3, 7] but for one row.
Expr row_alone(int64_t row, const Expr& y) {
  return inc_subtensor(subtensor(zeros({3, 7}, DType::kFloat64), {row}), y);
}
Expr matrix_of(const Expr& x) {
  return expand_dims(x, {1}) * make_constant(Tensor::vector({1.0, 2.0, 3.0, 4.0}));
}

}  // namespace

std::vector<RewriteRow> index_rewrites() {
  return {
      {"sum_of_increment", [](L l) { return sum(picked(l.x), 1); }, [](L l) { return l.x; }},
      {"sum_of_increment", [](L l) { return sum(picked(l.x), 1, true); },
       [](L l) {
         return reshape(l.x, {7, 1});
       }},
      {"sum_of_increment", [](L l) { return sum(picked(l.x)); }, [](L l) { return sum(l.x); }},
      {"add_of_increment", [](L l) { return picked(l.x) + matrix_of(l.y); },
       [](L l) { return scatter_add_rows(matrix_of(l.y), l.i, l.x); }},
      {"add_of_increment", [](L l) { return matrix_of(l.y) - picked(l.x); },
       [](L l) { return scatter_add_rows(matrix_of(l.y), l.i, -l.x); }},
      {"add_of_increment", [](L l) { return (row_alone(0, l.x) + row_alone(1, l.y)) * exp(row_alone(1, l.y)); },
       [](L l) { return inc_subtensor(subtensor(row_alone(0, l.x), {1}), l.y) * exp(row_alone(1, l.y)); }},
      {"scaled_increment", [](L l) { return picked(l.x) * l.s; }, [](L l) { return picked(l.s * l.x); }},
      {"scaled_increment", [](L l) { return -picked(l.x); }, [](L l) { return picked(-l.x); }},
  };
}

TEST(IndexRules, Rewrite) {
  expect_rewrites(index_rewrites());
}

std::vector<UnchangedRow> index_unchanged() {
  return {
      {"sum_of_increment", [](L l) { return sum(picked(l.x), 0); }},
      {"sum_of_increment", [](L l) { return sum(scatter_add_rows(matrix_of(l.y), l.i, l.x), 1); }},
      {"add_of_increment", [](L l) { return (picked(l.x) + matrix_of(l.y)) * tanh(picked(l.x)); }},
      {"scaled_increment", [](L l) { return picked(l.x) * matrix_of(l.y); }},
  };
}

TEST(IndexRules, Stay) {
  expect_unchanged(index_unchanged());
}

}  // namespace thtrain
