// Functions whose kernels are CUDA C++, run by an emulated device: the entry's own forms, what is left to references,
// and the text.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/error_text.h"

namespace thtrain::cuda_test {
namespace {

FunctionOptions cuda() {
  return {.target = kernel::emulated_cuda_target()};
}

Expr f64(const std::string& name, const Dims& dims) {
  return tensor(name, dims, DType::kFloat64);
}

Tensor numbers(const Shape& shape, DType dtype = DType::kFloat64) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i * 7 % 19 - 9) / 8;
  return out.cast(dtype);
}

// On the emulated device and by the reference.
void expect_equal(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Tensor>& values,
                  FunctionOptions options = cuda()) {
  Function f = function(inputs, outputs, {}, options);
  EXPECT_TRUE(f.is_native());
  const std::vector<Tensor> got = f(values),
                            expected = function(inputs, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(difference(got[i], expected[i], 64)) << "output " << i;
}

TEST(Cuda, LoopsAndBranchesEqualTheReference) {
  const Expr x = f64("x", {"n", 3}), w = f64("w", {3, 3});
  const Expr start = make_constant(Tensor::zeros(DType::kFloat64, {3}));
  const auto [states, updates] = scan([](Expr row, Expr h, Expr w) { return tanh(dot(h, w) + row); },
                                      {.sequences = {x}, .outputs_info = {start}, .non_sequences = {w}});
  expect_equal({x, w},
               {states, if_else(
                            gt(sum(x), 0), [&] { return x * 2; }, [&] { return exp(x); })},
               {numbers({5, 3}), numbers({3, 3})});
}

// A thread, a warp and a block for a row; sums, extrema and where they are; no rows, and rows of nothing.
TEST(Cuda, RowsOfAllLengthsEqualTheReference) {
  for (const int64_t length : {1, 4, 5, 31, 32, 33, 255, 257, 1024, 1025, 20'000}) {
    const Expr x = f64("x", {"n", length}), m = f64("m", {"n", "m"});
    expect_equal({x, m},
                 {sum(x, {1}), max(x, {1}), argmax(x, {1}), argmin(m, {1}), softmax(m), sum(m), mean(m, {0}),
                  sum(x / sum(x * x, {1}, true), {1})},
                 {numbers({3, length}), numbers({3, length})});
  }
  const Expr m = tensor("m", {"n", "m"}, DType::kFloat32);
  for (const Shape& shape : {Shape{0, 7}, Shape{7, 0}, Shape{0, 0}})
    expect_equal({m}, {sum(m, {1}), sum(m, {0}), prod(m), m * 2.0}, {Tensor::zeros(DType::kFloat32, shape)});
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

TEST(Cuda, UpdatesAreWrittenInPlace) {
  Shared w(numbers({4, 3})), cuda_w(numbers({4, 3}));
  const Expr x = f64("x", {"n", 4});
  auto step = [&](Shared& of, FunctionOptions options) {
    const Expr error = dot(x, of.expr()) - 1.0;
    return function({x}, {mean(sqr(error))}, {{of, of.expr() - 0.1 * dot(transpose(x), error)}}, options);
  };
  Function native = step(w, {}), f = step(cuda_w, cuda());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(difference(f({numbers({5, 4})})[0], native({numbers({5, 4})})[0], 64));
  EXPECT_FALSE(difference(cuda_w.get_value(), w.get_value(), 64));
}

TEST(Cuda, LengthsMayFollowFromTheData) {
  const Expr x = f64("x", {"n"});
  const Expr found = nonzero(gt(x, 0))[0];
  expect_equal({x}, {found, take(x, found) * 2.0, concatenate({x, take(x, found)}, 0)}, {numbers({50})});
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
    expect_equal({x, y, at}, {scatter_add(x, at, y)}, {Tensor::zeros(dtype, {10, 3}), ones.cast(dtype), where});
  }
}

// Numbers are parameters where many kernels differ in nothing else.
TEST(Cuda, KernelsThatDifferInANumberAreOne) {
  const Expr x = f64("x", {"n", 40});
  std::vector<Out> outputs;
  for (int i = 0; i < 9; ++i) outputs.push_back(sum(exp(x + 0.1 * i), {1}));
  expect_equal({x}, outputs, {numbers({5, 40})});
}

TEST(Cuda, ErrorsAreThoseOfAProcessor) {
  const Expr x = f64("x", {"n"}), i = tensor("i", {"m"}, DType::kInt64);
  for (const Tensor& wrong : {Tensor::of(std::vector<int64_t>{0, 7}, {2}), Tensor::of(std::vector<int64_t>{-6}, {1})}) {
    auto text = [&](const FunctionOptions& options) {
      Function f = function({x, i}, {take(x, i)}, {}, options);
      return text_without_node([&] { f({numbers({5}), wrong}); });
    };
    EXPECT_EQ(text(cuda()), text({}));
    EXPECT_TRUE(text(cuda()).starts_with("error: "));
  }
}

TEST(Cuda, WhatHasNoLoopsIsComputedByTheReference) {
  const Expr m = f64("m", {3, 3});
  Function f = function({m}, {inverse(m + 9.0 * eye(3))}, {}, cuda());
  EXPECT_FALSE(
      difference(f({numbers({3, 3})})[0], function({m}, {inverse(m + 9.0 * eye(3))})({numbers({3, 3})})[0], 64));
  EXPECT_EQ(f.info().reference_steps, std::vector<std::string>{"inverse"});
}

TEST(Cuda, DebugModeAndTheProfileSeeEachStep) {
  const Expr x = f64("x", {"n", 3});
  FunctionOptions options = cuda();
  options.mode = Mode::kDebug;
  expect_equal({x}, {softmax(x), sum(dot(x, transpose(x)))}, {numbers({4, 3})}, options);
  Function f = function({x}, {sum(exp(x))}, {}, cuda());
  f.start_profile();
  f({numbers({4, 3})});
  EXPECT_EQ(f.profile().calls, 1);
}

// What NVRTC takes: no header, and nothing of the host.
TEST(Cuda, TheKernelsAreOfTheLanguageAlone) {
  const Expr x = tensor("x", {"n", 3000}, DType::kFloat32), w = tensor("w", {3000, 5}, DType::kFloat32);
  const Explanation explanation = function({x, w}, {softmax(tanh(dot(x, w))), argmax(x, {1})}, {}, cuda()).explain();
  for (const char* word : {"#include", "__builtin", "__attribute__", "ThContext", "ctx", "std::", "th_"})
    EXPECT_EQ(explanation.device.find(word), std::string::npos) << word;
  for (const char* word : {"extern \"C\" __global__ void k0_", "__syncthreads();", "__shared__ ", "__shfl_down_sync("})
    EXPECT_NE(explanation.device.find(word), std::string::npos) << word;
  EXPECT_NE(explanation.cpp.find(explanation.device), std::string::npos);
}

}  // namespace
}  // namespace thtrain::cuda_test
