// The rows of the families of rules: values that a rule must rewrite, and values that it must leave alone. Each
// family's test runs its own; the tests of mutants run those of the rule that they mutate.
#pragma once

#include <vector>

#include "tests/support/rule_tester.h"

namespace thtrain {

using L = const Leaves&;

std::vector<RewriteRow> arithmetic_rewrites();
std::vector<RewriteRow> diagonal_rewrites();
std::vector<RewriteRow> exponential_rewrites();
std::vector<RewriteRow> extremum_rewrites();
std::vector<RewriteRow> factor_rewrites();
std::vector<RewriteRow> hyperbolic_rewrites();
std::vector<RewriteRow> index_rewrites();
std::vector<RewriteRow> inverse_rewrites();
std::vector<RewriteRow> log_sum_exp_rewrites();
std::vector<RewriteRow> logarithm_rewrites();
std::vector<RewriteRow> matrix_rewrites();
std::vector<RewriteRow> part_rewrites();
std::vector<RewriteRow> power_rewrites();
std::vector<RewriteRow> quotient_rewrites();
std::vector<RewriteRow> reduce_rewrites();
std::vector<RewriteRow> selection_rewrites();
std::vector<RewriteRow> shape_rewrites();
std::vector<RewriteRow> softmax_rewrites();
std::vector<RewriteRow> term_rewrites();
std::vector<RewriteRow> write_rewrites();

std::vector<UnchangedRow> arithmetic_unchanged();
std::vector<UnchangedRow> diagonal_unchanged();
std::vector<UnchangedRow> exponential_unchanged();
std::vector<UnchangedRow> extremum_unchanged();
std::vector<UnchangedRow> factor_unchanged();
std::vector<UnchangedRow> hyperbolic_unchanged();
std::vector<UnchangedRow> index_unchanged();
std::vector<UnchangedRow> inverse_unchanged();
std::vector<UnchangedRow> log_sum_exp_unchanged();
std::vector<UnchangedRow> logarithm_unchanged();
std::vector<UnchangedRow> matrix_unchanged();
std::vector<UnchangedRow> part_unchanged();
std::vector<UnchangedRow> power_unchanged();
std::vector<UnchangedRow> quotient_unchanged();
std::vector<UnchangedRow> reduce_unchanged();
std::vector<UnchangedRow> selection_unchanged();
std::vector<UnchangedRow> shape_unchanged();
std::vector<UnchangedRow> softmax_unchanged();
std::vector<UnchangedRow> term_unchanged();
std::vector<UnchangedRow> write_unchanged();

/// Those of all families.
const std::vector<RewriteRow>& all_rewrites();
const std::vector<UnchangedRow>& all_unchanged();

}  // namespace thtrain
