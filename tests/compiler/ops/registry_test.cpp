// Every op keeps the contract: what tests, printers and `info` rely on without knowing the op.
#include "compiler/ops/registry.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace thtrain {
namespace {

bool is_leaf(const Op& op) {
  return &op == &input_op() || &op == &shared_op() || &op == &constant_op() || &op == &start_token_op();
}

TEST(Registry, FindsEveryOpByItsName) {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " is the name of two ops";
    EXPECT_EQ(find_op(op->name), op);
  }
  EXPECT_GT(names.size(), 60u);
  EXPECT_EQ(find_op("no such op"), nullptr);
}

TEST(Registry, EveryOpHasAFamily) {
  std::set<std::string_view> families;
  for (const Op* op : all_ops()) families.insert(family_of(*op));
  EXPECT_EQ(families.count(""), 0u);
  EXPECT_EQ(family_of(shared_op()), "leaf");
  EXPECT_EQ(family_of(*find_op("dot")), "linalg");
  EXPECT_EQ(family_of(*find_op("sum")), "reduce");
  EXPECT_EQ(family_of(*find_op("tanh")), "elemwise");
  // Made by passes: of the family whose folder they are in (tests/lint/check_lists.py compares all).
  EXPECT_EQ(family_of(*find_op("fused")), "elemwise");
  EXPECT_EQ(family_of(*find_op("fused_reduction")), "reduce");
  EXPECT_EQ(family_of(*find_op("specify_lengths")), "shape");
  EXPECT_EQ(family_of(Op{.name = "of a user", .doc = "f(x)"}), "");
}

TEST(Registry, NamesAreOneWord) {
  for (const Op* op : all_ops()) {
    EXPECT_FALSE(op->name.empty());
    for (char c : op->name) EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '_') << op->name;
  }
}

TEST(Registry, EveryOpHasItsRules) {
  for (const Op* op : all_ops()) {
    EXPECT_GE(op->doc.size(), 20u) << op->name << " is not explained";
    EXPECT_TRUE(op->infer) << op->name << " has no type rule";
    EXPECT_TRUE(op->reference) << op->name << " has no reference";
    EXPECT_TRUE(is_leaf(*op) || (op->cases && !op->cases().empty())) << op->name << " has no test cases";
  }
}

TEST(Registry, NativeCodeComesFromOneFunction) {
  for (const Op* op : all_ops()) {
    if (is_leaf(*op)) continue;
    // A view may have a lowering besides, for inputs that it cannot look at.
    int ways = (op->lower || view_rule(*op, 0)) + (op->lower_region != nullptr) + op->calls_reference +
               (op->scalar != nullptr);
    EXPECT_EQ(ways, 1) << op->name;
  }
}

TEST(Registry, CasesHaveNames) {
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    std::set<std::string> names;
    for (const OpCase& row : op->cases()) {
      EXPECT_TRUE(!row.name.empty() && names.insert(row.name).second) << op->name << ": " << row.name;
      EXPECT_TRUE(row.build) << op->name << ": " << row.name;
    }
  }
}

TEST(Registry, EffectsAreNotFolded) {
  for (const Op* op : all_ops()) EXPECT_FALSE(op->has_effect && op->foldable) << op->name;
}

}  // namespace
}  // namespace thtrain
