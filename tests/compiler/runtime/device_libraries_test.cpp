// Programs on a device that call CUDA's libraries: candidates against the definition, in all dtypes and odd shapes,
// where they are chosen, and what a program around them keeps to.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/elemwise/parts.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_libraries_test {
namespace {

// All products by cuBLAS.
FunctionOptions by_cublas() {
  FunctionOptions out{.target = device_under_test()};
  for (const char* computation : {"matrix_product", "batched_product", "matrix_vector_product"})
    out.candidates.push_back({computation, "cuBLAS"});
  return out;
}

struct Case {
  std::vector<Type> inputs;
  Expr (*build)(const std::vector<Expr>&);
  std::string function;
};

void expect_by_library(const Case& c, const FunctionOptions& options) {
  thtrain::expect_by_library(c.inputs, c.build, {c.function}, options);
}

Type type_of(DType dtype, Dims dims) {
  return {.dtype = dtype, .dims = std::move(dims)};
}

using X = const std::vector<Expr>&;

TEST(DeviceLibraries, ProductsOfMatricesAreTheirDefinition) {
  const std::pair<DType, const char*> dtypes[] = {{DType::kFloat32, "cublas_gemm_f32"},
                                                  {DType::kFloat64, "cublas_gemm_f64"},
                                                  {DType::kComplex64, "cublas_gemm_c64"},
                                                  {DType::kComplex128, "cublas_gemm_c128"}};
  for (const auto& [dtype, name] : dtypes) {
    const auto of = [&](Dims dims) { return type_of(dtype, std::move(dims)); };
    expect_by_library({{of({3, 5}), of({5, 2})}, [](X x) { return dot(x[0], x[1]); }, name}, by_cublas());
    expect_by_library({{of({5, 3}), of({2, 5})}, [](X x) { return dot(transpose(x[0]), transpose(x[1])); }, name},
                      by_cublas());
    expect_by_library({{of({4, 2}), of({2, 7})}, [](X x) { return dot(x[0], x[1]); }, name}, by_cublas());
    expect_by_library(
        {{of({7, 9}), of({9, 4})}, [](X x) { return dot(x[0][Slice{.start = 0, .stop = 4}], x[1]); }, name},
        by_cublas());
  }
}

TEST(DeviceLibraries, ProductsOfBatchesAreTheirDefinition) {
  const std::pair<DType, const char*> dtypes[] = {{DType::kFloat32, "cublas_batched_gemm_f32"},
                                                  {DType::kFloat64, "cublas_batched_gemm_f64"},
                                                  {DType::kComplex64, "cublas_batched_gemm_c64"},
                                                  {DType::kComplex128, "cublas_batched_gemm_c128"}};
  for (const auto& [dtype, name] : dtypes) {
    const auto of = [&](Dims dims) { return type_of(dtype, std::move(dims)); };
    expect_by_library({{of({3, 2, 5}), of({3, 5, 4})}, [](X x) { return matmul(x[0], x[1]); }, name}, by_cublas());
    // Axes of the batch that lie apart: heads, which are transposed.
    expect_by_library({{of({2, 5, 3, 4}), of({2, 7, 3, 4})},
                       [](X x) {
                         return matmul(transpose(x[0], {0, 2, 1, 3}), transpose(x[1], {0, 2, 3, 1}));
                       },
                       name},
                      by_cublas());
    expect_by_library({{of({3, 4}), of({2, 4, 5})}, [](X x) { return matmul(x[0], x[1]); }, name}, by_cublas());
  }
}

TEST(DeviceLibraries, ProductsWithVectorsAreTheirDefinition) {
  const std::pair<DType, const char*> dtypes[] = {{DType::kFloat32, "cublas_gemv_f32"},
                                                  {DType::kFloat64, "cublas_gemv_f64"}};
  for (const auto& [dtype, name] : dtypes) {
    const auto of = [&](Dims dims) { return type_of(dtype, std::move(dims)); };
    FunctionOptions options = by_cublas();
    options.without = {"fuse_matvec_update"};
    expect_by_library({{of({3, 5}), of({5})}, [](X x) { return dot(x[0], x[1]); }, name}, options);
    expect_by_library({{of({5, 3}), of({5})}, [](X x) { return dot(transpose(x[0]), x[1]); }, name}, options);
    expect_by_library({{of({5}), of({5, 3})}, [](X x) { return dot(x[0], x[1]); }, name}, options);
    expect_by_library({{of({5}), of({5})}, [](X x) { return dot(x[0], x[1]); }, name}, options);
    expect_by_library({{of({4, 5}), of({5, 3})}, [](X x) { return dot(x[0], x[1][{all(), 1}]); }, name}, options);
  }
}

// Factors and what is added to, also factors that a call decides.
TEST(DeviceLibraries, ProductsAreAddedToWhatIsThere) {
  const auto f32 = [](Dims dims) { return type_of(DType::kFloat32, std::move(dims)); };
  expect_by_library(
      {{f32({3, 2}), f32({3, 5}), f32({5, 2})}, [](X x) { return x[0] - 0.5F * dot(x[1], x[2]); }, "cublas_gemm_f32"},
      by_cublas());
  expect_by_library({{f32({3, 2}), f32({3, 5}), f32({5, 2}), f32({}), f32({})},
                     [](X x) { return x[3] * x[0] + x[4] * dot(x[1], x[2]); },
                     "cublas_gemm_f32"},
                    by_cublas());
}

// A factor that a call decides, and that is 0, loses no NaN: cuBLAS alone would.
TEST(DeviceLibraries, AFactorOfZeroLosesNoNaN) {
  const Expr s = tensor("s", {}, DType::kFloat32), t = tensor("t", {}, DType::kFloat32),
             a = tensor("a", {2, 3}, DType::kFloat32), b = tensor("b", {3, 2}, DType::kFloat32),
             c = tensor("c", {2, 2}, DType::kFloat32);
  Function f = function({s, t, a, b, c}, {t * c + s * dot(a, b)}, {}, by_cublas());
  ASSERT_EQ(called_libraries(f), name_on_device("cublas_gemm_f32"));
  Tensor left = Tensor::zeros(DType::kFloat32, {2, 3}), right = Tensor::zeros(DType::kFloat32, {3, 2}),
         added = Tensor::zeros(DType::kFloat32, {2, 2});
  left.data<float>()[1] = NAN;
  added.data<float>()[3] = INFINITY;
  const Tensor got = f({Tensor(0.0F), Tensor(0.0F), left, right, added})[0];
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(std::isnan(got.as_double(i)), i != 2) << i;
}

// The product of a step of training is added into the variable's own buffer: nothing of its size is stored besides.
TEST(DeviceLibraries, AnUpdateIsWrittenIntoTheVariable) {
  const Shared w(numbers(type_of(DType::kFloat32, {30, 20}), 1), "w");
  const Expr x = tensor("x", {4, 30}, DType::kFloat32), d = tensor("d", {4, 20}, DType::kFloat32),
             rate = tensor("rate", {}, DType::kFloat32);
  const Tensor before = w.get_value(), of_x = numbers(type_of(DType::kFloat32, {4, 30}), 2),
               of_d = numbers(type_of(DType::kFloat32, {4, 20}), 3);
  const Expr next = w - rate * dot(transpose(x), d);
  Function step = function({x, d, rate}, {}, {{w, next}}, by_cublas());
  ASSERT_EQ(called_libraries(step), name_on_device("cublas_gemm_f32"));
  const auto arena = step.info().arena_bytes;
  EXPECT_LT(arena, 30 * 20 * 4) << "no temporary holds the product";
  const Shared again(before, "w");
  Function reference =
      function({x, d, rate}, {}, {{again, again - rate * dot(transpose(x), d)}}, {.mode = Mode::kReference});
  for (Function* f : {&step, &reference}) (*f)({of_x, of_d, Tensor(0.1F)});
  EXPECT_FALSE(difference(w.get_value(), again.get_value(), 64));
}

// No library writes a variable while a check of a kernel before it is not read.
TEST(DeviceLibraries, AFailedCheckIsReadBeforeALibraryWritesAVariable) {
  const Shared w(Tensor::zeros(DType::kFloat32, {3, 2}), "w");
  const Expr x = tensor("x", {9, 3}, DType::kFloat32), d = tensor("d", {4, 2}, DType::kFloat32),
             at = tensor("at", {4}, DType::kInt64);
  Function step = function({x, d, at}, {}, {{w, w + dot(transpose(take(x, at, 0)), d)}}, by_cublas());
  ASSERT_EQ(called_libraries(step), name_on_device("cublas_gemm_f32"));
  EXPECT_NE(step.explain().cpp.find("if (!checks_held(ctx, "), std::string::npos);
  const Tensor of_x = numbers(type_of(DType::kFloat32, {9, 3}), 1), of_d = numbers(type_of(DType::kFloat32, {4, 2}), 2);
  EXPECT_EQ(without_call(text_without_node([&] {
              step({of_x, of_d, Tensor::vector({int64_t{0}, int64_t{1}, int64_t{9}, int64_t{2}})});
            })),
            "error: take: the index 9 is outside axis 0\n  expected: -9 <= index < 9");
  EXPECT_EQ(w.get_value().text(), Tensor::zeros(DType::kFloat32, {3, 2}).text());
  step({of_x, of_d, Tensor::vector({int64_t{0}, int64_t{1}, int64_t{8}, int64_t{2}})});
  EXPECT_NE(w.get_value().text(), Tensor::zeros(DType::kFloat32, {3, 2}).text());
}

// Calls of libraries are nodes of a graph, which is made at the second call: of the first one nothing may be captured.
TEST(DeviceLibraries, CallsAreNodesOfAGraph) {
  const Expr x = tensor("x", {3, 3}, DType::kFloat64), y = tanh(dot(x, x)) + 1.0, z = fft(rfft(dot(y, x)));
  Function f = function({x}, {real(z), imag(z)}, {}, by_cublas());
  const std::string text = f.explain().device, name = name_on_device("cublas_gemm_f64"), fft = name_on_device("cufft");
  EXPECT_NE(text.find(str("calls of libraries: ", name, ", ", name, ", ", fft, "_f64, ", fft, "_f64\n")),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", 4 calls of libraries, 3 copies), up to the end of the call"), std::string::npos) << text;
  EXPECT_NE(f.explain().program.find("4 calls of libraries"), std::string::npos) << f.explain().program;
  const std::vector<Out> outputs{real(z), imag(z)};
  Function reference = function({x}, outputs, {}, {.mode = Mode::kReference});
  for (int i = 0; i < 4; ++i) {
    const Tensor value = numbers(type_of(DType::kFloat64, {3, 3}), i / 2 + 1);
    const std::vector<Tensor> got = f({value}), expected = reference({value});
    for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(difference(got[k], expected[k], 64)) << i;
  }
  const std::vector<GraphInfo> graphs = f.info().graphs;
  ASSERT_EQ(graphs.size(), 1U);
  EXPECT_EQ(graphs[0].builds, 1);
  EXPECT_EQ(graphs[0].launches, 3);
}

