#include "datasets/data_array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "datasets/elements.h"

namespace thtrain {

Tensor outline(DType dtype, const Shape& shape) {
  return Tensor::wrap(dtype, shape, row_major_strides(shape), nullptr, nullptr);
}

int64_t row_bytes(const DataArray& array) {
  const Shape& shape = array.raw.shape();
  return element_count(Shape(shape.begin() + 1, shape.end())) * static_cast<int64_t>(size_of(array.raw.dtype()));
}

namespace {

/// One element at any byte order. A bool is any byte: files may hold others than 0 and 1.
template <class T, bool kSwapped>
T load(const std::byte* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};
  } else {
    T value;
    if constexpr (kSwapped)
      std::reverse_copy(from, from + sizeof(T), reinterpret_cast<std::byte*>(&value));
    else
      std::memcpy(&value, from, sizeof(T));
    return value;
  }
}

/// Calls f(element) for each element of one row, in row-major order. `strides` in bytes, without that of the rows.
template <class T, bool kSwapped, class F>
void for_each_element(const std::byte* row, const Shape& shape, const Shape& strides, bool contiguous, F f) {
  if (contiguous) {
    int64_t count = element_count(shape);
    for (int64_t i = 0; i < count; ++i) f(load<T, kSwapped>(row + i * static_cast<int64_t>(sizeof(T))));
    return;
  }
  for_each_index(shape, [&](const Shape& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
    f(load<T, kSwapped>(row + offset));
  });
}

/// Rows row_of(begin) and on from their source into `out`; neighbours at once.
void read_rows(const DataArray& array, int64_t begin, int64_t count, const RowOf& row_of, std::byte* out) {
  int64_t bytes = row_bytes(array);
  for (int64_t i = 0, run = 1; i < count; i += run) {
    int64_t first = row_of(begin + i);
    for (run = 1; i + run < count && row_of(begin + i + run) == first + run;) ++run;
    array.source->read(first, run, out + i * bytes);
  }
}

/// Calls f(i, row) with the bytes of each row, read from the source by pieces.
template <class F>
void for_each_row_of_source(const DataArray& array, int64_t count, const RowOf& row_of, F f) {
  constexpr int64_t kPieceBytes = int64_t{1} << 20;
  int64_t bytes = row_bytes(array), piece = std::clamp<int64_t>(kPieceBytes / std::max<int64_t>(bytes, 1), 1, count);
  auto buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(piece * bytes));
  for (int64_t begin = 0; begin < count; begin += piece) {
    int64_t length = std::min(piece, count - begin);
    read_rows(array, begin, length, row_of, buffer.get());
    for (int64_t i = 0; i < length; ++i) f(begin + i, buffer.get() + i * bytes);
  }
}

/// Calls f(i, element) for the elements of each row; `i` counts the rows asked for.
template <class F>
void for_each_row(const DataArray& array, int64_t count, const RowOf& row_of, F f) {
  const Tensor& raw = array.raw;
  if (count == 0) return;
  Shape shape(raw.shape().begin() + 1, raw.shape().end()), strides(raw.strides().begin() + 1, raw.strides().end());
  bool contiguous = array.source || raw.rows(0, 1).is_contiguous();
  auto width = static_cast<int64_t>(size_of(raw.dtype()));
  for (int64_t& stride : strides) stride *= width;
  visit(raw.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>) {
      auto one_row = [&](int64_t i, const std::byte* row) {
        auto each = [&](T value) { f(i, value); };
        if (array.swapped)
          for_each_element<T, true>(row, shape, strides, contiguous, each);
        else
          for_each_element<T, false>(row, shape, strides, contiguous, each);
      };
      if (array.source) return for_each_row_of_source(array, count, row_of, one_row);
      for (int64_t i = 0; i < count; ++i)
        one_row(i, static_cast<const std::byte*>(raw.raw()) + row_of(i) * raw.strides()[0] * width);
    }
  });
}

template <class To>
void convert_rows(const DataArray& array, double scale, const RowOf& row_of, Tensor into) {
  To* out = into.data<To>();
  const Tensor& raw = array.raw;
  const int64_t count = into.dim(0);
  if (count > 0 && !array.swapped && (array.source || raw.rows(0, 1).is_contiguous())) {
    const int64_t elements = into.size() / count;
    if (array.source)
      return for_each_row_of_source(array, count, row_of, [&](int64_t i, const std::byte* row) {
        convert_elements(raw.dtype(), row, elements, scale, out + i * elements);
      });
    const int64_t stride = raw.strides()[0] * static_cast<int64_t>(size_of(raw.dtype()));
    for (int64_t i = 0; i < count; ++i)
      convert_elements(raw.dtype(), static_cast<const std::byte*>(raw.raw()) + row_of(i) * stride, elements, scale,
                       out + i * elements);
    return;
  }
  if (scale == 1) {
    for_each_row(array, count, row_of, [&](int64_t, auto value) { *out++ = static_cast<To>(value); });
  } else {
    for_each_row(array, count, row_of,
                 [&](int64_t, auto value) { *out++ = static_cast<To>(static_cast<double>(value) * scale); });
  }
}

}  // namespace

