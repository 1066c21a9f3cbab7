// Kernels of devices at lengths that the cases of ops do not have: products in several tiles, reductions in parts.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_results_test {
namespace {

void expect_right(const std::vector<Expr>& inputs, const Expr& result) {
  SCOPED_TRACE(result.type().text());
  std::vector<In> ins;
  std::vector<Tensor> values;
  for (const Expr& x : inputs) {
    ins.emplace_back(x);
    values.push_back(numbers(x.type().known_shape()).cast(x.dtype()));
  }
  expect_equal(ins, {result}, values, {.target = kernel::emulated_cuda_target()});
}

Expr of(DType dtype, const std::string& name, const Dims& dims) {
  return tensor(name, dims, dtype);
}

TEST(DeviceProducts, InTilesEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16}) {
    const Expr a = of(dtype, "a", {65, 150}), b = of(dtype, "b", {150, 130}), c = of(dtype, "c", {150, 65}),
               d = of(dtype, "d", {130, 150});
    expect_right({a, b}, dot(a, b));
    expect_right({c, d}, dot(transpose(c), transpose(d)));
    expect_right({a}, dot(a, transpose(a)));
  }
}

TEST(DeviceProducts, OfBatchesAndWithFactorsEqualTheReference) {
  const DType f32 = DType::kFloat32;
  const Expr a = of(f32, "a", {2, 3, 20, 17}), b = of(f32, "b", {2, 3, 17, 33}), c = of(f32, "c", {20, 33}),
             alpha = of(f32, "alpha", {}), beta = of(f32, "beta", {});
  expect_right({a, b}, matmul(a, b));
  expect_right({a, b}, matmul(transpose(a, {1, 0, 2, 3}), transpose(b, {1, 0, 2, 3})));
  const Expr left = of(f32, "left", {20, 65}), right = of(f32, "right", {65, 33});
  expect_right({c, alpha, left, right, beta}, apply(gemm_op(), {c, alpha, left, right, beta}));
}

TEST(DeviceProducts, WithVectorsAreReductions) {
  const Expr a = f64("a", {40, 70}), x = f64("x", {70}), y = f64("y", {40});
  expect_right({a, x}, dot(a, x));
  expect_right({y, a}, dot(y, a));
  expect_right({x}, dot(x, x));
}

TEST(DeviceTransposes, InSquaresEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kComplex64}) {
    const Expr a = of(dtype, "a", {3, 40, 65}), b = of(dtype, "b", {3, 65, 40}), c = of(dtype, "c", {65});
    expect_right({a, b, c}, (transpose(a, {0, 2, 1}) + b) * expand_dims(c, {1}));
    expect_right({a}, transpose(a, {2, 1, 0}) + make_constant(Tensor(1.0).cast(dtype)));
  }
}

TEST(DeviceReductions, InPartsEqualTheReference) {
  const Expr rows = of(DType::kFloat32, "rows", {3, 20'000}), columns = of(DType::kFloat32, "columns", {300, 33}),
             cube = of(DType::kInt32, "cube", {5, 400, 6});
  expect_right({rows}, mean(rows, {1}));
  expect_right({rows}, sqrt(sum(rows * rows)) + max(rows));
  expect_right({columns}, sum(columns, {0}) * 0.5);
  expect_right({cube}, sum(cube, {0, 1}));
  expect_right({cube}, prod(cube, {1}));
}

// The length is known in the call alone.
TEST(DeviceReductions, OfAnyLengthInPartsEqualTheReference) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64), y = tensor("y", {"n", 3}, DType::kFloat64);
  for (const int64_t n : {0, 1, 64, 65, 9000}) {
    expect_equal({x}, {sum(x)}, {numbers({n})}, {.target = kernel::emulated_cuda_target()});
    expect_equal({y}, {sum(y, {0})}, {numbers({n, 3})}, {.target = kernel::emulated_cuda_target()});
  }
  Function f = function({x}, {max(x)}, {}, {.target = kernel::emulated_cuda_target()});
  EXPECT_THROW(f({numbers({0})}), Error);
}

}  // namespace
}  // namespace thtrain::device_results_test