// Factors change from call to call, and stand outside of what is captured: with graphs the same bits as without.
TEST(DeviceLibraries, NoLearningRateFreezes) {
  const auto trained = [](bool with_graphs) {
    const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", with_graphs ? nullptr : "0");
    const Shared w(numbers(type_of(DType::kFloat32, {6, 5}), 1), "w");
    const Expr x = tensor("x", {4, 6}, DType::kFloat32), rate = tensor("rate", {}, DType::kFloat32),
               d = tanh(dot(x, w));
    Function step = function({x, rate}, {}, {{w, w - rate * dot(transpose(x), d)}}, by_cublas());
    for (int i = 0; i < 6; ++i)
      step({numbers(type_of(DType::kFloat32, {4, 6}), i + 2), Tensor(0.1F / static_cast<float>(1 + i))});
    if (with_graphs) {
      EXPECT_EQ(step.info().graphs[0].builds, 1);
    }
    return w.get_value();
  };
  EXPECT_TRUE(same_bits(trained(true), trained(false)));
}

// cuSOLVER does not say that it may be captured.
TEST(DeviceLibraries, ACallOfCuSolverEndsAGraph) {
  const Expr x = tensor("x", {9, 9}, DType::kFloat64);
  const Function f = function({x}, {eigvalsh(tanh(x)) * 2.0}, {}, by_cublas());
  EXPECT_NE(f.explain().device.find(str("up to ", name_on_device("cusolver_eigh_f64"))), std::string::npos)
      << f.explain().device;
}

