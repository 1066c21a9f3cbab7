// Examples of which only the numbers that are not 0 are kept, as minibatches.
#include <algorithm>

#include "datasets/dataset.h"
#include "datasets/sparse_rows.h"

namespace thtrain {

namespace {

/// The columns, ascending, and the place of each number's column among them.
void number_columns(const std::vector<int32_t>& of_numbers, Batch::Sparse& out) {
  std::vector<int32_t> columns = of_numbers;
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  out.columns = Tensor::of(columns, {std::ssize(columns)});
  out.places = Tensor::empty(DType::kInt32, {std::ssize(of_numbers)});
  std::transform(of_numbers.begin(), of_numbers.end(), out.places.data<int32_t>(), [&](int32_t column) {
    return static_cast<int32_t>(std::lower_bound(columns.begin(), columns.end(), column) - columns.begin());
  });
}

}  // namespace

Batch Split::read_sparse(std::span<const int64_t> examples, DType floatx) const {
  TH_CHECK(is_sparse(), "sparse examples of ", x_.origin);
  const auto count = std::ssize(examples);
  Batch out{Tensor(), make_targets(count, floatx)};
  if (has_weights()) out.weights = Tensor::empty(floatx, {count});
  const RowOf row_of = [&](int64_t i) { return file_row(examples[static_cast<size_t>(i)]); };
  SparseNumbers numbers;
  out.sparse.indptr = Tensor::zeros(DType::kInt32, {count + 1});
  for (int64_t i = 0; i < count; ++i) {
    x_.source->sparse()->append(row_of(i), numbers);
    out.sparse.indptr.data<int32_t>()[i + 1] = static_cast<int32_t>(numbers.values.size());
  }
  number_columns(numbers.columns, out.sparse);
  const Standard* standard =
      standardization_ && !standardization_->inputs.empty() ? &standardization_->inputs : nullptr;
  for (size_t e = 0; e < numbers.values.size(); ++e) {
    numbers.values[e] *= scale_;
    if (standard) numbers.values[e] /= standard->scale[static_cast<size_t>(numbers.columns[e])];
  }
  out.sparse.values = Tensor::of(numbers.values, {std::ssize(numbers.values)}).cast(floatx);
  fill_besides_x(out, row_of);
  return out;
}

}  // namespace thtrain
