#include "nn/batch_methods/line_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/base/error.h"

namespace thtrain {

// ---- trial steps: section 4 ----------------------------------------------------------------------------------------

// Where the cubic through values and slopes of both points is least; nothing where it has no minimum.
static std::optional<double> cubic_minimum(const LinePoint& p, const LinePoint& q) {
  double d1 = p.slope + q.slope - 3 * (p.value - q.value) / (p.a - q.a);
  double inside = d1 * d1 - p.slope * q.slope;
  if (!(inside >= 0)) return {};
  double d2 = std::copysign(std::sqrt(inside), q.a - p.a);
  double a = q.a - (q.a - p.a) * (q.slope + d2 - d1) / (q.slope - p.slope + 2 * d2);
  return std::isfinite(a) ? std::optional(a) : std::nullopt;
}

// Where the parabola through both values and p's slope is least.
static double parabola_minimum(const LinePoint& p, const LinePoint& q) {
  double length = q.a - p.a;
  return p.a + p.slope / ((p.value - q.value) / length + p.slope) / 2 * length;
}

// Where the slope is 0 if it is linear between the two.
static double secant_zero(const LinePoint& p, const LinePoint& q) {
  return q.a - q.slope * (q.a - p.a) / (q.slope - p.slope);
}

static double nearer(double to, double a, double b) {
  return std::abs(a - to) < std::abs(b - to) ? a : b;
}

namespace {

class Search {
 public:
  Search(const std::function<LinePoint(double)>& at, const LinePoint& start, const LineSearchOptions& options)
      : at_(at),
        start_(start),
        options_(options),
        slack_(options.rounding * std::abs(start.value)),
        low_(start),
        high_(start),
        best_(start) {}

  LineSearchResult find(double first) {
    double a = first, width = std::numeric_limits<double>::infinity(), width_before = width;
    while (evaluations_ < options_.evaluations) {
      LinePoint point = evaluate(a);
      if (!std::isfinite(point.value)) {  // such a point has no use but as a bound
        limit_ = a;
        a = low_.a + (a - low_.a) / 10;
        if (a == low_.a || a == limit_) break;
        continue;
      }
      if (point.value < best_.value) best_ = point;
      const bool decreases = point.value <= bound_at(a) + slack_;
      if (decreases && std::abs(point.slope) <= -options_.curvature * start_.slope) {
        if (!options_.accepts || options_.accepts()) return {point, true};
        if (!good_ || point.value < good_->value) good_ = point;
      }
      if (decreases && point.slope >= 0) is_first_stage_ = false;
      // psi where the value is no worse than the best, but decreases too little.
      const bool uses_psi = is_first_stage_ && point.value <= low_.value && !decreases;
      a = uses_psi ? next_by_psi(point) : next(low_, high_, point);
      if (has_high_) {
        const double length = std::abs(high_.a - low_.a);
        if (length >= 0.66 * width_before) a = low_.a + (high_.a - low_.a) / 2;
        width_before = width;
        width = length;
        if (length <= 1e-15 * std::max(high_.a, low_.a)) break;
      } else if (a >= limit_) {
        a = low_.a + (limit_ - low_.a) / 2;
      }
      if (!(a > 0) || a == low_.a) break;
    }
    return good_ ? LineSearchResult{*good_, true} : LineSearchResult{best_, false};
  }

 private:
  double bound_at(double a) const { return start_.value + options_.decrease * a * start_.slope; }
  LinePoint evaluate(double a) {
    ++evaluations_;
    LinePoint out = at_(a);
    if (!std::isfinite(out.slope)) out.value = std::numeric_limits<double>::infinity();
    return out;
  }

  double next_by_psi(const LinePoint& point) {
    auto shift = [&](const LinePoint& p, double sign) {
      const double slope = sign * options_.decrease * start_.slope;
      return LinePoint{.a = p.a, .value = p.value + slope * p.a, .slope = p.slope + slope};
    };
    LinePoint low = shift(low_, -1), high = shift(high_, -1);
    const double a = next(low, high, shift(point, -1));
    low_ = shift(low, 1);
    high_ = shift(high, 1);
    return a;
  }

  // The next step, and the new interval: `low` has its least value, and its slope points to `high`.
  double next(LinePoint& low, LinePoint& high, const LinePoint& point) {
    const std::optional<double> cubic = cubic_minimum(low, point);
    const bool turns = (point.slope < 0) != (low.slope < 0);
    double a = 0;
    if (point.value > low.value + slack_) {  // case 1
      const double parabola = parabola_minimum(low, point), c = cubic.value_or(parabola);
      a = std::abs(c - low.a) < std::abs(parabola - low.a) ? c : (c + parabola) / 2;
      high = point;
      has_high_ = true;
      return inside(low, high, a);
    }
    if (turns) {  // case 2
      const double secant = secant_zero(low, point), c = cubic.value_or(secant);
      a = std::abs(c - point.a) > std::abs(secant - point.a) ? c : secant;
      high = low;
      has_high_ = true;
    } else if (std::abs(point.slope) < std::abs(low.slope)) {  // case 3
      a = beyond(low, high, point, cubic);
    } else if (has_high_) {  // case 4
      a = cubic_minimum(high, point).value_or((high.a + point.a) / 2);
    } else {
      a = point.a + 4 * (point.a - low.a);
    }
    low = point;
    return has_high_ ? inside(low, high, a) : a;
  }

  // The slope became flatter, and kept its sign: a step ahead of `point`.
  double beyond(const LinePoint& low, const LinePoint& high, const LinePoint& point,
                const std::optional<double>& cubic) const {
    const double ahead = point.a - low.a, farthest = point.a + 4 * ahead, secant = secant_zero(low, point);
    const bool is_ahead = cubic && (*cubic - point.a) * ahead > 0;
    if (!has_high_) {
      const double c = is_ahead ? *cubic : farthest;
      const double a = std::abs(c - point.a) > std::abs(secant - point.a) ? c : secant;
      return std::clamp(a, low.a > 0 ? point.a + 1.1 * ahead : point.a, farthest);
    }
    const double a = nearer(point.a, is_ahead ? *cubic : high.a, secant);
    const double most = point.a + 0.66 * (high.a - point.a);
    return point.a > low.a ? std::min(most, a) : std::max(most, a);
  }

  // Not quite at an end: an end is known already.
  static double inside(const LinePoint& low, const LinePoint& high, double a) {
    const double from = std::min(low.a, high.a), to = std::max(low.a, high.a);
    return std::isfinite(a) && a > from && a < to ? a : (from + to) / 2;
  }

  const std::function<LinePoint(double)>& at_;
  LinePoint start_;
  LineSearchOptions options_;
  double slack_;                                            // what rounding may make of values that are equal
  LinePoint low_, high_;                                    // the interval
  LinePoint best_;                                          // of the least value
  std::optional<LinePoint> good_ = {};                      // meets the conditions, and was not accepted
  bool has_high_ = false;                                   // is a minimum known to be between the two?
  bool is_first_stage_ = true;                              // no step decreased enough with a slope of at least 0
  double limit_ = std::numeric_limits<double>::infinity();  // the least step with a value that is not finite
  int64_t evaluations_ = 0;
};

}  // namespace

LineSearchResult search_line(const std::function<LinePoint(double)>& at, const LinePoint& start, double first,
                             const LineSearchOptions& options) {
  TH_CHECK(start.slope < 0 && first > 0, "a line search with slope ", start.slope, " and first step ", first);
  return Search(at, start, options).find(first);
}

}  // namespace thtrain
