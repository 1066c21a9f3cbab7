#include "datasets/standardization.h"

#include <algorithm>
#include <cmath>

#include "datasets/dataset.h"

namespace thtrain {

namespace {

// Calls f(number, its mean, its scale) for each number.
template <class F>
void change(const Standard& standard, Tensor rows, F f) {
  if (standard.empty() || rows.size() == 0) return;
  const size_t count = standard.mean.size();
  TH_CHECK(rows.is_contiguous() && rows.size() % static_cast<int64_t>(count) == 0, rows.type_text(), " for means of ",
           count, " numbers");
  visit(rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T* values = rows.data<T>();
      size_t feature = 0;
      for (int64_t i = 0; i < rows.size(); ++i) {
        values[i] = static_cast<T>(f(static_cast<double>(values[i]), standard.mean[feature], standard.scale[feature]));
        if (++feature == count) feature = 0;
      }
    }
  });
}

/// Sums over rows, for each number of a row or for all numbers.
class Sums {
 public:
  explicit Sums(size_t count) : values_(count) {}
  template <class F>
  void add(const Tensor& rows, F term) {
    const double* numbers = rows.data<double>();
    size_t feature = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
      values_[feature] += term(numbers[i], feature);
      if (++feature == values_.size()) feature = 0;
    }
    added_ += rows.size();
  }
  std::vector<double> means() const {
    std::vector<double> out = values_;
    for (double& v : out) v /= static_cast<double>(added_) / static_cast<double>(values_.size());
    return out;
  }

 private:
  std::vector<double> values_;
  int64_t added_ = 0;
};

double rounded(double value, DType floatx) {
  return floatx == DType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
}

/// Indicators of missing values stay 0 and 1.
void leave_indicators(const Split& train, Standard& standard) {
  const int64_t indicators = train.standardization() ? train.standardization()->imputation.indicators() : 0;
  const auto first = static_cast<std::ptrdiff_t>(standard.mean.size()) - indicators;
  std::fill(standard.mean.begin() + first, standard.mean.end(), 0.0);
  std::fill(standard.scale.begin() + first, standard.scale.end(), 1.0);
}

/// Calls f(batch) for all examples in order, as float64.
template <class F>
void for_each_batch(const Split& split, F f) {
  constexpr int64_t kElements = int64_t{1} << 18;
  int64_t rows = std::max<int64_t>(1, kElements / std::max<int64_t>(1, element_count(split.input_shape())));
  for (int64_t first = 0; first < split.size(); first += rows) {
    Batch batch = split.read(first, std::min(rows, split.size() - first), DType::kFloat64);
    check_batch(split, batch, first);
    // A step behind an end counts as little as one that is not there.
    if (split.is_sequence()) batch.x = steps_within(batch.x, batch.lengths);
    if (split.has_step_targets()) batch.y = steps_within(batch.y, batch.lengths);
    f(batch);
  }
}

}  // namespace

void Standard::apply(Tensor rows) const {
  change(*this, rows, [](double v, double mean, double scale) { return (v - mean) / scale; });
}

void Standard::undo(Tensor rows) const {
  change(*this, rows, [](double v, double mean, double scale) { return v * scale + mean; });
}

Standardization learn_standardization(const Split& train, Standardization::By by, bool targets, DType floatx) {
  const bool inputs = by != Standardization::By::kNone;
  TH_CHECK(!targets || train.targets() == Targets::kValues, "standardized targets that are no values");
  const size_t features = by == Standardization::By::kAll ? 1 : static_cast<size_t>(element_count(train.step_shape()));
  const auto outputs = static_cast<size_t>(element_count(train.step_target_shape()));
  Sums x_sum(features), y_sum(outputs), x_squares(features), y_squares(outputs);
  auto itself = [](double v, size_t) { return v; };
  for_each_batch(train, [&](const Batch& batch) {
    if (inputs) x_sum.add(batch.x, itself);
    if (targets) y_sum.add(batch.y, itself);
  });
  const std::vector<double> x_mean = x_sum.means(), y_mean = y_sum.means();
  auto square = [](const std::vector<double>& mean) {
    return [&mean](double v, size_t feature) { return (v - mean[feature]) * (v - mean[feature]); };
  };
  for_each_batch(train, [&](const Batch& batch) {
    if (inputs) x_squares.add(batch.x, square(x_mean));
    if (targets) y_squares.add(batch.y, square(y_mean));
  });
  auto standard = [&](const std::vector<double>& mean, const Sums& squares) {
    Standard out{mean, squares.means()};
    for (double& m : out.mean) m = rounded(m, floatx);
    for (double& s : out.scale) {
      s = rounded(std::sqrt(s), floatx);
      if (s == 0) s = 1;
    }
    return out;
  };
  Standardization out;
  if (inputs) out.inputs = standard(x_mean, x_squares);
  if (by == Standardization::By::kFeatures) leave_indicators(train, out.inputs);
  if (targets) out.targets = standard(y_mean, y_squares);
  return out;
}

}  // namespace thtrain
