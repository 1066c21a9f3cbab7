// How lengths are cut into tiles, and the names of tilings.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/ceil_div.h"

namespace thtrain {

/// The length of equal parts, of which as few as can be are at most `most` long; the last one may be shorter.
constexpr int64_t even_part(int64_t length, int64_t most) {
  return ceil_div(length, ceil_div(length, most));
}

/// A length in as few tiles as can be of at most `most`, as even as can be: some of `tile`, then some of one less.
struct Tiles {
  int64_t length, tile, count, high;  // `high` tiles have the full length

  Tiles(int64_t all, int64_t most)
      : length(all), tile(even_part(all, most)), count(ceil_div(all, tile)), high(all - count * (tile - 1)) {}

  /// body(length of a tile, where such tiles begin, where they end), for both lengths where there are such tiles.
  void each(const std::function<void(int64_t, int64_t, int64_t)>& body) const {
    body(tile, 0, high * tile);
    if (high < count) body(tile - 1, high * tile, length);
  }
};

/// "filters 6x4" or "rows 6x4", and back (nullopt where it is no such name).
struct NamedTiling {
  bool over_filters;
  int first, second;
};
std::string name_of_tiling(bool over_filters, int first, int second);
std::optional<NamedTiling> tiling_named(std::string_view name);

}  // namespace thtrain
