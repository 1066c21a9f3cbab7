#include "datasets/standardization.h"

#include <algorithm>
#include <cmath>

#include "datasets/dataset.h"
#include "datasets/sparse_rows.h"

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

/// Categories and indicators of missing values stay as they are.
void leave_categories(const Split& train, Standard& standard) {
  if (!train.table_inputs()) return;
  for (size_t i = 0; i < standard.mean.size(); ++i) {
    if (train.table_inputs()->inputs()[i].kind == TableInputs::Input::Kind::kNumber) continue;
    standard.mean[i] = 0;
    standard.scale[i] = 1;
  }
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

// The deviations of sparse numbers; those that are not kept are 0, which sums of them do not need.
Standard sparse_scales(const Split& train, DType floatx) {
  const auto features = static_cast<size_t>(train.input_shape()[0]);
  const auto count = static_cast<double>(train.size());
  std::vector<double> mean(features), squares(features), kept(features);
  const auto for_each_number = [&](auto f) {
    SparseNumbers row;
    for (int64_t i = 0; i < train.size(); ++i) {
      row = {};
      train.x_array().source->sparse()->append(train.file_row(i), row);
      for (size_t e = 0; e < row.values.size(); ++e)
        f(static_cast<size_t>(row.columns[e]), row.values[e] * train.scale());
    }
  };
  for_each_number([&](size_t column, double value) { mean[column] += value / count; });
  for_each_number([&](size_t column, double value) {
    squares[column] += (value - mean[column]) * (value - mean[column]);
    kept[column] += 1;
  });
  Standard out{std::vector<double>(features), std::vector<double>(features)};
  for (size_t j = 0; j < features; ++j) {
    out.scale[j] = rounded(std::sqrt((squares[j] + (count - kept[j]) * mean[j] * mean[j]) / count), floatx);
    if (out.scale[j] == 0) out.scale[j] = 1;
  }
  return out;
}

}  // namespace

void Standard::apply(Tensor rows) const {
  change(*this, rows, [](double v, double mean, double scale) { return (v - mean) / scale; });
}

void Standard::undo(Tensor rows) const {
  change(*this, rows, [](double v, double mean, double scale) { return v * scale + mean; });
}

Standardization learn_standardization(const Split& train, Standardization::By by, bool targets, DType floatx) {
  TH_CHECK(!train.is_sparse() || by == Standardization::By::kNone || by == Standardization::By::kScales,
           "means of sparse examples");
  const bool is_sparse = train.is_sparse() && by != Standardization::By::kNone;
  const bool inputs = by != Standardization::By::kNone && !is_sparse;
  TH_CHECK(!targets || train.targets() == Targets::kValues, "standardized targets that are no values");
  const size_t features = by == Standardization::By::kAll ? 1 : static_cast<size_t>(element_count(train.step_shape()));
  const auto outputs = static_cast<size_t>(element_count(train.step_target_shape()));
  Sums x_sum(features), y_sum(outputs), x_squares(features), y_squares(outputs);
  auto itself = [](double v, size_t) { return v; };
  if (inputs || targets)
    for_each_batch(train, [&](const Batch& batch) {
      if (inputs) x_sum.add(batch.x, itself);
      if (targets) y_sum.add(batch.y, itself);
    });
  const std::vector<double> x_mean = x_sum.means(), y_mean = y_sum.means();
  auto square = [](const std::vector<double>& mean) {
    return [&mean](double v, size_t feature) { return (v - mean[feature]) * (v - mean[feature]); };
  };
  if (inputs || targets)
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
  if (is_sparse) out.inputs = sparse_scales(train, floatx);
  if (by == Standardization::By::kScales) std::fill(out.inputs.mean.begin(), out.inputs.mean.end(), 0.0);
  if (inputs && by != Standardization::By::kAll) leave_categories(train, out.inputs);
  if (targets) out.targets = standard(y_mean, y_squares);
  return out;
}

}  // namespace thtrain
