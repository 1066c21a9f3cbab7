#include "compiler/cpu/conv/tiles.h"

#include <charconv>

#include "compiler/base/str.h"

namespace thtrain {

std::string name_of_tiling(bool over_filters, int first, int second) {
  return str(over_filters ? "filters " : "rows ", first, "x", second);
}

std::optional<NamedTiling> tiling_named(std::string_view name) {
  constexpr int kMost = 64;
  NamedTiling out{name.starts_with("filters "), 0, 0};
  if (!out.over_filters && !name.starts_with("rows ")) return std::nullopt;
  name.remove_prefix(name.find(' ') + 1);
  for (int* number : {&out.first, &out.second}) {
    if (number == &out.second) {
      if (!name.starts_with('x')) return std::nullopt;
      name.remove_prefix(1);
    }
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *number);
    if (error != std::errc() || *number < 1 || *number > kMost) return std::nullopt;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
  }
  return name.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace thtrain
