#include "datasets/sequences.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace thtrain {

SequenceLengths::SequenceLengths(DataArray lengths, const DataArray& x) : array(std::move(lengths)) {
  check_array(array);
  Tensor& raw = array.raw;
  if (raw.shape() == Shape{raw.dim(0), 1}) raw = raw.view({raw.dim(0)}, {raw.strides()[0]}, 0);
  const int64_t rows = x.raw.dim(0), steps = x.raw.dim(1);
  if (raw.rank() != 1)
    throw UserError({.what = str(array.origin, ": the lengths are not one number for each sequence"),
                     .expected = str("an array ", shape_text(Shape{rows})),
                     .got = raw.type_text(),
                     .config = array.where});
  if (raw.dim(0) != rows)
    throw UserError({.what = "sequences and lengths differ in number",
                     .expected = str(rows, " rows, as in ", x.origin),
                     .got = str(raw.dim(0), " rows in ", array.origin),
                     .config = array.where});
  const Tensor numbers = Tensor::empty(DType::kFloat64, {rows});
  convert_rows(
      array, 1, [](int64_t i) { return i; }, numbers);
  for (int64_t i = 0; i < rows; ++i) {
    const double length = numbers.data<double>()[i];
    const bool is_integer = std::trunc(length) == length;  // NaN is none
    if (!is_integer || length < 1 || length > static_cast<double>(steps))
      throw UserError(
          {.what = str(row_location(array, i), is_integer ? ": the length of the sequence is out of range"
                                                          : ": the length of the sequence is not an integer"),
           .expected = str("from 1 to ", steps, ", the steps in ", x.origin),
           .got = number_text(length),
           .config = array.where,
           .hint = counting_hint(array)});
    of_rows.push_back(static_cast<int64_t>(length));
  }
}

// Bytes of one step.
static size_t step_bytes(const Tensor& rows) {
  return static_cast<size_t>(element_count(Shape(rows.shape().begin() + 2, rows.shape().end()))) *
         size_of(rows.dtype());
}

static std::byte* bytes_of(Tensor& tensor) {
  return static_cast<std::byte*>(tensor.raw());
}
static const std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.raw());
}

void clear_behind_end(Tensor rows, const Tensor& lengths) {
  TH_CHECK(rows.is_contiguous() && rows.rank() >= 2 && lengths.shape() == Shape{rows.dim(0)}, rows.type_text(),
           " with lengths ", lengths.type_text());
  const auto steps = static_cast<size_t>(rows.dim(1));
  const size_t bytes = step_bytes(rows);
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    const auto length = static_cast<size_t>(lengths.data<int64_t>()[i]);
    std::memset(bytes_of(rows) + (static_cast<size_t>(i) * steps + length) * bytes, 0, (steps - length) * bytes);
  }
}

Tensor steps_within(const Tensor& rows, const Tensor& lengths) {
  TH_CHECK(rows.is_contiguous() && rows.rank() >= 2, rows.type_text());
  const int64_t steps = rows.dim(1);
  auto length_of = [&](int64_t i) { return lengths.rank() == 0 ? steps : lengths.data<int64_t>()[i]; };
  int64_t count = 0;
  for (int64_t i = 0; i < rows.dim(0); ++i) count += length_of(i);
  Shape shape(rows.shape().begin() + 1, rows.shape().end());
  shape[0] = count;
  if (count == rows.dim(0) * steps) return rows.reshape(shape);
  Tensor out = Tensor::empty(rows.dtype(), shape);
  const size_t bytes = step_bytes(rows);
  std::byte* to = bytes_of(out);
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    const size_t length = static_cast<size_t>(length_of(i)) * bytes;
    std::memcpy(to, bytes_of(rows) + static_cast<size_t>(i * steps) * bytes, length);
    to += length;
  }
  return out;
}

int64_t longest(const Tensor& lengths) {
  const auto* first = lengths.data<int64_t>();
  return lengths.size() == 0 ? 0 : *std::max_element(first, first + lengths.size());
}

Tensor first_steps(const Tensor& rows, int64_t steps) {
  if (steps == rows.dim(1)) return rows;
  std::vector<int64_t> all(static_cast<size_t>(rows.dim(0)));
  std::iota(all.begin(), all.end(), 0);
  return first_steps(rows, all, steps);
}

Tensor first_steps(const Tensor& rows, std::span<const int64_t> which, int64_t steps) {
  TH_CHECK(rows.is_contiguous() && rows.rank() >= 2 && steps <= rows.dim(1), steps, " steps of ", rows.type_text());
  Shape shape = rows.shape();
  shape[0] = std::ssize(which);
  shape[1] = steps;
  Tensor out = Tensor::empty(rows.dtype(), shape);
  const size_t bytes = step_bytes(rows), all = static_cast<size_t>(rows.dim(1)) * bytes,
               kept = static_cast<size_t>(steps) * bytes;
  for (size_t i = 0; i < which.size(); ++i)
    std::memcpy(bytes_of(out) + i * kept, bytes_of(rows) + static_cast<size_t>(which[i]) * all, kept);
  return out;
}

}  // namespace thtrain