// A step that calls libraries is left like others, but where a library writes a variable that a check is about.
TEST(DeviceLibraries, AStepThatCallsThemIsLeft) {
  const Shared w(Tensor::zeros(DType::kFloat32, {3, 2}), "w");
  const Expr x = tensor("x", {9, 3}, DType::kFloat32), d = tensor("d", {9, 2}, DType::kFloat32);
  Function step = function({x, d}, {}, {{w, w + dot(transpose(x), d)}}, by_cublas());
  EXPECT_NE(step.explain().device.find("for which nobody waits"), std::string::npos) << step.explain().device;
  const Tensor of_x = numbers(type_of(DType::kFloat32, {9, 3}), 1), of_d = numbers(type_of(DType::kFloat32, {9, 2}), 2);
  for (int i = 0; i < 3; ++i) step({of_x, of_d});
  const Shared again(Tensor::zeros(DType::kFloat32, {3, 2}), "w");
  Function reference = function({x, d}, {}, {{again, again + dot(transpose(x), d)}}, {.mode = Mode::kReference});
  for (int i = 0; i < 3; ++i) reference({of_x, of_d});
  EXPECT_FALSE(difference(w.get_value(), again.get_value(), 64));
}

TEST(DeviceLibraries, LoopsCallThemInEachIteration) {
  const Expr w = tensor("w", {3, 3}, DType::kFloat64), h = tensor("h", {2, 3}, DType::kFloat64);
  const auto [states, updates] =
      scan([&](Expr state) { return tanh(dot(state, w)); }, {.outputs_info = {h}, .n_steps = 5});
  const Expr last = states[-1];
  Function f = function({w, h}, {last}, {}, by_cublas());
  EXPECT_NE(called_libraries(f), "none");
  const std::vector<Tensor> values{numbers(type_of(DType::kFloat64, {3, 3}), 1),
                                   numbers(type_of(DType::kFloat64, {2, 3}), 2)};
  const Tensor expected = function({w, h}, {last}, {}, {.mode = Mode::kReference})(values)[0];
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(difference(f(values)[0], expected, 64));
}

