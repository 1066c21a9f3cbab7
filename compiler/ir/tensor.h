// A dense array: constants, reference values, arguments and results of functions, batches of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ir/storage.h"

namespace thtrain {

using Shape = std::vector<int64_t>;

// ---- for other parts of the compiler -------------------------------------------------------------------------------

int64_t element_count(std::span<const int64_t> shape);   // the product; 1 for a scalar
std::string shape_text(std::span<const int64_t> shape);  // "[60, 784]"
Shape row_major_strides(std::span<const int64_t> shape);

// ---- memory --------------------------------------------------------------------------------------------------------

/// An array. A handle: copies share the elements, copy() does not. A const handle gives no way to write elements; what
/// is made of it (a copy, rows, a view) is a handle of its own. Strides count elements and may be negative. New buffers
/// are aligned to 64 bytes. Elements lie in the host's memory, or in another address space: then they are copied by
/// copy(), on_host(), contiguous() and assign() alone, and what reads or writes them in place is a UserError.
class Tensor {
 public:
  Tensor();  // the float64 scalar 0
  /// Uninitialized elements. UserError where a length is negative, or there is no memory for them.
  static Tensor empty(DType dtype, Shape shape, const AddressSpace* space = nullptr);
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
  /// UserError unless all rows have the same length.
  template <class T>
  static Tensor matrix(std::initializer_list<std::initializer_list<T>> rows);
  /// Wraps memory of the host that `owner` keeps alive; strides in elements, one for each length.
  static Tensor wrap(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner);
  /// Elements of another address space, which somebody else keeps.
  static Tensor wrap(DType dtype, Shape shape, Shape strides, void* data, const AddressSpace& space);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  /// UserError where there is no such axis.
  int64_t dim(size_t axis) const {
    if (axis >= shape_.size()) [[unlikely]]
      fail_axis(axis);
    return shape_[axis];
  }
  size_t rank() const { return shape_.size(); }
  int64_t size() const { return element_count(shape_); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype_); }
  bool is_contiguous() const;

  /// The first element; UserError if T is not the dtype.
  template <class T>
  const T* data() const {
    if (dtype_of<T>() != dtype_ || !on_host_) [[unlikely]]
      fail_access(dtype_of<T>());
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* data() {
    return const_cast<T*>(std::as_const(*this).data<T>());
  }
  const void* raw() const {
    if (!on_host_) [[unlikely]]
      fail_access(dtype_);
    return data_;
  }
  void* raw() {
    if (!on_host_) [[unlikely]]
      fail_access(dtype_);
    return data_;
  }
  /// The first element's address in its space.
  const void* address() const { return data_; }
  bool is_on_host() const { return on_host_; }
  /// Null: the host's.
  const AddressSpace* space() const { return storage_.space(); }
  /// The element at `index`, one number for each axis. UserError if T is not the dtype or there is no such element.
  template <class T>
  const T& at(std::initializer_list<int64_t> index) const {
    return data<T>()[checked_offset({index.begin(), index.size()})];
  }
  template <class T>
  T& at(std::initializer_list<int64_t> index) {
    return data<T>()[checked_offset({index.begin(), index.size()})];
  }
  /// Elements from the first to the element at `index`, whose numbers are not checked. UserError unless it has one for
  /// each axis.
  int64_t offset(std::span<const int64_t> index) const;
  /// The element at row-major position `i` as a double (the real part of a complex one), or as an integer. UserError
  /// where there is no such element.
  double as_double(int64_t i = 0) const;
  int64_t as_int(int64_t i = 0) const;

  Tensor copy(const AddressSpace* space = nullptr) const;  // row-major, own elements; on the host, or in `space`
  Tensor on_host() const;                                  // itself where it is there already
  Tensor contiguous() const;                               // itself where it is row-major already
  Tensor cast(DType dtype) const;                          // see compiler/ir/convert.h
  /// The same integers in another dtype; nullopt where one of them does not fit (in a float: or is beyond 2^53), and
  /// where these are no integers.
  std::optional<Tensor> integers_as(DType dtype) const;
  Tensor reshape(Shape shape) const;                // shares the elements where this is row-major
  Tensor rows(int64_t begin, int64_t count) const;  // along axis 0, shares the elements; UserError beyond its end
  /// A view with other lengths and strides, `offset` elements further. UserError where it has elements outside of this.
  Tensor view(Shape shape, Shape strides, int64_t offset) const;
  /// Copies the elements of `source` into this buffer. UserError unless it has the same dtype and shape.
  void assign(const Tensor& source);
  bool shares_memory_with(const Tensor& other) const { return storage_.is_same(other.storage_); }

  /// "float32[2, 3]"
  std::string type_text() const;
  /// The elements as nested lists, at most `limit` of them.
  std::string text(int64_t limit = 64) const;

 private:
  Tensor(DType dtype, Shape shape, Shape strides, void* data, Storage storage)
      : dtype_(dtype),
        on_host_(!storage.space()),
        shape_(std::move(shape)),
        strides_(std::move(strides)),
        data_(data),
        storage_(std::move(storage)) {}

  [[noreturn]] void fail_axis(size_t axis) const;
  [[noreturn]] void fail_access(DType asked) const;
  int64_t checked_offset(std::span<const int64_t> index) const;
  int64_t offset_of_position(int64_t position) const;
  void assign_across(const Tensor& source);
  void* address_at(int64_t offset) const {
    return static_cast<char*>(data_) + offset * static_cast<int64_t>(size_of(dtype_));
  }

  DType dtype_;
  bool on_host_;
  Shape shape_, strides_;
  void* data_;
  Storage storage_;
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
[[noreturn]] void throw_uneven_rows(size_t first, size_t other);

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
  auto columns = rows.size() ? rows.begin()->size() : 0;
  for (auto row : rows) {
    if (row.size() != columns) throw_uneven_rows(columns, row.size());
    elements.insert(elements.end(), row.begin(), row.end());
  }
  return of(std::span<const T>(elements), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)});
}

}  // namespace thtrain
