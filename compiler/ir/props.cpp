#include "compiler/ir/props.h"

#include <algorithm>

#include "compiler/base/hash_mix.h"

namespace thtrain {
namespace {

bool equal(const PropValue& a, const PropValue& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* tensor = std::get_if<Tensor>(&a)) {
    const Tensor& other = std::get<Tensor>(b);
    return tensor->raw() == other.raw()
               ? tensor->type_text() == other.type_text() && tensor->strides() == other.strides()
               : same_bits(*tensor, other);
  }
  if (const double* number = std::get_if<double>(&a)) return same_bits(Tensor(*number), Tensor(std::get<double>(b)));
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else
          return value == std::get<T>(b);
      },
      a);
}

size_t tensor_hash(const Tensor& t) {
  size_t seed = static_cast<size_t>(t.dtype());
  for (int64_t length : t.shape()) mix(seed, static_cast<size_t>(length));
  Tensor flat = t.contiguous();
  // A long constant is told apart by its first bytes; equality looks at all of them.
  mix(seed, std::hash<std::string_view>{}({static_cast<const char*>(flat.raw()), std::min<size_t>(flat.bytes(), 256)}));
  return seed;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "\"";
}

}  // namespace

Props::Props(std::initializer_list<std::pair<std::string, PropValue>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

void Props::set(std::string name, PropValue value) {
  auto at = std::lower_bound(values_.begin(), values_.end(), name,
                             [](const auto& entry, const std::string& key) { return entry.first < key; });
  if (at != values_.end() && at->first == name)
    at->second = std::move(value);
  else
    values_.insert(at, {std::move(name), std::move(value)});
}

const PropValue* Props::find(std::string_view name) const {
  for (const auto& entry : values_)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

bool operator==(const Props& a, const Props& b) {
  return std::equal(a.values_.begin(), a.values_.end(), b.values_.begin(), b.values_.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

size_t Props::hash() const {
  size_t seed = values_.size();
  for (const auto& [name, value] : values_) {
    mix(seed, std::hash<std::string>{}(name));
    if (const Tensor* tensor = std::get_if<Tensor>(&value))
      mix(seed, tensor_hash(*tensor));
    else if (const Ints* ints = std::get_if<Ints>(&value))
      for (int64_t i : *ints) mix(seed, static_cast<size_t>(i));
    else if (const int64_t* i = std::get_if<int64_t>(&value))
      mix(seed, static_cast<size_t>(*i));
    else if (const bool* b = std::get_if<bool>(&value))
      mix(seed, *b ? 1 : 2);
    else
      mix(seed, std::hash<std::string>{}(prop_text(value)));
  }
  return seed;
}

std::string prop_text(const PropValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>)
          return quoted(v);
        else if constexpr (std::is_same_v<T, Ints>)
          return str("[", join(v, ", "), "]");
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(name_of(v));
        else if constexpr (std::is_same_v<T, Dims>)
          return str("<", dims_text(v), ">");
        else if constexpr (std::is_same_v<T, Tensor>) {
          // A long constant is told by a hash of its bytes: its text would be longer than the graph.
          if (v.size() > 64) {
            Tensor flat = v.contiguous();
            uint64_t hash = 0xcbf29ce484222325ull, other = 0x9ae16a3b2f90404full;
            for (size_t i = 0; i < flat.bytes(); ++i) {
              hash = (hash ^ static_cast<const unsigned char*>(flat.raw())[i]) * 0x100000001b3ull;
              other = (other + static_cast<const unsigned char*>(flat.raw())[i]) * 0x9e3779b97f4a7c15ull;
            }
            return str(v.type_text(), "{hash ", hash, " ", other, "}");
          }
          std::string elements;
          for (int64_t i = 0; i < v.size(); ++i)
            elements += (i ? ", " : "") + v.reshape({v.size()}).rows(i, 1).reshape({}).text();
          return str(v.type_text(), "{", elements, "}");
        } else if constexpr (std::is_same_v<T, double>) {
          std::string text = number_text(v);
          return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
        } else {
          return str(v);
        }
      },
      value);
}

}  // namespace thtrain
