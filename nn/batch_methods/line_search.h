// A line search for the strong Wolfe conditions.
#pragma once

#include <functional>

namespace thtrain {

/// A function along a line: value and slope at a step a.
struct LinePoint {
  double a = 0;
  double value = 0;
  double slope = 0;
};

struct LineSearchOptions {
  double decrease = 1e-4;    // c1
  double curvature = 0.9;    // c2, above c1 and below 1
  int64_t evaluations = 40;  // at most
  double rounding = 4e-16;   // values that differ by less, relative to f(0), are as good as equal
  /// Asked at a step that meets the conditions, right after its evaluation: false, and the search goes on towards the
  /// minimum. Where it finds no such step, the best that meets the conditions is given.
  std::function<bool()> accepts = {};
};

/// What was found; `good` where it satisfies the conditions. Else the best point with a decrease, or `start`.
struct LineSearchResult {
  LinePoint point;
  bool good = false;
};

/// A step a > 0 with
///
///   f(a) <= f(0) + c1 a f'(0)   and   |f'(a)| <= c2 |f'(0)|
///
/// `start` is the line at a = 0, with a slope below 0; `first` the step that is tried first; `at` evaluates. Values are
/// compared up to the rounding of f(0), so that close to a minimum the slopes decide. A value that is not finite counts
/// as too large. InternalError where the slope is not below 0.
///
/// J. More, D. Thuente, "Line search algorithms with guaranteed sufficient decrease", TOMS 20, 1994: an interval with
/// the best point so far at one end, trial steps by its section 4, and first the function psi(a) = f(a) - f(0) - c1 a
/// f'(0) of its section 2, until one step has psi <= 0 and f' >= 0. As in MINPACK-2, whose search SciPy has, a step
/// beyond all others goes 1.1 to 4 times as far as the last one went.
LineSearchResult search_line(const std::function<LinePoint(double a)>& at, const LinePoint& start, double first,
                             const LineSearchOptions& options);

}  // namespace thtrain
