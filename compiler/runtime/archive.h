// Values as bytes, for files that this library writes and reads: programs in the cache, functions.
#pragma once

#include <concepts>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/node.h"

namespace thtrain {

/// The fields of each part, in the order of the bytes, are a function `fields(archive, part)` that calls
/// archive(part.a, part.b): a ByteWriter writes them, a ByteReader reads them.
template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

template <class Archive>
void fields(Archive& a, Is<ConfigPosition> auto& p) {
  a(p.file, p.line, p.column, p.length, p.source_line);
}

class ByteWriter {
 public:
  template <class... Parts>
  void operator()(const Parts&... parts) {
    (put(parts), ...);
  }
  std::string bytes;
  bool failed = false;                  // a part cannot be written
  std::span<const Op* const> user_ops;  // that parts name by their numbers

 private:
  void put(std::integral auto value) {
    const auto wide = static_cast<int64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void put(double value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  requires std::is_enum_v<T>
  void put(T value) { put(static_cast<int64_t>(value)); }
  void put(std::string_view text) {
    put(text.size());
    bytes += text;
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const Dim& dim) { put(dim.text()); }
  void put(const Type& type) { put(type.text()); }
  void put(const Dims& dims) { put(Type{.dtype = DType::kBool, .dims = dims}); }
  void put(const Tensor& value) {
    put(type_of(value).text());
    put(std::string_view(static_cast<const char*>(value.contiguous().raw()), value.bytes()));
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& all) {
    put(all.size());
    for (const T& one : all) put(one);
  }
  void put(const std::vector<bool>& all) {
    put(all.size());
    for (const bool one : all) put(one);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& part) { fields(*this, part); }
};

/// Bytes may be any: what is no part fails, and is_done() is false then.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes, std::span<const Op* const> user_ops = {})
      : user_ops(user_ops), rest_(bytes) {}
  template <class... Parts>
  void operator()(Parts&... parts) {
    (get(parts), ...);
  }
  /// An enumerator from 0 to `last`.
  template <class T>
  void one_of(T& value, T last) {
    int64_t number = 0;
    get(number);
    if (number < 0 || number > static_cast<int64_t>(last)) return fail();
    value = static_cast<T>(number);
  }
  void fail() { failed_ = true; }
  bool has_failed() const { return failed_; }
  bool is_done() const { return rest_.empty() && !failed_; }
  const std::span<const Op* const> user_ops;

 private:
  std::string_view take(size_t size) {
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  template <class T>
  void get_bytes(T& value) {
    const std::string_view bytes = take(sizeof value);
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
  }
  void get(std::integral auto& value) {
    int64_t wide = 0;
    get_bytes(wide);
    value = static_cast<std::remove_reference_t<decltype(value)>>(wide);
  }
  void get(double& value) { get_bytes(value); }
  void get(std::string& text) {
    size_t size = 0;
    get(size);
    text = take(size);
  }
  template <class T>
  void get_parsed(T& out, std::optional<T> (*parse)(std::string_view)) {
    std::string text;
    get(text);
    std::optional<T> parsed = failed_ ? std::nullopt : parse(text);
    failed_ = failed_ || !parsed;
    if (parsed) out = std::move(*parsed);
  }
  void get(Dim& dim) { get_parsed(dim, Dim::parse); }
  void get(Type& type) { get_parsed(type, parse_type); }
  void get(Dims& dims) {
    Type type;
    get(type);
    dims = std::move(type.dims);
  }
  void get(Tensor& value) {
    Type type;
    std::string data;
    (*this)(type, data);
    if (failed_ || type.kind != TypeKind::kTensor || !type.is_known()) return fail();
    uint64_t bytes = size_of(type.dtype);
    for (int64_t length : type.known_shape())
      if (length < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(length), &bytes)) return fail();
    if (data.size() != bytes) return fail();
    value = Tensor::empty(type.dtype, type.known_shape());
    std::memcpy(value.raw(), data.data(), data.size());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    if (is_there && !failed_) get(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& all) {
    size_t count = 0;
    get(count);
    if (count > rest_.size()) return fail();  // each has a byte or more
    for (; count > 0 && !failed_; --count) get(all.emplace_back());
  }
  void get(std::vector<bool>& all) {
    size_t count = 0;
    get(count);
    if (count > rest_.size()) return fail();
    for (bool one = false; count > 0 && !failed_; --count) {
      get(one);
      all.push_back(one);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& part) { fields(*this, part); }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace thtrain
