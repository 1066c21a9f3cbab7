// Every op's own cases as CUDA kernels, which an emulated device runs on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/ops/op_text.h"
#include "compiler/ops/registry.h"
#include "tests/support/case_programs.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_under_test.h"

namespace thtrain::cuda_cases_test {
namespace {

constexpr const char* kOrder = "THTRAIN_EMULATED_ORDER";

class CudaCases : public testing::TestWithParam<bool> {};

// Blocks and threads in three orders. Without passes, the steps of the ops themselves are counted.
TEST_P(CudaCases, EveryOpEqualsItsReferenceInEveryOrder) {
  std::set<std::string> on_host;
  for_each_case_program([&](const CaseProgram& program) {
    Function f = program.compiled(device_under_test(), GetParam());
    ASSERT_TRUE(f.is_native());
    on_host.insert(f.info().reference_steps.begin(), f.info().reference_steps.end());
    program.expect_references(f, GetParam());
    const std::vector<Tensor> first = f(program.draws[0]);
    for (const char* order : {"1", "12345"}) {
      EnvironmentVariable other(kOrder, order);
      const std::vector<Tensor> again = f(program.draws[0]);
      for (size_t i = 0; i < again.size(); ++i)
        EXPECT_TRUE(same_bits(again[i], first[i])) << program.names[i].first << " in order " << order;
    }
  });
  if (GetParam()) return;
  // Draws whose words follow from the numbers before them, output, and copies of what lies on the host; of others some
  // cases: choices without replacement, integers between bounds of their own, powers of integers and complex numbers,
  // factorizations of matrices whose lengths a call decides.
  const std::set<std::string> alone{"eig",          "mt_beta",   "mt_binomial",
                                    "mt_chisquare", "mt_gamma",  "mt_multinomial",
                                    "mt_poisson",   "on_device", "print"};
  std::set<std::string> expected = alone;
  expected.insert({"eigh", "mt_choice", "mt_randint", "mt_random_integers", "pow", "qr", "svd"});
  std::set<std::string> said, said_alone;
  for (const Op* op : all_ops()) {
    const std::string text = device_text(*op, kernel::emulated_cuda_target());
    if (text.ends_with("host")) said.insert(op->name);
    if (text == "host") said_alone.insert(op->name);
  }
  EXPECT_EQ(said_alone, alone);
  EXPECT_EQ(on_host, said) << "what docs/ops.md says";
  const auto with_cases = std::ranges::count_if(all_ops(), [](const Op* op) { return static_cast<bool>(op->cases); });
  EXPECT_EQ(on_host, expected);
  EXPECT_EQ(with_cases, 188);
}

INSTANTIATE_TEST_SUITE_P(Programs, CudaCases, testing::Bool(),
                         [](const auto& info) { return info.param ? "optimized" : "plain"; });

}  // namespace
}  // namespace thtrain::cuda_cases_test
