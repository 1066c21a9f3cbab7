// The transforms of Winograd's convolutions (S. Winograd, "Arithmetic Complexity of Computations", 1980; A. Lavin and
// S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015), for squares of vectors.
//
// A correlation of m x m positions with r x r taps takes t x t products, t = m + r - 1, of transformed squares:
//   y = A^T [(G g G^T) o (B^T d B)] A
// with d the t x t elements below the positions. The matrices come from t - 1 points and infinity (Toom and Cook).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Matrices and transforms for `positions` x `positions` positions and `taps` x `taps` taps, with positions + taps - 1
/// = 4 or 6. For 4 the points are 0, 1, -1; for 6 they are 0, 5/8, -5/8, 3/2, -3/2, whose errors are smaller than those
/// of Lavin's 0, 1, -1, 2, -2 (growth() is 13.2 instead of 29.3) and whose products are exact in float32.
class Winograd {
 public:
  using Vectors = std::vector<kernel::Term>;
  using Load = std::function<kernel::Term(int64_t row, int64_t column)>;
  using Store = std::function<void(int64_t row, int64_t column, const kernel::Term&)>;

  Winograd(int64_t positions, int64_t taps, DType dtype, int lanes);
  int64_t positions() const { return positions_; }
  int64_t points() const { return positions_ + taps_ - 1; }
  int64_t products() const { return points() * points(); }

  // Each writes the code of one square: all elements of the operand are loaded, and the results stored.
  void data(kernel::Code& code, const Load& load, const Store& store) const;     // B^T d B
  void filter(kernel::Code& code, const Load& load, const Store& store) const;   // G g G^T
  void inverse(kernel::Code& code, const Load& load, const Store& store) const;  // A^T M A

  /// The factor by which one dimension's transforms may enlarge errors: max over i, k of
  /// sum over a of |A_ia| |G_ak| sum over j of |B_ja|.
  double growth() const;
  /// A bound of the error of every result, relative to max |d| times the sum of all |g| that take part in it, where
  /// `terms` squares of products are added one after the other. With unit roundoff u and g_n = n u / (1 - n u):
  /// transforms of one dimension round a term at most 2, 4 and 4 times (data; filter, with its matrix; inverse), those
  /// of a square twice as often, and the sums `terms` times, so that (as by B. Barabasz, A. Anderson, K. Soodhalter and
  /// D. Gregg, "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020)
  ///   |error| <= g_(terms + 20) |A^T| [sum |G| |g| |G^T| o |B^T| |d| |B|] |A|.
  /// Where |d| <= D, |B^T| |d| |B| <= D b b^T for the sums b of rows of |B^T|; and an element of g then counts at most
  /// growth()^2 D times its size.
  double error_bound(double terms) const;

 private:
  Vectors data_line(kernel::Code& code, const Vectors& d) const;
  Vectors filter_line(kernel::Code& code, const Vectors& g) const;
  Vectors inverse_line(kernel::Code& code, const Vectors& m) const;
  kernel::Term scaled(double factor, const kernel::Term& x) const;
  kernel::Term added(double factor, const kernel::Term& x, const kernel::Term& to) const;
  std::vector<double> all_points() const;  // without infinity
  double denominator(double point) const;  // the product of its differences from the others

  int64_t positions_, taps_;
  DType dtype_;
  int lanes_;
  std::vector<double> pairs_;  // p: the points p and -p
};

}  // namespace thtrain
