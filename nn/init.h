// Initial weights: each law with its source, drawn from the numbers of NumPy's RandomState.
#pragma once

#include "compiler/base/random_state.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

/// Seeds are integers from 0 to 2^32 - 1: what NumPy's RandomState takes.
inline constexpr double kLargestSeed = 4294967295.0;

/// How a weight matrix [n_in, n_out] starts, or another array of weights with n_in terms for each output, which is one
/// of n_out that an input goes to. U(a, b) is uniform, N(m, s) normal with standard deviation s.
struct Init {
  enum class Law {
    /// scale * U(-a, a), a = sqrt(6 / (n_in + n_out)). X. Glorot, Y. Bengio, "Understanding the difficulty of training
    /// deep feedforward neural networks", AISTATS 2010, eq. 16. As the Deep Learning Tutorials draw it.
    kGlorotUniform,
    /// scale * N(0, sqrt(2 / (n_in + n_out))): the same variance; the same paper, eq. 12.
    kGlorotNormal,
    /// scale * U(-a, a), a = sqrt(6 / n_in). K. He, X. Zhang, S. Ren, J. Sun, "Delving deep into rectifiers", ICCV
    /// 2015,
    /// eq. 10, as a uniform law of that variance.
    kHeUniform,
    /// scale * N(0, sqrt(2 / n_in)): the same paper, eq. 10.
    kHeNormal,
    /// N(0, deviation)
    kNormal,
    /// U(-range, range)
    kUniform,
    /// scale * Q of the QR factorization of a matrix of N(0, 1), with the signs that make R's diagonal positive:
    /// orthonormal
    /// columns, or rows where n_in < n_out (then the factorization is of the transpose). A. Saxe, J. McClelland, S.
    /// Ganguli,
    /// "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", ICLR 2014, section 3.
    kOrthogonal,
    /// value
    kConstant,
    /// 0
    kZeros,
  };
  Law law = Law::kGlorotUniform;
  double scale = 1;
  double deviation = 0.01;
  double range = 0.01;
  double value = 0;
};

/// A float64 matrix [n_in, n_out], drawn in row-major order; kConstant and kZeros draw nothing. A cast to floatX comes
/// after the drawing, so that float32 and float64 start from the same numbers.
Tensor draw_weights(const Init& init, int64_t n_in, int64_t n_out, RandomState& random);
/// The same of an array of another shape: the filters [filters, channels, taps...] of a convolution, n_in = channels
/// taps, n_out = filters taps. For kOrthogonal it is the matrix [first length, product of the others].
Tensor draw_weights(const Init& init, const Shape& shape, int64_t n_in, int64_t n_out, RandomState& random);

/// The Q of above, for a [rows, columns] with rows >= columns, by Householder's reflections; overwrites `a`. The same
/// bits on every machine. InternalError for fewer rows than columns.
Tensor orthonormal_columns(Tensor a);

}  // namespace thtrain
