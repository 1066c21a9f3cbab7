// Products of sparse matrices by cuSPARSE in programs: against the definition, where they are chosen, and indices that
// are wrong.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/sparse/parts.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"

namespace thtrain::device_sparse_test {
namespace {

FunctionOptions by_cusparse() {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{"sparse_product", "cuSPARSE"}};
  return out;
}

bool calls(const Function& f, const std::string& function) {
  return called_libraries(f).starts_with(name_on_device(function));
}

Tensor numbers_of(DType dtype, Dims dims, int seed) {
  return numbers({.dtype = dtype, .dims = std::move(dims)}, static_cast<size_t>(seed));
}

// Rows of 2, 0, 3 and 1 elements in 5 columns, of which one row is not in order.
struct SparseProductOf {
  DType dtype, of_indices;
  Dims x;

  std::vector<Expr> leaves() const {
    return {tensor("data", {6}, dtype), tensor("indices", {6}, of_indices), tensor("indptr", {5}, of_indices),
            tensor("x", x, dtype)};
  }
  std::vector<Tensor> values() const {
    return {numbers_of(dtype, {6}, 1), Tensor::vector<int64_t>({4, 1, 0, 1, 3, 2}).cast(of_indices),
            Tensor::vector<int64_t>({0, 2, 2, 5, 6}).cast(of_indices), numbers_of(dtype, x, 2)};
  }
};

void expect_products(const SparseProductOf& of, const std::string& name) {
  const std::vector<Expr> in = of.leaves();
  const std::vector<In> inputs(in.begin(), in.end());
  const Expr y = csr_dot(in[0], in[1], in[2], in[3]);
  Function f = function(inputs, {y}, {}, by_cusparse());
  EXPECT_TRUE(calls(f, name)) << f.explain().device;
  const Tensor expected = function(inputs, {y}, {}, {.mode = Mode::kReference})(of.values())[0];
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(difference(f(of.values())[0], expected, 64).value_or(""), "") << name << dims_text(of.x);
}

TEST(DeviceSparse, ProductsAreTheirDefinition) {
  for (const DType of_indices : {DType::kInt32, DType::kInt64})
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const std::string name = std::string("cusparse_product_") + (dtype == DType::kFloat32 ? "f32" : "f64") +
                               (of_indices == DType::kInt32 ? "_i32" : "_i64");
      for (const Dims& x : {Dims{5}, Dims{5, 1}, Dims{5, 3}, Dims{5, 37}})
        expect_products({dtype, of_indices, x}, name);
    }
}

// A factor that the call decides, and what the product is added to, which is read again or not.
TEST(DeviceSparse, ProductsAreAddedToWhatIsThere) {
  const SparseProductOf of{DType::kFloat64, DType::kInt32, {5, 3}};
  std::vector<Expr> in = of.leaves();
  const Expr y = tensor("y", {4, 3}, DType::kFloat64), alpha = tensor("alpha", {}, DType::kFloat64);
  in.insert(in.end(), {y, alpha});
  const std::vector<In> inputs(in.begin(), in.end());
  for (const bool reads_again : {false, true}) {
    const Expr sum = tanh(y) + alpha * csr_dot(in[0], in[1], in[2], in[3]);
    const std::vector<Out> outputs = reads_again ? std::vector<Out>{sum, tanh(y) * 2.0} : std::vector<Out>{sum};
    Function f = function(inputs, outputs, {}, by_cusparse());
    EXPECT_TRUE(calls(f, "cusparse_product_f64_i32")) << f.explain().device;
    Function reference = function(inputs, outputs, {}, {.mode = Mode::kReference});
    for (const double factor : {-0.5, 2.0, 0.0}) {
      std::vector<Tensor> values = of.values();
      values.insert(values.end(), {numbers_of(DType::kFloat64, {4, 3}, 3), Tensor(factor)});
      const std::vector<Tensor> got = f(values), expected = reference(values);
      for (size_t k = 0; k < got.size(); ++k) EXPECT_FALSE(difference(got[k], expected[k], 64)) << factor;
    }
  }
}

