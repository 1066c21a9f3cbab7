#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {

template <class Row>
static std::vector<Row> joined(std::initializer_list<std::vector<Row> (*)()> families) {
  std::vector<Row> out;
  for (const auto& family : families)
    for (Row& row : family()) out.push_back(std::move(row));
  return out;
}

const std::vector<RewriteRow>& all_rewrites() {
  static const std::vector<RewriteRow> rows = joined<RewriteRow>(
      {arithmetic_rewrites, diagonal_rewrites, exponential_rewrites, extremum_rewrites,    factor_rewrites,
       hyperbolic_rewrites, index_rewrites,    inverse_rewrites,     log_sum_exp_rewrites, logarithm_rewrites,
       matrix_rewrites,     part_rewrites,     power_rewrites,       quotient_rewrites,    reduce_rewrites,
       selection_rewrites,  shape_rewrites,    softmax_rewrites,     term_rewrites,        write_rewrites});
  return rows;
}

const std::vector<UnchangedRow>& all_unchanged() {
  static const std::vector<UnchangedRow> rows = joined<UnchangedRow>(
      {arithmetic_unchanged, diagonal_unchanged, exponential_unchanged, extremum_unchanged,    factor_unchanged,
       hyperbolic_unchanged, index_unchanged,    inverse_unchanged,     log_sum_exp_unchanged, logarithm_unchanged,
       matrix_unchanged,     part_unchanged,     power_unchanged,       quotient_unchanged,    reduce_unchanged,
       selection_unchanged,  shape_unchanged,    softmax_unchanged,     term_unchanged,        write_unchanged});
  return rows;
}

}  // namespace thtrain