// ---- choices

// Without measurements products are kernels of our own: their bits are those of every card.
TEST(DeviceLibraries, WithoutMeasurementsProductsAreKernels) {
  const Expr a = tensor("a", {64, 64}, DType::kFloat32);
  EXPECT_EQ(called_libraries(function({a}, {dot(a, a)}, {}, {.target = device_under_test(), .tune = Tune::kNever})),
            "none");
}

TEST(DeviceLibraries, Tf32IsTakenByNameAlone) {
  const Expr a = tensor("a", {8, 8}, DType::kFloat32);
  FunctionOptions options{.target = device_under_test()};
  options.candidates = {{"matrix_product", "cuBLAS TF32"}};
  Function f = function({a}, {dot(a, a)}, {}, options);
  EXPECT_EQ(called_libraries(f), name_on_device("cublas_gemm_tf32"));
  const Tensor value = numbers(type_of(DType::kFloat32, {8, 8}), 1);
  const Tensor exact = function({a}, {dot(a, a)}, {}, {.mode = Mode::kReference})({value})[0];
  EXPECT_TRUE(difference(f({value})[0], exact, 64)) << "ten bits behind the point";
  EXPECT_FALSE(difference(f({value})[0], exact, 64 << 13));
}

// ---- transforms of Fourier

Function transform(const Expr& x, const Expr& y) {
  return function({x}, {y}, {}, {.target = device_under_test()});
}

