// A dense array on the host: constants, reference values, arguments and results of functions, batches of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"

namespace thtrain {

using Shape = std::vector<int64_t>;

// ---- for other parts of the compiler -------------------------------------------------------------------------------

int64_t element_count(std::span<const int64_t> shape);   // the product; 1 for a scalar
std::string shape_text(std::span<const int64_t> shape);  // "[60, 784]"
Shape row_major_strides(std::span<const int64_t> shape);

// ---- memory --------------------------------------------------------------------------------------------------------

/// An array. A handle: copies share the elements, copy() does not. Strides count elements and may be negative.
/// New buffers are aligned to 64 bytes.
class Tensor {
 public:
  Tensor();  // the float64 scalar 0
  /// Uninitialized elements.
  static Tensor empty(DType dtype, Shape shape);
  static Tensor zeros(DType dtype, Shape shape);
  /// A scalar of the C++ type's dtype.
  template <class T>
  requires(std::is_arithmetic_v<T> || is_complex_v<T>) Tensor(T value) : Tensor(empty(dtype_of<T>(), {})) {
    *data<T>() = value;
  }
  /// Elements in row-major order; UserError unless their number fits `shape`.
  template <class T>
  static Tensor of(std::span<const T> elements, Shape shape);
  template <class T>
  static Tensor of(const std::vector<T>& elements, Shape shape) {
    return of(std::span<const T>(elements), std::move(shape));
  }
  template <class T>
  static Tensor vector(std::initializer_list<T> elements) {
    return of(std::span<const T>(elements.begin(), elements.size()), {static_cast<int64_t>(elements.size())});
  }
  template <class T>
  static Tensor matrix(std::initializer_list<std::initializer_list<T>> rows);
  /// Wraps memory that `owner` keeps alive; strides in elements.
  static Tensor wrap(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int64_t dim(size_t axis) const { return shape_.at(axis); }
  size_t rank() const { return shape_.size(); }
  int64_t size() const { return element_count(shape_); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype_); }
  bool is_contiguous() const;

  /// The first element; InternalError if T is not the dtype.
  template <class T>
  T* data() const {
    TH_CHECK(dtype_of<T>() == dtype_, "tensor of ", name_of(dtype_), " read as ", name_of(dtype_of<T>()));
    return static_cast<T*>(data_);
  }
  void* raw() const { return data_; }
  template <class T>
  T& at(std::initializer_list<int64_t> index) const {
    return data<T>()[offset(std::span(index.begin(), index.size()))];
  }
  /// Elements from the first to the element at `index`.
  int64_t offset(std::span<const int64_t> index) const;
  /// The element at row-major position `i` as a double (the real part of a complex one).
  double as_double(int64_t i = 0) const;
  int64_t as_int(int64_t i = 0) const;

  Tensor copy() const;             // row-major, own elements
  Tensor contiguous() const;       // itself where it is row-major already
  Tensor cast(DType dtype) const;  // C++ conversions; float to bool is x != 0
  /// The same integers in another dtype; nullopt where one of them does not fit (in a float: or is beyond 2^53), and
  /// where these are no integers.
  std::optional<Tensor> integers_as(DType dtype) const;
  Tensor reshape(Shape shape) const;                // shares the elements where this is row-major
  Tensor rows(int64_t begin, int64_t count) const;  // along axis 0, shares the elements
  /// A view with other lengths and strides, `offset` elements further.
  Tensor view(Shape shape, Shape strides, int64_t offset) const;
  /// Copies the elements of `source` (same dtype and shape) into this buffer.
  void assign(const Tensor& source) const;
  bool shares_memory_with(const Tensor& other) const { return owner_ == other.owner_ && owner_ != nullptr; }

  /// "float32[2, 3]"
  std::string type_text() const;
  /// The elements as nested lists, at most `limit` of them.
  std::string text(int64_t limit = 64) const;

 private:
  Tensor(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), data_(data), owner_(std::move(owner)) {}

  DType dtype_;
  Shape shape_, strides_;
  void* data_;
  std::shared_ptr<void> owner_;
};

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// Same dtype, same shape, and the same bits in every element (so NaN equals the same NaN, 0 differs from -0).
bool same_bits(const Tensor& a, const Tensor& b);

/// for_each_index({2, 3}, f) calls f(index) in row-major order; none if a length is 0, once for a scalar.
template <class F>
void for_each_index(const Shape& shape, F f) {
  if (element_count(shape) == 0) return;
  Shape index(shape.size(), 0);
  while (true) {
    f(static_cast<const Shape&>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

[[noreturn]] void throw_element_count(size_t given, const Shape& shape);

template <class T>
Tensor Tensor::of(std::span<const T> elements, Shape shape) {
  if (static_cast<int64_t>(elements.size()) != element_count(shape)) throw_element_count(elements.size(), shape);
  Tensor out = empty(dtype_of<T>(), std::move(shape));
  for (size_t i = 0; i < elements.size(); ++i) out.data<T>()[i] = elements[i];
  return out;
}

template <class T>
Tensor Tensor::matrix(std::initializer_list<std::initializer_list<T>> rows) {
  std::vector<T> elements;
  for (auto row : rows) elements.insert(elements.end(), row.begin(), row.end());
  auto columns = rows.size() ? rows.begin()->size() : 0;
  return of(std::span<const T>(elements), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}

}  // namespace thtrain
