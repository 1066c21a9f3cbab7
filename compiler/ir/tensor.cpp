#include "compiler/ir/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "compiler/ir/convert.h"

namespace thtrain {

// A processor has addresses for less than that: 2^47 bytes.
constexpr int64_t kMostBytes = int64_t{1} << 47;

[[noreturn]] static void throw_too_large(const std::string& what, const std::string& got) {
  throw UserError({.what = what,
                   .expected = "no more than fits in memory",
                   .got = got,
                   .hint = "look at the numbers that its lengths are computed from"});
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t n = 1;
  bool too_many = false;
  for (int64_t length : shape) {
    if (length == 0) return 0;
    too_many = __builtin_mul_overflow(n, length, &n) || too_many;
  }
  if (too_many) throw_too_large("a value has too many elements", shape_text(shape));
  return n;
}

std::string shape_text(std::span<const int64_t> shape) {
  return str("[", join(shape, ", "), "]");
}

Shape row_major_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    __builtin_mul_overflow(stride, shape[i], &stride);  // too large only where another length is 0
  }
  return strides;
}

void throw_element_count(size_t given, const Shape& shape) {
  throw UserError({.what = "the number of elements does not fit the shape",
                   .expected = str(element_count(shape), " elements for ", shape_text(shape)),
                   .got = str(given)});
}

void throw_uneven_rows(size_t first, size_t other) {
  throw UserError({.what = "the rows of a matrix have different lengths",
                   .expected = str(first, " elements, as in the first row"),
                   .got = str(other)});
}

// No length is negative.
static void check_shape(std::string_view what, const Shape& shape) {
  for (int64_t length : shape)
    if (length < 0)
      throw UserError(
          {.what = str(what, ": a length is negative"), .expected = "lengths of at least 0", .got = shape_text(shape)});
}

static void check_strides(std::string_view what, const Shape& shape, const Shape& strides) {
  check_shape(what, shape);
  if (shape.size() != strides.size())
    throw UserError({.what = str(what, ": a tensor has a stride for each axis"),
                     .expected = str(shape.size(), " strides for ", shape_text(shape)),
                     .got = shape_text(strides)});
}

Tensor::Tensor() : Tensor(0.0) {}

Tensor Tensor::empty(DType dtype, Shape shape, const AddressSpace* space) {
  check_shape("a new tensor", shape);
  const int64_t elements = element_count(shape);
  const std::string_view what = "the memory for a value is not there";
  if (elements > kMostBytes / static_cast<int64_t>(size_of(dtype)))
    throw_too_large(std::string(what), str(name_of(dtype), shape_text(shape), ", ", elements, " elements"));
  const size_t bytes = static_cast<size_t>(elements) * size_of(dtype);
  Storage memory;
  try {
    memory = Storage::allocate(bytes, space);
  } catch (const std::bad_alloc&) {
    throw_too_large(std::string(what), str(name_of(dtype), shape_text(shape), ", ", bytes, " bytes"));
  }
  Shape strides = row_major_strides(shape);
  void* first = memory.begin();
  return Tensor(dtype, std::move(shape), std::move(strides), first, std::move(memory));
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor out = empty(dtype, std::move(shape));
  std::memset(out.raw(), 0, out.bytes());
  return out;
}

Tensor Tensor::wrap(DType dtype, Shape shape, Shape strides, void* data, std::shared_ptr<void> owner) {
  check_strides("wrap", shape, strides);
  return Tensor(dtype, std::move(shape), std::move(strides), data, Storage(std::move(owner)));
}

Tensor Tensor::wrap(DType dtype, Shape shape, Shape strides, void* data, const AddressSpace& space) {
  check_strides("wrap", shape, strides);
  return Tensor(dtype, std::move(shape), std::move(strides), data, Storage(&space));
}

