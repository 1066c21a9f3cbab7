#include "datasets/imputation.h"

#include <algorithm>
#include <cmath>

#include "datasets/csv_text.h"
#include "datasets/dataset.h"

namespace thtrain {

namespace {

struct ColumnSums {
  std::vector<double> sums;
  std::vector<int64_t> counts;  // of values that are there
};

ColumnSums column_sums(const Split& train) {
  constexpr int64_t kElements = int64_t{1} << 18;
  const int64_t columns = element_count(train.input_shape()), rows = std::max<int64_t>(1, kElements / columns);
  const auto count = static_cast<size_t>(columns);
  ColumnSums out{std::vector<double>(count), std::vector<int64_t>(count)};
  for (int64_t first = 0; first < train.size(); first += rows) {
    const Batch batch = train.read(first, std::min(rows, train.size() - first), DType::kFloat64);
    const double* numbers = batch.x.data<double>();
    for (int64_t i = 0; i < batch.x.size(); ++i) {
      if (std::isnan(numbers[i])) continue;
      const auto column = static_cast<size_t>(i % columns);
      out.sums[column] += numbers[i];
      ++out.counts[column];
    }
  }
  return out;
}

/// Of the values that there are; `column` is of an array in memory.
double column_median(const Split& train, int64_t column) {
  const Tensor& raw = train.x_array().raw;
  const int64_t columns = element_count(train.input_shape());
  std::vector<double> values;
  for (int64_t i = 0; i < train.size(); ++i) {
    const double value = raw.as_double(train.file_row(i) * columns + column) * train.scale();
    if (!std::isnan(value)) values.push_back(value);
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*std::max_element(values.begin(), middle) + *middle) / 2;
}

void check_has_values(const Split& train, const std::vector<int64_t>& counts, const ConfigPosition& where) {
  const DataArray& x = train.x_array();
  std::vector<std::string> empty;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) empty.push_back(x.text ? x.text->columns[i] : std::to_string(i + 1));
  if (empty.empty()) return;
  throw UserError({.what = str(x.origin, ": ", empty.size() == 1 ? "a column has" : "columns have",
                               " no value in any training example"),
                   .expected = "one at least, to fill the missing ones by",
                   .got = str("nothing in ", list_text(empty)),
                   .config = where,
                   .hint = "data.impute = \"zero\" needs none; or leave the column out of the table"});
}

}  // namespace

void Imputation::apply(const Tensor& rows, Tensor into) const {
  const auto columns = static_cast<int64_t>(fill.size()), width = columns + indicators(), count = rows.dim(0);
  TH_CHECK(rows.size() == count * columns && into.size() == count * width && rows.dtype() == into.dtype(),
           rows.type_text(), " filled into ", into.type_text());
  visit(rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* from = rows.data<T>();
      T* to = into.data<T>();
      for (int64_t i = 0; i < count; ++i, from += columns, to += width) {
        for (int64_t j = 0; j < columns; ++j)
          to[j] = std::isnan(from[j]) ? static_cast<T>(fill[static_cast<size_t>(j)]) : from[j];
        for (int64_t j = 0; j < indicators(); ++j)
          to[columns + j] = std::isnan(from[indicated[static_cast<size_t>(j)]]) ? T(1) : T(0);
      }
    }
  });
}

Imputation learn_imputation(const Split& train, Imputation::By by, DType floatx, const ConfigPosition& where) {
  using By = Imputation::By;
  const DataArray& x = train.x_array();
  if (by == By::kMedian && x.source)
    throw UserError({.what = str(x.origin, ": no medians are computed of a table that is read while training"),
                     .expected = "data.impute = \"mean\" or \"zero\"",
                     .got = "data.impute = \"median\"",
                     .config = where,
                     .hint = "with a larger data.memory_limit the table is read into memory"});
  const ColumnSums found = column_sums(train);
  if (by != By::kZero) check_has_values(train, found.counts, where);
  Imputation out;
  for (size_t i = 0; i < found.counts.size(); ++i) {
    const auto column = static_cast<int64_t>(i);
    const double value = by == By::kZero     ? 0
                         : by == By::kMedian ? column_median(train, column)
                                             : found.sums[i] / static_cast<double>(found.counts[i]);
    out.fill.push_back(floatx == DType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value);
    if (found.counts[i] < train.size()) out.indicated.push_back(column);
  }
  return out;
}

}  // namespace thtrain
