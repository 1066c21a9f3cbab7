// Every rule of the tables, held to what its class of safety promises.
#include <gtest/gtest.h>

#include "tests/support/rule_promise.h"

namespace thtrain {
namespace {

class EveryRule : public ::testing::TestWithParam<const Rule*> {};

TEST_P(EveryRule, KeepsItsPromiseOnHardValues) {
  EXPECT_EQ(broken_on_hard_values(*GetParam()), "");
}

TEST_P(EveryRule, KeepsItsPromiseOnItsExamples) {
  EXPECT_EQ(broken_on_examples(*GetParam()), "");
}

TEST_P(EveryRule, RangeChangingAgreesWithAWiderType) {
  EXPECT_EQ(broken_against_wider_type(*GetParam()), "");
}

TEST_P(EveryRule, KeepsNaN) {
  EXPECT_EQ(broken_by_nan(*GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, ::testing::ValuesIn(all_rules()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace thtrain