static bool has_no_elements(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

bool Tensor::is_contiguous() const {
  if (has_no_elements(shape_)) return true;
  int64_t stride = 1;
  for (size_t i = rank(); i-- > 0;) {
    if (shape_[i] != 1 && strides_[i] != stride) return false;
    stride *= shape_[i];
  }
  return true;
}

void Tensor::fail_axis(size_t axis) const {
  throw UserError({.what = str("a tensor has no axis ", axis),
                   .expected = rank() == 0 ? std::string("no axis of a scalar") : str("an axis from 0 to ", rank() - 1),
                   .got = str("axis ", axis, " of ", type_text())});
}

void Tensor::fail_access(DType asked) const {
  if (!on_host_)
    throw UserError({.what = "the elements of a tensor are read or written in another memory than the host's",
                     .expected = "a tensor on the host",
                     .got = str(type_text(), " in ", space()->name()),
                     .hint = "on_host() gives a copy there, assign() copies into a tensor wherever it is"});
  throw UserError({.what = str("a tensor of ", name_of(dtype_), " is read as ", name_of(asked)),
                   .expected = str("the C++ type of ", name_of(dtype_)),
                   .got = type_text(),
                   .hint = str("cast(DType) gives a tensor of another dtype, as_double() the elements of each dtype")});
}

int64_t Tensor::offset(std::span<const int64_t> index) const {
  if (index.size() != rank()) [[unlikely]]
    throw UserError({.what = "an element of a tensor has an index for each axis",
                     .expected = str(rank(), " for ", type_text()),
                     .got = shape_text(index)});
  int64_t out = 0;
  for (size_t i = 0; i < index.size(); ++i) out += index[i] * strides_[i];
  return out;
}

int64_t Tensor::checked_offset(std::span<const int64_t> index) const {
  for (size_t i = 0; i < std::min(index.size(), rank()); ++i)
    if (index[i] < 0 || index[i] >= shape_[i]) [[unlikely]]
      throw UserError({.what = "a tensor has no element of this index",
                       .expected = str("indices from 0, below the lengths of ", type_text()),
                       .got = shape_text(index)});
  return offset(index);
}

int64_t Tensor::offset_of_position(int64_t position) const {
  if (position < 0 || position >= size()) [[unlikely]]
    throw UserError({.what = str("a tensor has no element ", position),
                     .expected = size() == 0 ? std::string("none: it is empty") : str("from 0 to ", size() - 1),
                     .got = str("element ", position, " of ", type_text())});
  int64_t out = 0;
  for (size_t i = rank(); i-- > 0;) {
    out += position % shape_[i] * strides_[i];
    position /= shape_[i];
  }
  return out;
}

namespace {

// f(destination, source) for each element; both of the same shape.
template <class To, class From, class F>
void zip(Tensor& to, const Tensor& from, F f) {
  To* d = static_cast<To*>(to.raw());
  const From* s = static_cast<const From*>(from.raw());
  if (to.is_contiguous() && from.is_contiguous()) {
    int64_t n = to.size();
    for (int64_t i = 0; i < n; ++i) f(d[i], s[i]);
  } else {
    for_each_index(to.shape(), [&](const Shape& index) { f(d[to.offset(index)], s[from.offset(index)]); });
  }
}

}  // namespace

double Tensor::as_double(int64_t i) const {
  return visit(dtype_, [&](auto zero) { return convert<double>(data<decltype(zero)>()[offset_of_position(i)]); });
}

int64_t Tensor::as_int(int64_t i) const {
  return visit(dtype_, [&](auto zero) { return convert<int64_t>(data<decltype(zero)>()[offset_of_position(i)]); });
}

void Tensor::assign(const Tensor& source) {
  if (source.dtype_ != dtype_ || source.shape_ != shape_)
    throw UserError(
        {.what = "assign: the tensors differ in dtype or shape", .expected = type_text(), .got = source.type_text()});
  if (!on_host_ || !source.on_host_) return assign_across(source);
  if (is_contiguous() && source.is_contiguous()) {
    if (bytes() != 0) std::memmove(data_, source.data_, bytes());
    return;
  }
  visit(dtype_, [&](auto zero) {
    using T = decltype(zero);
    zip<T, T>(*this, source, [](T& d, T s) { d = s; });
  });
}

Tensor Tensor::copy(const AddressSpace* space) const {
  Tensor out = empty(dtype_, shape_, space);
  out.assign(*this);
  return out;
}

Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : copy(space());
}

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor out = empty(dtype, shape_);
  visit(dtype_, [&](auto from_zero) {
    visit(dtype, [&](auto to_zero) {
      using From = decltype(from_zero);
      using To = decltype(to_zero);
      zip<To, From>(out, *this, [](To& d, From s) { d = convert<To>(s); });
    });
  });
  return out;
}

std::optional<Tensor> Tensor::integers_as(DType dtype) const {
  if (!is_int(dtype_) || !(is_int(dtype) || is_float(dtype) || is_complex(dtype))) return std::nullopt;
  // 2^53 bounds what a double holds; beyond it an integer is compared by its 64 bits. 2^63 and more are left out.
  constexpr int64_t kExact = int64_t{1} << 53;
  Tensor out = cast(dtype);
  for (int64_t i = 0; i < size(); ++i) {
    const int64_t number = as_int(i);
    const bool wraps = number < 0 && (dtype_ == DType::kUInt64 || dtype == DType::kUInt64);
    const bool is_same = is_int(dtype) ? out.as_int(i) == number
                                       : std::abs(number) <= kExact && out.as_double(i) == static_cast<double>(number);
    if (wraps || !is_same) return std::nullopt;
  }
  return out;
}

Tensor Tensor::reshape(Shape shape) const {
  check_shape("reshape", shape);
  if (element_count(shape) != size()) throw_element_count(static_cast<size_t>(size()), shape);
  Tensor base = contiguous();
  Shape strides = row_major_strides(shape);
  return Tensor(dtype_, std::move(shape), std::move(strides), base.data_, base.storage_);
}

