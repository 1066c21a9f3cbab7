// Functions whose kernels are CUDA C++, run by an emulated device: rows, scatters, and the text.
#include <gtest/gtest.h>

#include <regex>

#include "compiler/api.h"
#include "compiler/cuda/libraries.h"
#include "compiler/runtime/occupancy.h"
#include "tests/support/device_under_test.h"
#include "tests/support/target_calls.h"

namespace thtrain::cuda_test {
namespace {

FunctionOptions cuda() {
  return {.target = device_under_test()};
}

// A thread, a warp and a block for a row; sums, extrema and where they are; no rows, and rows of nothing.
TEST(Cuda, RowsOfAllLengthsEqualTheReference) {
  for (const int64_t length : {1, 4, 5, 31, 32, 33, 255, 257, 1024, 1025, 20'000}) {
    const Expr x = f64("x", {"n", length}), m = f64("m", {"n", "m"});
    expect_equal({x, m},
                 {sum(x, {1}), max(x, {1}), argmax(x, {1}), argmin(m, {1}), softmax(m), sum(m), mean(m, {0}),
                  sum(x / sum(x * x, {1}, true), {1})},
                 {numbers({3, length}), numbers({3, length})}, cuda());
  }
  const Expr m = tensor("m", {"n", "m"}, DType::kFloat32);
  for (const Shape& shape : {Shape{0, 7}, Shape{7, 0}, Shape{0, 0}})
    expect_equal({m}, {sum(m, {1}), sum(m, {0}), prod(m), m * 2.0}, {Tensor::zeros(DType::kFloat32, shape)}, cuda());
}

// One float32 accumulator would be off by thousands.
TEST(Cuda, LongSumsAreAccurate) {
  const int64_t length = 3'000'000;
  Tensor x = Tensor::empty(DType::kFloat32, {length});
  for (int64_t i = 0; i < length; ++i) x.data<float>()[i] = 0.1F;
  const Expr v = tensor("x", {"n"}, DType::kFloat32);
  const Tensor got = function({v}, {sum(v)}, {}, cuda())({x})[0];
  EXPECT_NEAR(got.data<float>()[0], 0.1F * static_cast<double>(length), 0.5);
}

// Integers that are added to the elements which others name, in any order; floats one index after the other.
TEST(Cuda, ScattersAddEachElement) {
  for (const DType dtype : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt32, DType::kFloat32}) {
    const Expr x = tensor("x", {10, 3}, dtype), y = tensor("y", {"m", 3}, dtype),
               at = tensor("at", {"m"}, DType::kInt64);
    Tensor where = Tensor::empty(DType::kInt64, {700});
    for (int64_t i = 0; i < where.size(); ++i) where.data<int64_t>()[i] = i * i % 10;
    Tensor ones = Tensor::empty(DType::kFloat64, {700, 3});
    for (int64_t i = 0; i < ones.size(); ++i) ones.data<double>()[i] = static_cast<double>(i % 7);
    expect_equal({x, y, at}, {scatter_add(x, at, y)}, {Tensor::zeros(dtype, {10, 3}), ones.cast(dtype), where}, cuda());
  }
}

// Numbers are parameters where many kernels differ in nothing else.
TEST(Cuda, KernelsThatDifferInANumberAreOne) {
  const Expr x = f64("x", {"n", 40});
  std::vector<Out> outputs;
  for (int i = 0; i < 9; ++i) outputs.push_back(sum(exp(x + 0.1 * i), {1}));
  expect_equal({x}, outputs, {numbers({5, 40})}, cuda());
}

// What NVRTC takes: no header, and nothing of the host.
TEST(Cuda, TheKernelsAreOfTheLanguageAlone) {
  const Expr x = tensor("x", {"n", 3000}, DType::kFloat32), w = tensor("w", {3000, 5}, DType::kFloat32);
  const Explanation explanation = function({x, w}, {softmax(tanh(dot(x, w))), argmax(x, {1})}, {}, cuda()).explain();
  for (const char* word : {"#include", "__builtin", "__attribute__", "ThContext", "ctx", "std::", "th_"})
    EXPECT_EQ(explanation.device.find(word), std::string::npos) << word;
  for (const char* word : {"extern \"C\" __global__ void k0_", "__syncthreads();", "__shared__ ", "__shfl_down_sync("})
    EXPECT_NE(explanation.device.find(word), std::string::npos) << word;
  const std::string kernels = explanation.device.substr(explanation.device.find("\n\n") + 2);
  EXPECT_NE(explanation.cpp.find(kernels), std::string::npos);
}

TEST(Cuda, OccupancyIsToldOfEachKernel) {
  const Expr x = tensor("x", {1000}, DType::kFloat32);
  EXPECT_EQ(occupancy_text(function({x}, {x * 2.0F}).explain()), "");
  const std::string text = occupancy_text(function({x}, {x * 2.0F}, {}, cuda()).explain());
  const std::regex expected(cuda::nvrtc().trouble.empty()
                                ? "// kernels for sm_90 by NVRTC [0-9.]+:\n//   k0_mul: 256 threads, [0-9]+ registers, "
                                  "0 shared bytes, 0 local "
                                  "bytes; 8 blocks of a multiprocessor, 100 % of its threads\n"
                                : "// registers and occupancy: not known, NVRTC is not installed\n");
  EXPECT_TRUE(std::regex_match(text, expected)) << text;
}

}  // namespace
}  // namespace thtrain::cuda_test
