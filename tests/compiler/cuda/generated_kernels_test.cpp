// Generated kernels on device memory: compiled by the emulated NVRTC, launched by the driver with what their entry
// says.
#include <gtest/gtest.h>

#include <regex>

#include "compiler/api.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/compile.h"
#include "tests/support/target_calls.h"

namespace thtrain::generated_kernels_test {
namespace {

/// Blocks and threads of the launch that an entry has.
std::pair<unsigned, unsigned> grid_of(const SourceText& source) {
  std::smatch found;
  const std::regex launch("launch\\(ctx, 0 /\\* " + source.kernels[0].name + " \\*/, \\{[^}]*\\}, (\\d+)L?, (\\d+)L?,");
  if (!std::regex_search(source.entry, found, launch)) return {0, 0};
  return {static_cast<unsigned>(std::stoul(found[1])), static_cast<unsigned>(std::stoul(found[2]))};
}

// A function of one kernel, whose lengths are known: in0 -> out0.
void expect_equals_reference(const Expr& x, const Expr& y, const Tensor& value) {
  SCOPED_TRACE(y.type().text());
  const PreparedProgram prepared =
      prepare(canonical_lengths({{x}, {y}, {}}), {.target = kernel::emulated_cuda_target(), .use_cache = false});
  const SourceText& source = prepared.program->image.source;
  ASSERT_EQ(source.kernels.size(), 1U);
  const auto [blocks, threads] = grid_of(source);
  ASSERT_GT(blocks, 0U) << source.entry;

  cuda::emulated::start({});
  const cuda::Device device(cuda::emulated::driver(), 0);
  const cuda::Module module(
      device, cuda::compile_cubin(cuda::emulated::nvrtc(), device_text(source), device.compute_capability()));
  Tensor result = Tensor::empty(y.dtype(), value.shape());
  const size_t bytes = static_cast<size_t>(value.size()) * sizeof(double);
  const cuda::DeviceBuffer in(device, bytes), out(device, bytes);
  cuda::Stream stream(device);
  stream.copy_in(in.address(), value.data<double>(), bytes);
  stream.launch(module.kernel(source.kernels[0].name.c_str()), blocks, threads, in.address(), out.address());
  stream.copy_out(result.data<double>(), out.address(), bytes);
  stream.wait();
  EXPECT_FALSE(difference(result, evaluate({y}, {{x, value}})[0], 16));
}

TEST(GeneratedKernels, ComputeOnDeviceMemory) {
  const Expr elements = f64("x", {1000}), rows = f64("x", {5, 40}), long_rows = f64("x", {2, 2000});
  expect_equals_reference(elements, tanh(elements * 2.0) + 1.0, numbers({1000}));
  expect_equals_reference(rows, softmax(rows), numbers({5, 40}));
  expect_equals_reference(long_rows, softmax(long_rows), numbers({2, 2000}));
}

}  // namespace
}  // namespace thtrain::generated_kernels_test
