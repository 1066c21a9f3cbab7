#include "nn/metric_totals.h"

#include <algorithm>

namespace thtrain {

using How = MetricPart::How;

// The shape of a part's total, which all but kept rows know before the first chunk.
static Shape total_shape(const MetricPart& part) {
  if (part.how == How::kAddAt) return part.shape;
  Dims dims = part.value.dims();
  if (part.how != How::kSum) {
    TH_CHECK(!dims.empty(), "the part ", part.name, " has no rows");
    dims.erase(dims.begin());
  }
  Shape out;
  for (const Dim& dim : dims) out.push_back(dim.value());
  if (part.how == How::kSpread) return {2, out.at(0) - 1};
  if (part.how == How::kKeepRows) out.insert(out.begin(), 0);
  return out;
}

MetricTotals::MetricTotals(const std::vector<MetricPart>& parts) {
  for (const MetricPart& part : parts) {
    DType dtype = part.how == How::kSum ? DType::kInt64 : DType::kFloat64;
    TH_CHECK(part.value.dtype() == dtype, "the part ", part.name, " is ", name_of(part.value.dtype()));
    names_.push_back(part.name);
    bool is_new = totals_.emplace(part.name, Total{part.how, Tensor::zeros(dtype, total_shape(part))}).second;
    TH_CHECK(is_new, "two parts ", part.name);
  }
}

void MetricTotals::add(std::span<const Tensor> values) {
  TH_CHECK(values.size() == names_.size(), values.size(), " values of ", names_.size(), " parts");
  for (size_t i = 0; i < values.size(); ++i) add(totals_.at(names_[i]), values[i].contiguous());
}

// Adds to means and sums of squares, row by row. Values are counted from the first row: far from 0 they keep their
// digits.
static void add_spread(const Tensor& rows, Tensor& sum, double& weight, Tensor& origin) {
  const int64_t width = rows.dim(1), k = width - 1;
  double *mean = sum.data<double>(), *squares = mean + k;
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    const double* row = rows.data<double>() + i * width;
    if (row[0] == 0) continue;
    if (origin.rank() == 0) origin = Tensor::of(std::span(row + 1, static_cast<size_t>(k)), {k});
    weight += row[0];
    for (int64_t j = 0; j < k; ++j) {
      const double value = row[1 + j] - origin.data<double>()[j], away = value - mean[j];
      mean[j] += away * row[0] / weight;
      squares[j] += row[0] * away * (value - mean[j]);
    }
  }
}

// Indices that are not there come from labels out of range.
static void add_at(const Tensor& rows, Tensor& sum) {
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    const double index = rows.data<double>()[2 * i];
    if (!(index >= 0 && index < static_cast<double>(sum.size())))
      throw UserError(Message{.what = "a label is out of range", .expected = "classes that the scores have"});
    sum.data<double>()[static_cast<int64_t>(index)] += rows.data<double>()[2 * i + 1];
  }
}

void MetricTotals::add(Total& total, const Tensor& value) {
  switch (total.how) {
    case How::kSum:
      for (int64_t i = 0; i < total.sum.size(); ++i) total.sum.data<int64_t>()[i] += value.data<int64_t>()[i];
      break;
    case How::kAddRows: {
      const int64_t width = total.sum.size();
      for (int64_t i = 0; i < value.size(); ++i) total.sum.data<double>()[i % width] += value.data<double>()[i];
      break;
    }
    case How::kAddAt:
      add_at(value, total.sum);
      break;
    case How::kSpread:
      add_spread(value, total.sum, total.weight, total.origin);
      break;
    case How::kKeepRows:
      total.kept.push_back(value.copy());  // functions may lend their buffers
      break;
  }
}

Tensor MetricTotals::total(const std::string& name) const {
  auto found = totals_.find(name);
  TH_CHECK(found != totals_.end(), "there is no total ", name);
  const Total& total = found->second;
  if (total.how == How::kSpread && total.origin.rank() > 0) {
    Tensor out = total.sum.copy();
    for (int64_t j = 0; j < total.origin.size(); ++j) out.data<double>()[j] += total.origin.data<double>()[j];
    return out;
  }
  if (total.how != How::kKeepRows) return total.sum;
  Shape shape = total.sum.shape();
  for (const Tensor& rows : total.kept) shape[0] += rows.dim(0);
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  double* end = out.data<double>();
  for (const Tensor& rows : total.kept) end = std::copy_n(rows.data<double>(), rows.size(), end);
  return out;
}

double MetricTotals::number(const std::string& name) const {
  return total(name).as_double();
}

}  // namespace thtrain
