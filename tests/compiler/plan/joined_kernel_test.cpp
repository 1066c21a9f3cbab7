// One kernel of several: whose blocks and threads do what, and under which names.
#include "compiler/plan/joined_kernel.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"

namespace thtrain::joined_kernel_test {
namespace {

TEST(JoinedKernel, HasTheBlocksOfItsPartsOneBehindTheOther) {
  const kernel::Target target = kernel::emulated_cuda_target();
  const Expr x = vector("x", {"n"}), y = vector("y", {40}), z = matrix("z", {3, 500});
  const CanonicalGraph canonical = canonical_lengths({{x, y, z}, {tanh(x), exp(y), sum(z, {1})}, {}});
  const Program program = plan(optimize(canonical.graph, {.target = target}), {}, {.target = target});
  std::vector<Step> steps;
  for_each_step(program.body, [&](const Step& step) {
    if (std::holds_alternative<kernel::KernelCall>(step.code)) steps.push_back(step);
  });
  ASSERT_EQ(steps.size(), 3U);
  const Step joined = joined_kernel(steps);
  EXPECT_EQ(joined.inputs, 3U);
  EXPECT_EQ(joined.outputs, 3U);
  const auto& call = std::get<kernel::KernelCall>(joined.code);
  EXPECT_EQ(call.blocks.text(), "floor_div(n + 511, 512) + 2");
  EXPECT_EQ(call.function->name, "tanh_and_2");
  EXPECT_EQ(call.function->threads, 256);
  kernel::verify(*call.function, target);
  kernel::Helpers helpers;
  const kernel::Dialect& dialect = kernel::dialect_of(target);
  const std::string text = kernel::print_function(*call.function, dialect, helpers).after_name;
  for (const char* expected : {"if (block < blocks_0) {", "const long p1_block = block - blocks_0;",
                               "if ((thread / 32L) < 2L) {", "if (block < blocks_1) {", "p1_out0[", "p2_out0["})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

}  // namespace
}  // namespace thtrain::joined_kernel_test
