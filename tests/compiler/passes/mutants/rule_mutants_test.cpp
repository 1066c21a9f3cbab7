// Are wrong rules found? Every rule is mutated, and what the tests ask of rules is asked of the mutants.
#include "tests/compiler/passes/mutants/rule_mutants.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "tests/compiler/passes/rules/rows.h"
#include "tests/support/rule_promise.h"

namespace thtrain {
namespace {

constexpr double kLeastCaught = 0.95;

// Mutants that no test finds, since they are no worse than the rule.
struct Survivors {
  std::string why;
  std::vector<std::string> mutants;
};
const std::vector<Survivors>& survivors() {
  static const std::vector<Survivors> table{
      {"the rule holds for those too; it has nothing to do there that another rule does not do",
       {"mul_of_switch_zero: for bools too",
        "mul_of_switch_zero: for integers too",
        "mul_of_switch_zero_first: for bools too",
        "mul_of_switch_zero_first: for integers too",
        "abs_of_abs: for bools too",
        "add_negative_zero: for bools too",
        "add_negative_zero: for integers too",
        "floor_of_floor: for bools too",
        "floor_of_floor: for integers too",
        "ceil_of_ceil: for bools too",
        "ceil_of_ceil: for integers too",
        "trunc_of_trunc: for bools too",
        "trunc_of_trunc: for integers too",
        "round_of_round: for bools too",
        "round_of_round: for integers too",
        "floor_of_ceil: for bools too",
        "floor_of_ceil: for integers too",
        "ceil_of_floor: for bools too",
        "ceil_of_floor: for integers too",
        "mul_of_abs: for bools too"}},
      {"|c| is -c: the condition says that c is negative",
       {"add_negative_number: abs for neg", "sub_negative_number: abs for neg", "add_negative_multiple: abs for neg",
        "sub_negative_multiple: abs for neg"}},
      {"of the references the bits are the same; native code adds in another order, or has another formula",
       {"pow_half: as exact", "reduction_of_shuffled: as exact", "extremum_of_stack: as exact",
        "neg_of_extremum_of_neg: as exact", "slice_of_reduction: as exact", "slice_of_softmax: as exact",
        "dot_of_complex: as exact"}},
      {"symmetric, but for the sign of a zero, which the class of the rule does not promise",
       {"extremum_of_stack: swap 0", "extremum_of_stack: swap 1", "log_add_exp: operands of maximum swapped",
        "log_add_exp: operands of sub swapped", "log_add_exps: swap 0", "log_add_exps: swap 1", "log_of_erfc: swap 1",
        "gradient_of_log_erfc: swap 1"}},
      {"the type stays the same only where axes of length 1 move, or are reduced",
       {"dimshuffle_chain: dropped 0", "reduction_of_shuffled: property 0", "reduction_of_shuffled: property 1",
        "extremum_of_stack: dropped 0", "extremum_of_stack: sibling 2", "extremum_of_repeated: dropped 0",
        "extremum_of_repeated: property 0"}},
      {"the part is the whole", {"join_of_neighbours: dropped 0"}},
      {"the step of a part of one element",
       {"slice_inside: property 1", "slice_of_broadcast: property 2", "slice_of_states: property 0",
        "slice_of_states: property 1"}},
      {"a part that is known to be inside needs no check that it is",
       {"scaled_increment: property 1", "log_of_selected_softmax: property 2"}},
      {"what is added to zeros is what they are set to", {"scaled_increment: property 2"}},
      {"x below two increasing functions, instead of below one", {"argument_of_increasing: leaf 1"}},
      {"at the bound of the tail both forms are right", {"log_of_erfc: sibling 0", "gradient_of_log_erfc: sibling 0"}},
      {"padding behind the last window that fits",
       {"pool_of_increasing: property 1", "pool_of_bounded: property 1", "pool_gradient_of_increasing: property 1"}},
      {"the same numbers with zeros between them", {"sum_of_pool_gradient: as exact"}},
      {"NaN and one is NaN",
       {"exp_of_log: a number one larger (2)", "exp2_of_log2: a number one larger (2)",
        "expm1_of_log1p: a number one larger (2)"}},
      {"what is chosen has the same bits; it is what other rules make of it that changes", {"log_of_switch: as exact"}},
      {"at the bound, and a little beyond it, both forms are right",
       {"log_of_neg_expm1: ge for gt", "log_of_difference: ge for gt", "log_of_expm1: a number one larger",
        "log_of_expm1: ge for gt", "log1p_of_tanh: a number one larger", "log1p_of_tanh: le for lt",
        "log1p_of_neg_tanh: a number one larger", "log1p_of_neg_tanh: ge for gt",
        "log1p_of_neg_sqr_tanh: a number one larger", "log1p_of_neg_sqr_tanh: le for lt"}},
      {"a number in the branch that is not taken",
       {"log_of_neg_expm1: a number one larger (2)", "log_of_neg_expm1: a number one larger (3)",
        "log_of_difference: a number one larger (2)", "log_of_difference: a number one larger (3)",
        "log_of_expm1: a number one larger (2)", "log_of_expm1: a number one larger (3)",
        "log1p_of_tanh: a number one larger (5)", "log1p_of_neg_tanh: a number one larger (5)",
        "log1p_of_neg_sqr_tanh: a number one larger (2)"}},
      {"any finite number serves instead of an infinite maximum", {"log_sum_exp: number 0"}},
  };
  return table;
}

// What the fast tests say of the rule instead of the one of its name; empty where they find nothing wrong.
std::string complaint_about(const RuleMutant& of) {
  const auto& [name, mutant, differed] = of;
  try {
    if (std::string broken = broken_rule(mutant); !broken.empty()) return broken;
    for (const RewriteRow& row : all_rewrites())
      if (row.rule == mutant.name)
        if (std::string broken = broken_row(row, &mutant); !broken.empty()) return broken;
    if (differed && !*differed) return {};
    for (const UnchangedRow& row : all_unchanged())
      if (row.rule == mutant.name || row.rule.empty())
        if (std::string broken = broken_row(row, &mutant); !broken.empty()) return broken;
  } catch (const Error& error) {  // the verifier's, or that of a type rule
    return error.what();
  }
  return {};
}

TEST(RuleMutants, AreCaught) {
  std::set<std::string> expected;
  for (const Survivors& row : survivors()) expected.insert(row.mutants.begin(), row.mutants.end());
  size_t made = 0, caught = 0;
  for (const Rule* rule : all_rules())
    for (const RuleMutant& mutant : mutants_of(*rule)) {
      const bool found = !complaint_about(mutant).empty();
      if (mutant.differed && !*mutant.differed) continue;
      ++made;
      caught += found;
      const bool survives = expected.erase(mutant.name) != 0;
      EXPECT_EQ(found, !survives) << mutant.name << (found ? " is caught, and listed" : " is not caught");
    }
  EXPECT_TRUE(expected.empty()) << "listed, but not made: " << join(expected, "; ");
  std::cout << "rules: " << made << " mutants, " << caught << " caught\n";
  EXPECT_GE(static_cast<double>(caught), kLeastCaught * static_cast<double>(made));
}

}  // namespace
}  // namespace thtrain
