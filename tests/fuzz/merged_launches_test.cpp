// Random programs: kernels of a device that are launched together give the bits that they give apart.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/fuzz/random_program.h"
#include "tests/support/datasets_support.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain::merged_launches_fuzz {
namespace {

std::vector<Tensor> results_of(const ProgramPlan& plan, const char* graphs) {
  const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", graphs);
  const BuiltProgram built = build(plan);
  Function f = function(built.inputs, built.outputs, built.updates,
                        {.target = kernel::emulated_cuda_target(), .unused_inputs = UnusedInputs::kAllowed});
  std::vector<Tensor> out;
  for (const std::vector<Tensor>& inputs : plan.calls) {
    try {
      for (Tensor& value : f(inputs)) out.push_back(std::move(value));
    } catch (const UserError&) {  // a random length or index does not fit
      out.emplace_back(false);
    }
  }
  for (const Shared& variable : built.shared) out.push_back(variable.get_value());
  return out;
}

TEST(RandomMergedLaunches, HaveTheBitsOfSeparateOnes) {
  const FuzzSettings settings = fuzz_settings(1, 20);
  for (uint64_t seed = settings.seed; seed < settings.seed + static_cast<uint64_t>(settings.cases); ++seed) {
    const ProgramPlan plan = random_plan(seed);
    const std::vector<Tensor> merged = results_of(plan, "1"), apart = results_of(plan, "0");
    ASSERT_EQ(merged.size(), apart.size());
    for (size_t i = 0; i < merged.size(); ++i)
      EXPECT_TRUE(same_bits(merged[i], apart[i])) << "seed " << seed << ", value " << i << "\n" << as_cpp(plan);
  }
}

}  // namespace
}  // namespace thtrain::merged_launches_fuzz
