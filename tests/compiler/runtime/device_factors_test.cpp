// Factorizations by cuSOLVER and triangular equations by cuBLAS in programs, of floats and complex numbers: against the
// definition, what fixes signs and phases, and where there are none.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_factors_test {
namespace {

FunctionOptions by_libraries() {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{"matrix_factors", "cuSOLVER"}, {"triangular_equations", "cuBLAS"}};
  return out;
}

struct OfDtype {
  DType dtype;
  std::string ending;

  Type matrices(Dims dims) const { return {.dtype = dtype, .dims = std::move(dims)}; }
};
const std::vector<OfDtype>& dtypes() {
  static const std::vector<OfDtype> all{
      {DType::kFloat32, "_f32"}, {DType::kFloat64, "_f64"}, {DType::kComplex64, "_c64"}, {DType::kComplex128, "_c128"}};
  return all;
}

// Of complex numbers from real ones, which numbers() gives.
Expr made_complex(const Expr& x) {
  return is_complex(x.dtype()) ? cast(x * complex(1.0, 0.5) + complex(0.0, 0.25), x.dtype()) : x;
}

using X = const std::vector<Expr>&;

Expr conj_transpose(const Expr& x) {
  return is_complex(x.dtype()) ? conj(matrix_transpose(x)) : matrix_transpose(x);
}

TEST(DeviceFactors, AreTheirDefinition) {
  for (const OfDtype& of : dtypes()) {
    const auto cholesky_of = [](X x) {
      return cholesky(made_complex(x[0]) + 40.0 * eye(x[0].dims().back(), {}, 0, x[0].dtype()));
    };
    expect_by_library({of.matrices({11, 11})}, cholesky_of, {"cusolver_cholesky" + of.ending}, by_libraries());
    expect_by_library({of.matrices({2, 3, 9, 9})}, cholesky_of, {"cusolver_cholesky" + of.ending}, by_libraries());
    // What does not depend on vectors whose eigenvalues are close: x again.
    expect_by_library(
        {of.matrices({2, 10, 10})},
        [](X x) {
          const EigenPairs e = eigh(made_complex(x[0]));
          return matmul(e.vectors * cast(expand_dims(e.values, {-2}), x[0].dtype()), conj_transpose(e.vectors));
        },
        {"cusolver_eigh" + of.ending}, by_libraries());
    expect_by_library(
        {of.matrices({9, 9})}, [](X x) { return eigvalsh(made_complex(x[0])); }, {"cusolver_eigh" + of.ending},
        by_libraries());
    expect_by_library(
        {of.matrices({2, 12, 9})},
        [](X x) {
          const SingularValues f = svd(made_complex(x[0]));
          return matmul(f.u * cast(expand_dims(f.s, {-2}), x[0].dtype()), f.vh);
        },
        {"cusolver_svd" + of.ending}, by_libraries());
    expect_by_library(
        {of.matrices({10, 4})}, [](X x) { return svdvals(made_complex(x[0])); }, {"cusolver_svd" + of.ending},
        by_libraries());
  }
}

TEST(DeviceFactors, OfQrAreTheirDefinition) {
  for (const OfDtype& of : dtypes()) {
    const std::vector<std::string> functions{"cusolver_reflections" + of.ending, "cusolver_q" + of.ending};
    for (const Dims& dims : {Dims{9, 9}, Dims{2, 12, 3}, Dims{13, 1}, Dims{2, 2, 10, 9}})
      for (const bool of_q : {true, false})
        expect_by_library(
            {of.matrices(dims)},
            [of_q](X x) {
              const QrFactors f =
                  qr(made_complex(x[0]) + 4.0 * eye(x[0].dims()[x[0].rank() - 2], x[0].dims().back(), 0, x[0].dtype()));
              return of_q ? f.q : f.r;
            },
            functions, by_libraries());
  }
}

// A column of zeros has no sign, and vectors of any length one.
TEST(DeviceFactors, OfQrOfZeros) {
  const Expr x = tensor("x", {9, 9}, DType::kFloat64);
  const QrFactors f = qr(x);
  const std::vector<Out> outputs{f.q, f.r};
  const Tensor zeros = Tensor::zeros(DType::kFloat64, {9, 9});
  const std::vector<Tensor> got = function({x}, outputs, {}, by_libraries())({zeros}),
                            expected = function({x}, outputs, {}, {.mode = Mode::kReference})({zeros});
  for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(difference(got[k], expected[k], 0)) << k;
}

TEST(DeviceFactors, TrianglesAreTheirDefinition) {
  for (const OfDtype& of : dtypes())
    for (const bool lower : {true, false})
      for (const bool transposed : {true, false})
        for (const bool unit : {true, false}) {
          const auto solved = [=](X x) {
            const Expr a = made_complex(x[0]) + 20.0 * eye(x[0].dims().back(), {}, 0, x[0].dtype());
            return triangular_solve(unit ? x[0] * 0.1 : a, made_complex(x[1]), {lower, transposed, unit});
          };
          const std::vector<std::string> functions{"cublas_triangles" + of.ending};
          expect_by_library({of.matrices({9, 9}), of.matrices({9, 3})}, solved, functions, by_libraries());
          if (lower)
            expect_by_library({of.matrices({2, 9, 9}), of.matrices({2, 9, 1})}, solved, functions, by_libraries());
        }
}

