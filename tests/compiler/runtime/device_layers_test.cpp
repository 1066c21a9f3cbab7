// Products with biases and activations by cuBLASLt in programs: against the definition, and where it is taken.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/device_under_test.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"

namespace thtrain::device_layers_test {
namespace {

FunctionOptions by_cublaslt(const std::string& products = "loops", const std::string& layers = "cuBLASLt") {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{"layer_product", layers}, {"matrix_product", products}};
  return out;
}

using X = const std::vector<Expr>&;

TEST(DeviceLayers, AreTheirDefinition) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const auto of = [&](Dims dims) { return Type{.dtype = dtype, .dims = std::move(dims)}; };
    const std::vector<std::string> functions{dtype == DType::kFloat32 ? "cublaslt_layer_f32" : "cublaslt_layer_f64"};
    // Whatever computes the product alone.
    for (const char* products : {"loops", "cuBLAS"}) {
      const FunctionOptions options = by_cublaslt(products);
      expect_by_library(
          {of({7, 5}), of({5, 21}), of({21})}, [](X x) { return dot(x[0], x[1]) + x[2]; }, functions, options);
      expect_by_library(
          {of({7, 5}), of({5, 21}), of({21})}, [](X x) { return relu(dot(x[0], x[1]) + x[2]); }, functions, options);
      expect_by_library(
          {of({7, 5}), of({5, 21})}, [](X x) { return relu(dot(x[0], x[1])); }, functions, options);
      expect_by_library(
          {of({5, 7}), of({21, 5}), of({1, 21})}, [](X x) { return x[2] + dot(transpose(x[0]), transpose(x[1])); },
          functions, options);
    }
    // A bias whose numbers lie apart, and an operand of a larger matrix.
    expect_by_library(
        {of({9, 5}), of({5, 21}), of({21, 2})},
        [](X x) {
          return dot(x[0][Slice{.start = 1, .stop = 8}], x[1]) + x[2][{all(), 1}];
        },
        functions, by_cublaslt());
  }
}

TEST(DeviceLayers, OfBatchesHaveOneBias) {
  const auto of = [&](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  FunctionOptions options = by_cublaslt();
  options.candidates.push_back({"batched_product", "cuBLAS"});
  expect_by_library(
      {of({3, 7, 5}), of({3, 5, 37}), of({37})}, [](X x) { return relu(matmul(x[0], x[1]) + x[2]); },
      {"cublaslt_layer_f32"}, options);
}

// What follows is a kernel of its own, and what others read is not taken in.
TEST(DeviceLayers, EndWithTheBiasOrTheActivation) {
  const auto of = [&](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  expect_by_library(
      {of({7, 5}), of({5, 21}), of({21})}, [](X x) { return tanh(dot(x[0], x[1]) + x[2]); }, {"cublaslt_layer_f32"},
      by_cublaslt("cuBLAS"));
  expect_by_library(
      {of({7, 5}), of({5, 21}), of({21})},
      [](X x) {
        const Expr z = dot(x[0], x[1]) + x[2];
        return z * relu(z);
      },
      {"cublaslt_layer_f32"}, by_cublaslt("cuBLAS"));
  expect_by_library(
      {of({7, 5}), of({5, 21}), of({7, 21})}, [](X x) { return relu(dot(x[0], x[1]) * x[2]); }, {"cublas_gemm_f32"},
      by_cublaslt("cuBLAS"));
}

// A hidden layer of training: values, gradients and updates, with graphs. (Before a reduction the bias is the
// reduction's.)
TEST(DeviceLayers, Train) {
  const auto of = [&](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  const auto trained = [&](const FunctionOptions& options) {
    const Shared w(numbers(of({6, 33}), 1), "w"), b(numbers(of({33}), 2), "b");
    const Expr x = tensor("x", {8, 6}, DType::kFloat32), rate = tensor("rate", {}, DType::kFloat32);
    const Expr v = make_constant(numbers(of({33, 20}), 9)), loss = sum(sqr(dot(relu(dot(x, w) + b), v)));
    const std::vector<Expr> d = grad(loss, {w, b});
    Function step = function({x, rate}, {loss}, {{w, w - rate * d[0]}, {b, b - rate * d[1]}}, options);
    for (int i = 0; i < 4; ++i) step({numbers(of({8, 6}), i + 3), Tensor(0.1F / static_cast<float>(1 + i))});
    if (options.mode == Mode::kNative) {
      EXPECT_NE(called_libraries(step).find("cublaslt_layer_f32"), std::string::npos) << called_libraries(step);
    }
    return w.get_value();
  };
  EXPECT_EQ(difference(trained(by_cublaslt("cuBLAS")), trained({.mode = Mode::kReference}), 256).value_or(""), "");
}

// Its activation may lose a NaN: so it is taken by name alone, as TF32 is; with a bias alone it is worth a trial.
TEST(DeviceLayers, OfANaNIsKeptUnlessNamed) {
  const Expr x = tensor("x", {4, 3}, DType::kFloat32), w = tensor("w", {3, 5}, DType::kFloat32);
  Tensor bad = Tensor::zeros(DType::kFloat32, {4, 3});
  bad.data<float>()[4] = NAN;
  const std::vector<Tensor> values{bad, numbers(w.type(), 1)};
  const auto is_lost = [&](const FunctionOptions& options) {
    return !std::isnan(function({x, w}, {relu(dot(x, w))}, {}, options)(values)[0].as_double(5));
  };
  EXPECT_FALSE(is_lost({.target = device_under_test(), .tune = Tune::kNever}));
  if (device_under_test().is_emulated()) {
    EXPECT_TRUE(is_lost(by_cublaslt()));
  }
}

TEST(DeviceLayers, Tf32IsTakenByName) {
  const Expr x = tensor("x", {4, 30}, DType::kFloat32), w = tensor("w", {30, 5}, DType::kFloat32),
             b = tensor("b", {5}, DType::kFloat32);
  Function f = function({x, w, b}, {dot(x, w) + b}, {}, by_cublaslt("loops", "cuBLASLt TF32"));
  EXPECT_EQ(called_libraries(f), name_on_device("cublaslt_layer_tf32"));
  const std::vector<Tensor> values{numbers(x.type(), 1), numbers(w.type(), 2), numbers(b.type(), 3)};
  const Tensor exact = function({x, w, b}, {dot(x, w) + b}, {}, {.mode = Mode::kReference})(values)[0];
  EXPECT_TRUE(difference(f(values)[0], exact, 256)) << "ten bits behind the point";
  EXPECT_FALSE(difference(f(values)[0], exact, 256 << 13));
}

// Without measurements a product with what follows is a kernel of our own.
TEST(DeviceLayers, WithoutMeasurementsAreKernels) {
  const Expr x = tensor("x", {40, 30}, DType::kFloat32), w = tensor("w", {30, 50}, DType::kFloat32),
             b = tensor("b", {50}, DType::kFloat32);
  EXPECT_EQ(called_libraries(
                function({x, w, b}, {relu(dot(x, w) + b)}, {}, {.target = device_under_test(), .tune = Tune::kNever})),
            "none");
}

}  // namespace
}  // namespace thtrain::device_layers_test