// What cuSPARSE would read elsewhere is refused before: with the text of the definition, and nothing is written.
TEST(DeviceSparse, WrongPatternsAreRefusedBeforeTheCall) {
  const SparseProductOf of{DType::kFloat32, DType::kInt32, {5, 3}};
  const std::vector<Expr> in = of.leaves();
  const std::vector<In> inputs(in.begin(), in.end());
  const Shared w(Tensor::zeros(DType::kFloat32, {4, 3}), "w");
  const Expr next = w + csr_dot(in[0], in[1], in[2], in[3]);
  Function f = function(inputs, {}, {{w, next}}, by_cusparse());
  ASSERT_TRUE(calls(f, "cusparse_product_f32_i32")) << f.explain().device;
  EXPECT_NE(f.explain().cpp.find("if (!checks_held(ctx, "), std::string::npos);
  Function reference = function(inputs, {next}, {}, {.mode = Mode::kReference});
  const auto expect_refused = [&](const std::vector<Tensor>& values) {
    const auto text = [&](Function& of) { return without_call(text_without_node([&] { of(values); })); };
    EXPECT_EQ(text(f), text(reference));
    EXPECT_EQ(w.get_value().text(), Tensor::zeros(DType::kFloat32, {4, 3}).text());
  };
  std::vector<Tensor> far = of.values(), negative = of.values(), falling = of.values();
  far[1].data<int32_t>()[3] = 5;
  negative[1].data<int32_t>()[0] = -1;
  falling[2].data<int32_t>()[1] = 6;
  for (const std::vector<Tensor>& values : {far, negative, falling}) expect_refused(values);
  f(of.values());
  EXPECT_NE(w.get_value().text(), Tensor::zeros(DType::kFloat32, {4, 3}).text());
}

// Transposed products, of integers, of no elements, and of lengths that a call decides are kernels.
TEST(DeviceSparse, KernelsComputeWhatCuSparseDoesNot) {
  const auto expect_kernels = [](const std::vector<Expr>& in, const Expr& y) {
    const Function f = function(std::vector<In>(in.begin(), in.end()), {y}, {}, by_cusparse());
    EXPECT_EQ(called_libraries(f), "none") << f.explain().device;
  };
  const std::vector<Expr> t = SparseProductOf{DType::kFloat32, DType::kInt32, {4, 3}}.leaves();
  expect_kernels(t, csr_dot(t[0], t[1], t[2], t[3], {5}));
  const std::vector<Expr> i = SparseProductOf{DType::kInt64, DType::kInt32, {5, 3}}.leaves();
  expect_kernels(i, csr_dot(i[0], i[1], i[2], i[3]));
  const std::vector<Expr> n = SparseProductOf{DType::kFloat32, DType::kInt32, {5, "n"}}.leaves();
  expect_kernels(n, csr_dot(n[0], n[1], n[2], n[3]));
  const std::vector<Expr> o = SparseProductOf{DType::kFloat32, DType::kInt32, {5, 0}}.leaves();
  expect_kernels(o, csr_dot(o[0], o[1], o[2], o[3]));
}

// What follows a product is part of its kernel, but not of cuSPARSE's.
TEST(DeviceSparse, WhatFollowsIsAKernelOfItsOwn) {
  const SparseProductOf of{DType::kFloat32, DType::kInt32, {5, 3}};
  const std::vector<Expr> in = of.leaves();
  const std::vector<In> inputs(in.begin(), in.end());
  const Expr y = tanh(csr_dot(in[0], in[1], in[2], in[3]) + 0.5F);
  Function f = function(inputs, {y}, {}, by_cusparse());
  EXPECT_TRUE(calls(f, "cusparse_product_f32_i32")) << f.explain().device;
  EXPECT_FALSE(
      difference(f(of.values())[0], function(inputs, {y}, {}, {.mode = Mode::kReference})(of.values())[0], 64));
}

}  // namespace
}  // namespace thtrain::device_sparse_test
