#include "compiler/cpu/conv/tiles.h"

#include "compiler/base/str.h"
#include "compiler/ops/key_reader.h"

namespace thtrain {

std::string name_of_tiling(bool over_filters, int first, int second) {
  return str(over_filters ? "filters " : "rows ", first, "x", second);
}

std::optional<NamedTiling> tiling_named(std::string_view name) {
  constexpr int kMost = 64;
  KeyReader reader(name);
  NamedTiling out{reader.take("filters "), 0, 0};
  if (!out.over_filters && !reader.take("rows ")) return std::nullopt;
  if (!reader.numbers({&out.first, &out.second}, 1, kMost) || !reader.is_at_end()) return std::nullopt;
  return out;
}

}  // namespace thtrain