void convert_rows(const DataArray& array, double scale, const RowOf& row_of, Tensor into) {
  bool is_unchanged = array.source && scale == 1 && !array.swapped && array.raw.dtype() == into.dtype();
  if (is_unchanged)
    read_rows(array, 0, into.dim(0), row_of, static_cast<std::byte*>(into.raw()));
  else if (into.dtype() == DType::kFloat32)
    convert_rows<float>(array, scale, row_of, into);
  else
    convert_rows<double>(array, scale, row_of, into);
}

std::string row_location(const DataArray& array, int64_t row) {
  if (array.text) return str(array.origin, ": line ", array.text->lines[static_cast<size_t>(row)]);
  return str(array.origin, ": row ", row);
}

std::string counting_hint(const DataArray& array) {
  return array.text ? "" : "rows and columns count from 0";
}

/// The row-th label cannot be the number of a class.
[[noreturn]] static void refuse_label(const DataArray& array, int64_t row, const std::string& value,
                                      bool is_too_large) {
  const bool is_named = array.text && !array.text->label.empty();
  const std::string column = is_named ? str(", column ", array.text->label) : "";
  const std::string values = "data.target = \"values\" takes numbers to approximate";
  std::string hint = counting_hint(array);
  if (!is_too_large && value.find("nan") == std::string::npos) hint = str(values, hint.empty() ? "" : ";\n", hint);
  throw UserError({.what = str(row_location(array, row), column,
                               is_too_large ? ": the label is too large" : ": the label is not an integer"),
                   .expected = "the number of a class",
                   .got = value,
                   .config = array.where,
                   .hint = is_named ? str("data.label_column names another column; ", values) : hint});
}

// Calls f(i, position in the row, element) for the elements of each row that are looked at, and puts what it gives into
// `out`.
template <class To, class F>
static void convert_each(const DataArray& array, int64_t count, const RowOf& row_of, const RowOf& within, To* out,
                         F f) {
  const Shape& shape = array.raw.shape();
  const int64_t elements = element_count(Shape(shape.begin() + 1, shape.end()));
  int64_t done = 0, end = elements;
  for_each_row(array, count, row_of, [&](int64_t i, auto value) {
    const int64_t position = done++ % elements;
    if (position == 0 && within) end = within(i);
    *out++ = position < end ? f(i, position, value) : To{0};
  });
}

void convert_labels(const DataArray& array, const RowOf& row_of, Tensor into, const RowOf& within) {
  auto label = [&](int64_t i, int64_t, auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      constexpr double kFirstTooLarge = 9223372036854775808.0;
      if (!(std::trunc(value) == value && std::abs(static_cast<double>(value)) < kFirstTooLarge))
        refuse_label(array, row_of(i), str(value), value >= static_cast<decltype(value)>(kFirstTooLarge));
    } else if constexpr (std::is_same_v<decltype(value), uint64_t>) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        refuse_label(array, row_of(i), str(value), true);
    }
    return static_cast<int64_t>(value);
  };
  convert_each(array, into.dim(0), row_of, within, into.data<int64_t>(), label);
}

void convert_bits(const DataArray& array, const RowOf& row_of, Tensor into, const RowOf& within) {
  const Shape shape(array.raw.shape().begin() + 1, array.raw.shape().end());
  auto bit = [&](int64_t i, int64_t position, auto value) {
    if (value != decltype(value){0} && value != decltype(value){1})
      throw UserError({.what = str(element_location(array, shape, row_of(i), position),
                                   ": not a label that an example has or has not"),
                       .expected = "0 or 1",
                       .got = number_text(static_cast<double>(value)),
                       .config = array.where,
                       .hint = counting_hint(array)});
    return static_cast<uint8_t>(value);
  };
  convert_each(array, into.dim(0), row_of, within, into.data<uint8_t>(), bit);
}

void check_array(const DataArray& array) {
  bool complex = is_complex(array.raw.dtype());
  if (!complex && array.raw.rank() > 0) return;
  throw UserError({.what = str(array.origin, complex ? ": complex numbers cannot be trained on"
                                                     : ": a single number, not a list of examples"),
                   .expected = complex ? "real numbers" : "an array whose first axis counts the examples",
                   .got = array.raw.type_text(),
                   .config = array.where,
                   .hint = complex ? "numpy.abs(array), or two columns: real and imaginary part" : ""});
}

std::string element_location(const DataArray& array, const Shape& shape, int64_t row, int64_t position) {
  if (array.text && shape.size() == 1) {
    const std::string& name = array.text->columns[static_cast<size_t>(position)];
    return str(row_location(array, row), ", column ", array.text->named ? str('"', name, '"') : name);
  }
  Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0; position /= std::max<int64_t>(shape[i], 1)) index[i] = position % shape[i];
  if (index.empty()) return row_location(array, row);
  return str(row_location(array, row),
             index.size() == 1 ? str(", column ", index[0]) : str(", element ", shape_text(index)));
}

}  // namespace thtrain
