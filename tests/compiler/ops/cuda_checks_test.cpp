// Every op's own cases on an emulated device that checks each load and store, with an allocation for each buffer: what
// is silent has no race, stays within its buffers, and reads what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/case_programs.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_launches.h"

namespace thtrain::cuda_checks_test {
namespace {

class CudaCasesChecked : public testing::TestWithParam<bool> {};

// Cases of which every step is a kernel; the others have steps on the host, loops, or lengths that the data decides.
TEST_P(CudaCasesChecked, AreSilent) {
  if (!generated_flags().empty()) GTEST_SKIP() << "a sanitizer has the functions that tell of accesses";
  cuda::emulated::start({.checks = true});
  size_t all = 0, whole = 0;
  for_each_case_program([&](const CaseProgram& program) {
    std::vector<Expr> outputs;
    std::vector<double> bounds;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      ++all;
      if (!DeviceLaunches({program.variables, {program.outputs[i]}, {}}, GetParam()).is_whole()) continue;
      outputs.push_back(program.outputs[i]);
      bounds.push_back(GetParam() ? 16 + program.names[i].second : program.names[i].second);
    }
    whole += outputs.size();
    const DeviceLaunches launches({program.variables, outputs, {}}, GetParam());
    ASSERT_TRUE(launches.is_whole());
    const cuda::Device device(cuda::emulated::driver(), 0);
    const cuda::Module module(device, cuda::compile_cubin(cuda::emulated::nvrtc(), launches.text(), 75));
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < program.variables.size(); ++i) bound.emplace_back(program.variables[i], program.draws[0][i]);
    const std::vector<Tensor> expected = evaluate(outputs, bound);
    for (const char* order : {"0", "12345"}) {
      const EnvironmentVariable chosen("THTRAIN_EMULATED_ORDER", order);
      std::vector<Tensor> got;
      try {
        got = launches.run(device, module, program.draws[0]);
      } catch (const InternalError& error) {
        ADD_FAILURE() << error.what();
        break;  // the device is of no use any more
      }
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_FALSE(difference(got[i], expected[i], bounds[i])) << outputs[i].type().text() << " in order " << order;
    }
  });
  std::cout << whole << " of " << all << " outputs of cases are kernels alone\n";
  EXPECT_GT(whole, all * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Programs, CudaCasesChecked, testing::Bool(),
                         [](const auto& info) { return info.param ? "optimized" : "plain"; });

}  // namespace
}  // namespace thtrain::cuda_checks_test
