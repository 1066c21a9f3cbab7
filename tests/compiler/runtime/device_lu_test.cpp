// LU factorizations by cuSOLVER in programs, of floats and complex numbers: against the definition, and what follows
// from them.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/factor/factor.h"
#include "tests/support/device_under_test.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"

namespace thtrain::device_lu_test {
namespace {

FunctionOptions by_cusolver() {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{"lu_factors", "cuSOLVER"}};
  return out;
}

Tensor values_of(const Type& type) {
  if (!is_complex(type.dtype)) return numbers(type, 1);
  const Type real{.dtype = DType::kFloat64, .dims = type.dims};
  const Tensor parts[] = {numbers(real, 1), numbers(real, 2)};
  Tensor out = Tensor::zeros(DType::kComplex128, type.known_shape());
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<std::complex<double>>()[i] = {parts[0].as_double(i), parts[1].as_double(i)};
  return out.cast(type.dtype);
}

TEST(DeviceLu, FactorsAreTheirDefinition) {
  const std::pair<DType, const char*> dtypes[] = {
      {DType::kFloat32, "f32"}, {DType::kFloat64, "f64"}, {DType::kComplex64, "c64"}, {DType::kComplex128, "c128"}};
  for (const auto& [dtype, ending] : dtypes)
    for (const Dims& dims : {Dims{9, 9}, Dims{2, 3, 10, 10}}) {
      const Type type{.dtype = dtype, .dims = dims};
      const Expr x = tensor("x", dims, dtype);
      const LuFactors f = lu(x);
      const std::vector<Out> outputs{f.packed, f.rows, f.sign};
      Function on_device = function({x}, outputs, {}, by_cusolver());
      EXPECT_EQ(called_libraries(on_device), name_on_device(std::string("cusolver_lu_") + ending));
      const Tensor value = values_of(type);
      const std::vector<Tensor> got = on_device({value}),
                                expected = function({x}, outputs, {}, {.mode = Mode::kReference})({value});
      EXPECT_EQ(difference(got[0], expected[0], 4096).value_or(""), "") << type.text();
      for (const size_t k : {1U, 2U}) EXPECT_FALSE(difference(got[k], expected[k], 0)) << type.text() << k;
    }
}

TEST(DeviceLu, EquationsAndDeterminantsFollow) {
  const Expr a = tensor("a", {9, 9}, DType::kFloat64), b = tensor("b", {9, 2}, DType::kFloat64);
  const std::vector<Out> outputs{solve(a, b), det(a)};
  Function on_device = function({a, b}, outputs, {}, by_cusolver());
  EXPECT_EQ(called_libraries(on_device), name_on_device("cusolver_lu_f64")) << "once, for both";
  const std::vector<Tensor> values{values_of(a.type()), values_of(b.type())};
  const std::vector<Tensor> got = on_device(values),
                            expected = function({a, b}, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(difference(got[k], expected[k], 1e5)) << k;
}

// As the definition: there are factors, with a 0 in the diagonal.
TEST(DeviceLu, ASingularMatrixHasFactors) {
  const Expr x = tensor("x", {9, 9}, DType::kFloat64);
  Tensor value = values_of(x.type());
  for (int64_t i = 0; i < 9; ++i) value.data<double>()[9 * i + 4] = 0;
  const LuFactors f = lu(x);
  const std::vector<Out> outputs{f.rows, det(x)};
  const std::vector<Tensor> got = function({x}, outputs, {}, by_cusolver())({value}),
                            expected = function({x}, outputs, {}, {.mode = Mode::kReference})({value});
  for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(difference(got[k], expected[k], 0)) << k;
}

// Of floats a kernel without measurements, of complex numbers cuSOLVER.
TEST(DeviceLu, WithoutMeasurementsComplexMatricesAreCuSolvers) {
  const auto called_for = [](DType dtype) {
    const Expr x = tensor("x", {9, 9}, dtype);
    return called_libraries(function({x}, {lu(x).packed}, {}, {.target = device_under_test(), .tune = Tune::kNever}));
  };
  EXPECT_EQ(called_for(DType::kFloat64), "none");
  EXPECT_EQ(called_for(DType::kComplex64), name_on_device("cusolver_lu_c64"));
}

}  // namespace
}  // namespace thtrain::device_lu_test