Tensor Tensor::rows(int64_t begin, int64_t count) const {
  if (rank() == 0 || begin < 0 || count < 0 || begin > shape_[0] || count > shape_[0] - begin)
    throw UserError(
        {.what = "rows: a tensor has no such rows",
         .expected = rank() == 0 ? std::string("a tensor with axes") : str("rows from 0, below ", shape_[0]),
         .got = str(count, " rows from row ", begin, " of ", type_text())});
  Shape shape = shape_;
  shape[0] = count;
  return Tensor(dtype_, std::move(shape), strides_, address_at(begin * strides_[0]), storage_);
}

namespace {

struct Reach {
  int64_t lowest = 0, highest = 0;
  bool is_known = true;  // no product is too large
};

// The elements from the first that a tensor with elements has.
Reach reach_of(const Shape& shape, const Shape& strides, int64_t offset) {
  Reach out{offset, offset};
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t step = 0;
    int64_t& end = strides[i] < 0 ? out.lowest : out.highest;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) || __builtin_add_overflow(end, step, &end))
      out.is_known = false;
  }
  return out;
}

}  // namespace

// With what lies between the elements.
Tensor Tensor::on_host() const {
  if (on_host_) return *this;
  if (has_no_elements(shape_)) return empty(dtype_, shape_);
  const Reach reach = reach_of(shape_, strides_, 0);
  Tensor span = empty(dtype_, {reach.highest - reach.lowest + 1});
  space()->read(span.raw(), address_at(reach.lowest), span.bytes());
  return Tensor(dtype_, shape_, strides_, span.address_at(-reach.lowest), span.storage_);
}

// Within a space no element comes to the host, where both lie row by row and apart.
void Tensor::assign_across(const Tensor& source) {
  const auto *begin = static_cast<const char*>(data_), *other = static_cast<const char*>(source.data_);
  const bool are_apart = begin + bytes() <= other || other + source.bytes() <= begin;
  if (space() && source.space() == space() && is_contiguous() && source.is_contiguous() && are_apart) {
    if (bytes() > 0) space()->copy(data_, source.data_, bytes());
    return;
  }
  const Tensor from = source.on_host();
  if (on_host_) return assign(from);
  if (has_no_elements(shape_)) return;
  const Reach reach = reach_of(shape_, strides_, 0);
  Tensor changed = is_contiguous() ? from.contiguous() : on_host();
  if (!is_contiguous()) changed.assign(from);
  const auto elements = static_cast<size_t>(reach.highest - reach.lowest + 1);
  space()->write(address_at(reach.lowest), changed.address_at(reach.lowest), elements * size_of(dtype_));
}

Tensor Tensor::view(Shape shape, Shape strides, int64_t offset) const {
  check_strides("view", shape, strides);
  if (has_no_elements(shape)) return Tensor(dtype_, std::move(shape), std::move(strides), data_, storage_);
  const Reach own = reach_of(shape_, strides_, 0), reach = reach_of(shape, strides, offset);
  if (has_no_elements(shape_) || !reach.is_known || reach.lowest < own.lowest || reach.highest > own.highest)
    throw UserError({.what = "view: it has elements outside of the tensor",
                     .expected = str("elements of ", type_text()),
                     .got = str(shape_text(shape), " with strides ", shape_text(strides), " from element ", offset)});
  return Tensor(dtype_, std::move(shape), std::move(strides), address_at(offset), storage_);
}

std::string Tensor::type_text() const {
  return str(name_of(dtype_), shape_text(shape_));
}

std::string Tensor::text(int64_t limit) const {
  int64_t shown = 0;
  auto element = [&](int64_t at) {
    return visit(dtype_, [&](auto zero) -> std::string {
      using T = decltype(zero);
      T x = static_cast<const T*>(raw())[at];
      if constexpr (is_complex_v<T>)
        return str(x.real(), x.imag() < 0 ? "" : "+", x.imag(), "j");
      else
        return str(x);
    });
  };
  auto nested = [&](auto&& self, size_t axis, int64_t at) -> std::string {
    if (axis == rank()) {
      ++shown;
      return element(at);
    }
    std::string out = "[";
    for (int64_t i = 0; i < shape_[axis]; ++i) {
      if (i) out += ", ";
      if (shown >= limit) {
        out += "...";
        break;
      }
      if (size() == 0) ++shown;  // rows without elements count too
      out += self(self, axis + 1, at + i * strides_[axis]);
    }
    return out + "]";
  };
  return nested(nested, 0, 0);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.size() == 0) return true;
  Tensor ca = a.contiguous(), cb = b.contiguous();
  return std::memcmp(ca.raw(), cb.raw(), ca.bytes()) == 0;
}

}  // namespace thtrain
