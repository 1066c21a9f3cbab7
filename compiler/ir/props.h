// The properties of a node: small named values that are part of its identity and of its text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

using Ints = std::vector<int64_t>;
using PropValue = std::variant<bool, int64_t, double, std::string, Ints, DType, Dims, Tensor>;

/// Sorted by name. Two sets of properties are equal where every value is, a tensor by its bits.
class Props {
 public:
  Props() = default;
  Props(std::initializer_list<std::pair<std::string, PropValue>> values);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value; InternalError if there is none of that name and type.
  template <class T>
  const T& get(std::string_view name) const {
    const PropValue* value = find(name);
    TH_CHECK(value && std::holds_alternative<T>(*value), "no such property: ", name);
    return std::get<T>(*value);
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    const PropValue* value = find(name);
    return value && std::holds_alternative<T>(*value) ? std::get<T>(*value) : fallback;
  }
  void set(std::string name, PropValue value);
  const std::vector<std::pair<std::string, PropValue>>& all() const { return values_; }
  bool empty() const { return values_.empty(); }
  size_t hash() const;
  friend bool operator==(const Props& a, const Props& b);

 private:
  const PropValue* find(std::string_view name) const;
  std::vector<std::pair<std::string, PropValue>> values_;
};

/// As a graph's text shows it: true, 3, 0.5, "text", [0, 1], float32, <n, 2*m>, float32[2]{1, 2}.
std::string prop_text(const PropValue& value);

}  // namespace thtrain