TEST(DeviceFactors, EquationsFollow) {
  const Expr a = tensor("a", {9, 9}, DType::kComplex128), b = tensor("b", {9, 2}, DType::kComplex128),
             regular = made_complex(a) + 8.0 * eye(9, {}, 0, DType::kComplex128);
  const std::vector<Out> outputs{solve(regular, b)};
  Function on_device = function({a, b}, outputs, {}, {.target = device_under_test(), .tune = Tune::kNever});
  EXPECT_EQ(called_libraries(on_device),
            join(std::vector<std::string>{"cusolver_lu_c128", "cublas_triangles_c128", "cublas_triangles_c128"}, ", ",
                 name_on_device));
  EXPECT_NE(on_device.explain().device.find("// steps of the host: none\n"), std::string::npos);
  const std::vector<Tensor> values{numbers(a.type(), 1), numbers(b.type(), 2)};
  EXPECT_FALSE(
      difference(on_device(values)[0], function({a, b}, outputs, {}, {.mode = Mode::kReference})(values)[0], 1e4));
}

// Signs and phases are those of the leading elements, whatever cuSOLVER's are.
TEST(DeviceFactors, SignsOfVectorsAreThoseOfTheReference) {
  for (const DType dtype : {DType::kFloat64, DType::kComplex128}) {
    const Expr x = tensor("x", {9, 9}, dtype);
    const Tensor value = numbers(x.type(), 1);
    // The ops themselves: the builders of complex vectors fix phases again.
    const auto outputs_of_op = [&](const Op& op) {
      return outputs_of(apply(op, {made_complex(x)}, {{"vectors", true}}).node());
    };
    const std::vector<Expr> e = outputs_of_op(eigh_op()), s = outputs_of_op(svd_op());
    const std::vector<Out> outputs{e[1], s[0], s[2]};
    const std::vector<Tensor> got = function({x}, outputs, {}, by_libraries())({value}),
                              expected = function({x}, outputs, {}, {.mode = Mode::kReference})({value});
    for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(difference(got[k], expected[k], 1e6).value_or(""), "") << k;
  }
}

std::string text_of_call(const FunctionOptions& options, const std::vector<Expr>& x, const Expr& y,
                         const std::vector<Tensor>& values) {
  std::vector<In> inputs(x.begin(), x.end());
  Function f = function(inputs, {y}, {}, options);
  return without_call(text_without_node([&] { f(values); }));
}

TEST(DeviceFactors, AMatrixWithoutFactorsIsNamed) {
  const FunctionOptions reference{.mode = Mode::kReference};
  for (const DType dtype : {DType::kFloat64, DType::kComplex128}) {
    const Expr x = tensor("x", {2, 9, 9}, dtype);
    Tensor value = Tensor::zeros(DType::kFloat64, {2, 9, 9});
    for (int64_t i = 0; i < 18; ++i) value.data<double>()[i / 9 * 81 + i % 9 * 10] = i == 12 ? -1 : 2;
    const std::string text = text_of_call(by_libraries(), {x}, cholesky(x), {value.cast(dtype)});
    EXPECT_EQ(text, text_of_call(reference, {x}, cholesky(x), {value.cast(dtype)}));
    EXPECT_NE(text.find("pivot 4 is not"), std::string::npos);
    value.data<double>()[81 + 9 * 5 + 2] = NAN;
    for (const Expr& y : {eigvalsh(x), svdvals(x)})
      EXPECT_EQ(text_of_call(by_libraries(), {x}, y, {value.cast(dtype)}),
                text_of_call(reference, {x}, y, {value.cast(dtype)}));
  }
}

TEST(DeviceFactors, AZeroOnTheDiagonalIsNamed) {
  for (const DType dtype : {DType::kFloat32, DType::kComplex128}) {
    const Expr a = tensor("a", {2, 9, 9}, dtype), b = tensor("b", {2, 9, 3}, dtype);
    Tensor matrices = Tensor::zeros(DType::kFloat64, {2, 9, 9});
    for (int64_t i = 0; i < 18; ++i) matrices.data<double>()[i / 9 * 81 + i % 9 * 10] = i == 12 ? 0 : 2;
    const std::vector<Tensor> values{matrices.cast(dtype), numbers(b.type(), 1)};
    const std::string text = text_of_call(by_libraries(), {a, b}, triangular_solve(a, b), values);
    EXPECT_EQ(text, text_of_call({.mode = Mode::kReference}, {a, b}, triangular_solve(a, b), values));
    EXPECT_NE(text.find("found one in row 4"), std::string::npos) << text;
    // With `unit` the diagonal is not read.
    EXPECT_EQ(text_of_call(by_libraries(), {a, b}, triangular_solve(a, b, {.unit = true}), values), "no error");
  }
}

// Of lengths that a call decides the host has factors, and a kernel equations of floats.
TEST(DeviceFactors, WithoutKnownLengthsNoLibraryOfTheDeviceIsCalled) {
  const Expr x = tensor("x", {"n", "n"}, DType::kComplex64);
  const Expr y = triangular_solve(x + 9.0 * eye(x.dims().back(), {}, 0, x.dtype()), qr(x).q);
  Function f = function({x}, {y}, {}, by_libraries());
  EXPECT_EQ(called_libraries(f).find("cu"), std::string::npos) << called_libraries(f);
  for (const int64_t n : {1, 9}) {
    const Tensor value = numbers({.dtype = DType::kComplex64, .dims = {n, n}}, 1);
    EXPECT_FALSE(difference(f({value})[0], function({x}, {y}, {}, {.mode = Mode::kReference})({value})[0], 4096)) << n;
  }
}

}  // namespace
}  // namespace thtrain::device_factors_test
