#include "nn/batch_methods/line_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/error.h"

namespace thtrain {

// Where the cubic through values and slopes of both points is least; NaN where it has no minimum. Eq. 3.59.
static double cubic_minimum(const LinePoint& p, const LinePoint& q) {
  double d1 = p.slope + q.slope - 3 * (p.value - q.value) / (p.a - q.a);
  double d2 = std::copysign(std::sqrt(d1 * d1 - p.slope * q.slope), q.a - p.a);
  return q.a - (q.a - p.a) * (q.slope + d2 - d1) / (q.slope - p.slope + 2 * d2);
}

// Where the slope is 0 if it is linear between the two.
static double secant_zero(const LinePoint& p, const LinePoint& q) {
  return q.a - q.slope * (q.a - p.a) / (q.slope - p.slope);
}

namespace {

class Search {
 public:
  Search(const std::function<LinePoint(double)>& at, const LinePoint& start, const LineSearchOptions& options)
      : at_(at), start_(start), options_(options), slack_(4e-16 * std::abs(start.value)) {}

  LineSearchResult bracket(double first) {
    LinePoint before = start_;
    double a = first;
    while (left()) {
      LinePoint point = evaluate(a);
      if (!decreases(point) || (before.a > 0 && !is_less(point, before))) return zoom(before, point);
      if (is_flat(point)) return {point, true};
      if (point.slope >= 0) return zoom(point, before);
      double next = cubic_minimum(before, point);
      // Where the slopes do not rise, the cubic knows no minimum ahead.
      a = next > point.a ? std::clamp(next, 1.25 * point.a, 10 * point.a) : 4 * point.a;
      before = point;
    }
    return {before, false};
  }

 private:
  bool left() const { return evaluations_ < options_.evaluations; }
  LinePoint evaluate(double a) {
    ++evaluations_;
    LinePoint out = at_(a);
    if (!std::isfinite(out.value) || !std::isfinite(out.slope)) out.value = std::numeric_limits<double>::infinity();
    return out;
  }
  bool decreases(const LinePoint& p) const {
    return p.value <= start_.value + options_.decrease * p.a * start_.slope + slack_;
  }
  bool is_less(const LinePoint& p, const LinePoint& q) const { return p.value < q.value + slack_; }
  bool is_flat(const LinePoint& p) const { return std::abs(p.slope) <= -options_.curvature * start_.slope; }

  // `low` has the least value of those that decrease enough, and its slope points to `high`.
  LineSearchResult zoom(LinePoint low, LinePoint high) {
    double width = std::abs(high.a - low.a);
    while (left() && std::abs(high.a - low.a) > 1e-16 * std::max(low.a, high.a)) {
      LinePoint point = evaluate(between(low, high, width));
      width = std::abs(high.a - low.a);
      if (!decreases(point) || !is_less(point, low)) {
        high = point;
        continue;
      }
      if (is_flat(point)) return {point, true};
      if (point.slope * (high.a - low.a) >= 0) high = low;
      low = point;
    }
    return {low, false};
  }

  // A step inside of the bracket. `width` was the one before: what did not shrink to two thirds is halved.
  static double between(const LinePoint& low, const LinePoint& high, double width) {
    double middle = (low.a + high.a) / 2, length = std::abs(high.a - low.a);
    if (!std::isfinite(high.value)) return low.a + (high.a - low.a) / 10;
    double a = cubic_minimum(low, high);
    if (!std::isfinite(a)) a = secant_zero(low, high);
    if (!std::isfinite(a) || (length < width && length > 0.66 * width)) a = middle;
    double least = std::min(low.a, high.a);
    return std::clamp(a, least + 0.02 * length, least + 0.98 * length);
  }

  const std::function<LinePoint(double)>& at_;
  LinePoint start_;
  LineSearchOptions options_;
  double slack_;  // what rounding may make of values that are equal
  int64_t evaluations_ = 0;
};

}  // namespace

LineSearchResult search_line(const std::function<LinePoint(double)>& at, const LinePoint& start, double first,
                             const LineSearchOptions& options) {
  TH_CHECK(start.slope < 0 && first > 0, "a line search with slope ", start.slope, " and first step ", first);
  return Search(at, start, options).bracket(first);
}

}  // namespace thtrain
