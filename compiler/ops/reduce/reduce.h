// Builders of reductions over any axes: sum, prod, mean, var, std, min, max, argmin, argmax, any, all.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- reduce --------------------------------------------------------------------------------------------------------

/// Which axes a reduction runs over: sum(x), sum(x, 0), sum(x, -1, true), sum(x, {0, 2}), sum(x, {}, true). No axes
/// means all of them. Negative axes count from the end; an axis out of range or named twice is a UserError.
class Axes {
 public:
  Axes() = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) Axes(T axis) : axes_{static_cast<int64_t>(axis)} {}
  Axes(std::initializer_list<int64_t> axes) : axes_(axes) {}
  Axes(std::vector<int64_t> axes) : axes_(std::move(axes)) {}

  const std::vector<int64_t>& given() const { return axes_; }

 private:
  std::vector<int64_t> axes_;
};

/// What is no axis.
template <class T>
concept AnotherValue = std::convertible_to<T, const Expr&> || std::floating_point<T>;

/// true or false, and nothing that converts to them: sum(x, 0, 1) does not compile, as it may be meant for the axes 0
/// and 1, which are {0, 1}.
class KeepDims {
 public:
  constexpr KeepDims(std::same_as<bool> auto keep) : keep_(keep) {}
  constexpr operator bool() const { return keep_; }

 private:
  bool keep_;
};

/// What var and std take off the number of elements they divide by: var(x, 0, false, Ddof(1)). No number or bool is
/// taken for it.
class Ddof {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr explicit Ddof(T count) : count_(static_cast<int64_t>(count)) {}
  constexpr int64_t count() const { return count_; }

 private:
  int64_t count_;
};

// The result has the lengths of the axes that stay; with keepdims, the others stay too, with the known length 1.

/// The sum. Integers and bool give int64 or uint64, floats and complex keep their dtype. Without elements: 0. Rounding:
/// native code adds floats in blocks, and the sums of the blocks in float64, so that the error does not grow with the
/// length; the order depends on lengths and strides only, so the bits are always the same. The reference adds float32
/// in float64, float64 in long double, and rounds once.
Expr sum(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

/// The product. Dtypes as sum's. Without elements: 1. The derivative is right with any number of zeros.
Expr prod(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

/// The mean: sum / number of elements. Integers and bool give floatX. Without elements: NaN.
Expr mean(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

/// Theano's dtype and acc_dtype.
struct ReduceDTypes {
  /// Of the result; none: what it is without the elements' conversion, so that float32 in float64 gives float32.
  std::optional<DType> dtype = {};
  /// The elements are converted to it first; none: to `dtype`.
  std::optional<DType> acc_dtype = {};
};
/// The same in other dtypes: sum(x, {}, false, {.acc_dtype = DType::kFloat64}) of float32 adds in float64 and rounds
/// once.
Expr sum(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes);
Expr prod(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes);
Expr mean(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes);

/// The variance: sum(|x - mean(x)|^2) / (number of elements - ddof), in two passes and corrected by the rounding error
/// of the mean; real, never below 0. Integers and bool give floatX.
Expr var(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false, Ddof ddof = Ddof(0));

/// The standard deviation: sqrt(var). Its derivative is infinite or NaN where the variance is 0.
Expr std(const Operand& x,  // write thtrain::std(x), since C++ has a namespace std, or sqrt(var(x))
         const Axes& axes = {}, KeepDims keepdims = false, Ddof ddof = Ddof(0));

/// The smallest and the largest element. NaN where any element is NaN; an error without elements; not for complex.
/// Every element that equals the extremum gets the whole derivative (where the extremum is NaN: every NaN).
Expr min(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);
Expr max(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);
template <AnotherValue T>
Expr min(const Operand& x, const T& y) = delete;  // the second argument is an axis: the smaller of two is minimum(x, y)
template <AnotherValue T>
Expr max(const Operand& x, const T& y) = delete;  // the second argument is an axis: the larger of two is maximum(x, y)

/// The position of the smallest and of the largest element: int64, along one axis, or among all elements in row-major
/// order where no axis is given. The first of several; the first NaN counts as the extremum. An error without elements;
/// not for complex.
Expr argmin(const Operand& x, std::optional<int64_t> axis = {}, KeepDims keepdims = false);
Expr argmax(const Operand& x, std::optional<int64_t> axis = {}, KeepDims keepdims = false);

/// The largest element and its position, {max(x, axis), argmax(x, axis)}: Theano's max_and_argmax.
std::pair<Expr, Expr> max_and_argmax(const Operand& x, std::optional<int64_t> axis = {}, KeepDims keepdims = false);

/// The largest element minus the smallest: NumPy's ptp.
Expr ptp(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

/// NumPy's linalg.norm. Without an order the root of the sum of |x|^2 over any axes. Along one axis of the order p: p =
/// 0 counts what is not 0, infinity and -infinity are the largest and the smallest |x|, else sum(|x|^p)^(1/p). Over two
/// axes, rows and columns of matrices: 1 and -1 are the largest and the smallest sum of |x| down a column, infinity and
/// -infinity those along a row, 2 and -2 the largest and the smallest singular value; other orders are a UserError.
/// Integers and bool give floatX, complex numbers real ones. Where a root is of 0 the derivative is NaN.
Expr norm(const Operand& x, std::optional<double> order = {}, const Axes& axes = {}, KeepDims keepdims = false);

/// NumPy's cov of a matrix whose rows are variables and whose columns are observations, [n, m] -> [n, n], or of a
/// vector, one variable: sum((x_i - mean(x_i)) conj(x_j - mean(x_j))) / (m - ddof). Integers and bool give floatX.
Expr cov(const Operand& x, Ddof ddof = Ddof(1));

/// Is any element true, are all of them? bool; an element counts as true unless it equals 0 (so NaN is true). Without
/// elements: false, true.
Expr any(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);
Expr all(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// `axes` as sorted numbers from 0, all of them where none is given. UserError as said at Axes, named after `what`.
std::vector<int64_t> reduced_axes(const Axes& axes, size_t rank, const std::string& what, const Origin& origin);

}  // namespace thtrain
