// Every op's own cases on the target of scalar C99.
#include <gtest/gtest.h>

#include "tests/support/case_programs.h"

namespace thtrain::c99_cases_test {
namespace {

class C99Cases : public testing::TestWithParam<bool> {};

TEST_P(C99Cases, EveryOpEqualsItsReference) {
  for_each_case_program([](const CaseProgram& program) {
    Function f = program.compiled(kernel::c99_target(), GetParam());
    ASSERT_TRUE(f.is_native());
    program.expect_references(f, GetParam());
  });
}

INSTANTIATE_TEST_SUITE_P(Programs, C99Cases, testing::Bool(),
                         [](const auto& info) { return info.param ? "optimized" : "plain"; });

}  // namespace
}  // namespace thtrain::c99_cases_test
