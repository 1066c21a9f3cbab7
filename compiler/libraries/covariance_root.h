// A square root of a covariance, as NumPy's multivariate_normal takes it, by LAPACK.
#pragma once

#include <cstdint>

#include "compiler/libraries/library_functions.h"

/// The parameters of covariance_root_f64, for programs. The check fails where the matrix is no covariance.
#define TH_COVARIANCE_ROOT_PARAMETERS long n, const double *covariance, double *root, int check

namespace thtrain {

/// root [n, n] with root^T root = covariance [n, n], row-major: the rows of V^T of its singular value decomposition,
/// each times the square root of its singular value. False where root^T root is not the covariance to 1e-8.
bool find_covariance_root(const double* covariance, int64_t n, double* root);
/// By the names that programs list.
NamedFunctions covariance_root_functions();

}  // namespace thtrain
