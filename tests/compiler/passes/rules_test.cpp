// The tables of rules: names, levels, kinds.
#include "compiler/passes/rules.h"

#include <gtest/gtest.h>

#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

TEST(RuleTables, HaveOneRuleOfAName) {
  std::set<std::string> names;
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
    EXPECT_EQ(find_rule(rule->name), rule);
    EXPECT_EQ(!rule->from.has_value(), rule->rewrite != nullptr) << rule->name;
    EXPECT_TRUE(!rule->for_gradients || rule->safety == Safety::kFiniteMath) << rule->name;
  }
  EXPECT_EQ(find_rule("no_such_rule"), nullptr);
}

TEST(RuleAllowed, FollowsTheLevel) {
  const Rule &exact = *find_rule("neg_neg"), &reassociating = *find_rule("collect_terms"), &range = *find_rule("log1p"),
             &finite = *find_rule("sub_of_same"), &vanishing = *find_rule("mul_by_zero");
  struct Row {
    const Rule* rule;
    bool strict, standard, fast;
  };
  for (const Row& row :
       {Row{&exact, true, true, true}, Row{&reassociating, false, true, true}, Row{&range, false, true, true},
        Row{&finite, false, false, true}, Row{&vanishing, false, true, true}}) {
    EXPECT_EQ(rule_allowed(*row.rule, DType::kFloat32, Level::kStrict), row.strict) << row.rule->name;
    EXPECT_EQ(rule_allowed(*row.rule, DType::kFloat32, Level::kStandard), row.standard) << row.rule->name;
    EXPECT_EQ(rule_allowed(*row.rule, DType::kFloat32, Level::kFast), row.fast) << row.rule->name;
    EXPECT_TRUE(rule_allowed(*row.rule, DType::kInt32, Level::kStrict)) << row.rule->name;
  }
}

}  // namespace
}  // namespace thtrain
