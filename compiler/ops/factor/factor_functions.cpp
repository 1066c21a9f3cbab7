#include "compiler/ops/factor/factor_functions.h"

#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

using kernel::LibraryFunction;

std::string factor_function_name(const std::string& name, DType dtype) {
  const char* const suffix = dtype == DType::kFloat32     ? "f32"
                             : dtype == DType::kFloat64   ? "f64"
                             : dtype == DType::kComplex64 ? "c64"
                                                          : "c128";
  return name + "_" + suffix;
}

static LibraryFunction function_of(const char* name, DType dtype, const char* of_float, const char* of_double,
                                   bool may_fail) {
  const bool is_single = dtype == DType::kFloat32 || dtype == DType::kComplex64;
  return {factor_function_name(name, dtype), is_single ? of_float : of_double, may_fail};
}

LibraryFunction cholesky_function(DType dtype) {
  return function_of("cholesky", dtype, TH_TEXT_OF(TH_CHOLESKY_PARAMETERS(float)),
                     TH_TEXT_OF(TH_CHOLESKY_PARAMETERS(double)), true);
}

LibraryFunction triangular_solve_function(DType dtype) {
  return function_of("triangular_solve", dtype, TH_TEXT_OF(TH_TRIANGULAR_SOLVE_PARAMETERS(float)),
                     TH_TEXT_OF(TH_TRIANGULAR_SOLVE_PARAMETERS(double)), true);
}

LibraryFunction lu_function(DType dtype) {
  return function_of("lu", dtype, TH_TEXT_OF(TH_LU_PARAMETERS(float)), TH_TEXT_OF(TH_LU_PARAMETERS(double)), false);
}

LibraryFunction qr_function(DType dtype) {
  return function_of("qr", dtype, TH_TEXT_OF(TH_QR_PARAMETERS(float)), TH_TEXT_OF(TH_QR_PARAMETERS(double)), false);
}

LibraryFunction eigh_function(DType dtype) {
  return function_of("eigh", dtype, TH_TEXT_OF(TH_EIGH_PARAMETERS(float)), TH_TEXT_OF(TH_EIGH_PARAMETERS(double)),
                     true);
}

LibraryFunction eig_function(DType dtype) {
  return function_of("eig", dtype, TH_TEXT_OF(TH_EIG_PARAMETERS(float)), TH_TEXT_OF(TH_EIG_PARAMETERS(double)), true);
}

LibraryFunction svd_function(DType dtype) {
  return function_of("svd", dtype, TH_TEXT_OF(TH_SVD_PARAMETERS(float)), TH_TEXT_OF(TH_SVD_PARAMETERS(double)), true);
}

static LibraryFunction cusolver_function(const kernel::Target& target, const char* name, DType dtype,
                                         const char* of_float, const char* of_double) {
  return device_function(target, str("cusolver_", factor_function_name(name, dtype)),
                         real_dtype(dtype) == DType::kFloat32 ? of_float : of_double, false);
}

LibraryFunction cusolver_cholesky_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "cholesky", dtype, TH_TEXT_OF(TH_DEVICE_CHOLESKY_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_CHOLESKY_PARAMETERS(double)));
}

LibraryFunction cusolver_eigh_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "eigh", dtype, TH_TEXT_OF(TH_DEVICE_EIGH_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_EIGH_PARAMETERS(double)));
}

LibraryFunction cusolver_svd_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "svd", dtype, TH_TEXT_OF(TH_DEVICE_SVD_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_SVD_PARAMETERS(double)));
}

LibraryFunction cusolver_lu_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "lu", dtype, TH_TEXT_OF(TH_DEVICE_LU_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_LU_PARAMETERS(double)));
}

LibraryFunction cusolver_reflections_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "reflections", dtype, TH_TEXT_OF(TH_DEVICE_REFLECTIONS_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_REFLECTIONS_PARAMETERS(double)));
}

LibraryFunction cusolver_q_function(const kernel::Target& target, DType dtype) {
  return cusolver_function(target, "q", dtype, TH_TEXT_OF(TH_DEVICE_Q_PARAMETERS(float)),
                           TH_TEXT_OF(TH_DEVICE_Q_PARAMETERS(double)));
}

LibraryFunction cublas_triangles_function(const kernel::Target& target, DType dtype) {
  const bool is_single = real_dtype(dtype) == DType::kFloat32;
  return device_function(target, str("cublas_", factor_function_name("triangles", dtype)),
                         is_single ? TH_TEXT_OF(TH_DEVICE_TRIANGLES_PARAMETERS(float))
                                   : TH_TEXT_OF(TH_DEVICE_TRIANGLES_PARAMETERS(double)),
                         true);
}

}  // namespace thtrain