TEST(DeviceLibraries, TransformsAreTheirDefinition) {
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const bool is_64 = dtype == DType::kComplex128;
    const std::string name = is_64 ? "cufft_f64" : "cufft_f32";
    const DType real = real_dtype(dtype);
    const auto of = [&](Dims dims) { return type_of(dtype, std::move(dims)); };
    const auto of_real = [&](Dims dims) { return type_of(real, std::move(dims)); };
    const FunctionOptions options{.target = device_under_test()};
    expect_by_library({{of({12})}, [](X x) { return fft(x[0]); }, name}, options);
    expect_by_library({{of({3, 8})}, [](X x) { return ifft(x[0]); }, name}, options);
    expect_by_library({{of({5, 3})}, [](X x) { return fft(x[0], {}, 0, FftNorm::kOrtho); }, name}, options);
    expect_by_library({{of({2, 7, 9})}, [](X x) { return ifft(x[0], {}, 1); }, name}, options);
    expect_by_library({{of({2, 3, 4, 2})}, [](X x) { return fftn(x[0], {1, 2, 3}); }, name}, options);
    expect_by_library({{of({2, 3, 1})}, [](X x) { return fftn(x[0], {1, 2}); }, name}, options);
    expect_by_library({{of_real({3, 8})}, [](X x) { return rfft(x[0]); }, name}, options);
    expect_by_library({{of_real({2, 9})}, [](X x) { return rfft(x[0], {}, -1, FftNorm::kForward); }, name}, options);
    expect_by_library({{of_real({2, 4, 6})}, [](X x) { return rfft2(x[0]); }, name}, options);
    expect_by_library({{of({3, 5})}, [](X x) { return irfft(x[0]); }, name}, options);
    expect_by_library({{of({2, 5})}, [](X x) { return irfft(x[0], 9, -1, FftNorm::kOrtho); }, name}, options);
    expect_by_library({{of({1})}, [](X x) { return irfft(x[0], 1); }, name}, options);
  }
}

TEST(DeviceLibraries, NoTransformsAreNothing) {
  const Expr x = tensor("x", {0, 4}, DType::kComplex64);
  EXPECT_EQ(transform(x, fft(x))({Tensor::zeros(DType::kComplex64, {0, 4})})[0].shape(), (Shape{0, 4}));
}

// cuFFT overwrites what it transforms back, which is read again here.
TEST(DeviceLibraries, WhatIsTransformedBackStays) {
  const Expr x = tensor("x", {2, 5}, DType::kComplex128), y = irfft(x), z = real(x) * 2.0;
  Function f = function({x}, {y, z}, {}, {.target = device_under_test()});
  const Tensor value = numbers(type_of(DType::kComplex128, {2, 5}), 1);
  const std::vector<Tensor> got = f({value}), expected = function({x}, {y, z}, {}, {.mode = Mode::kReference})({value});
  for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(difference(got[k], expected[k], 64)) << k;
}

TEST(DeviceLibraries, ACallMayDecideTheCountOfTransforms) {
  const Expr x = tensor("x", {"n", 6}, DType::kComplex64), y = irfft(x);
  Function f = transform(x, y);
  EXPECT_EQ(called_libraries(f), name_on_device("cufft_f32"));
  for (const int64_t n : {3, 0, 5}) {
    const Tensor value = numbers(type_of(DType::kComplex64, {n, 6}), 1);
    EXPECT_FALSE(difference(f({value})[0], function({x}, {y}, {}, {.mode = Mode::kReference})({value})[0], 64)) << n;
  }
}

// Of a length that the call decides, and where they are taken by name.
TEST(DeviceLibraries, KernelsTransformWhatCuFftDoesNot) {
  const Expr any = tensor("x", {2, "n"}, DType::kComplex64), x = tensor("x", {2, 8}, DType::kComplex64);
  FunctionOptions by_name{.target = device_under_test()};
  by_name.candidates = {{"fourier_transform", "lines"}};
  const auto expect_kernels = [](const Function& f) {
    EXPECT_EQ(called_libraries(f), "none");
    EXPECT_NE(f.explain().device.find("// steps of the host: none\n"), std::string::npos);
  };
  expect_kernels(transform(any, fft(any)));
  expect_kernels(function({x}, {fft(x)}, {}, by_name));
}

}  // namespace
}  // namespace thtrain::device_libraries_test
