// Products on a device, in tiles of results: whatever the factors are read from and the results become.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {

/// What a block of 16 x 16 threads computes: 16, 32, 64 or 128 rows and columns of results. A thread has every 16th
/// row and column of them, or runs of 4, up to 8 x 8.
struct DeviceTiling {
  int rows = 64, columns = 64;

  friend bool operator==(const DeviceTiling&, const DeviceTiling&) = default;
};

/// Products of fewer terms are computed in no tiles.
inline constexpr int64_t kLeastTiledTerms = 16;

/// "tile 128x64"; and back (nullopt where it is no such name).
std::string name_of(const DeviceTiling& tiling);
std::optional<DeviceTiling> device_tiling_named(std::string_view name);

/// Has a thread registers for its sums and totals of that dtype? At most 64 words of each.
bool is_possible(const DeviceTiling& tiling, DType dtype);
/// Tilings of a product of so many rows and columns, `count` times: those that are expected to take at most `factor`
/// times as long as the first, which is taken without measurements. Expected is, for each multiply-add and load of
/// shared memory of a thread, one step, results outside of the product included. On a device of NVIDIA fewer than 2^16
/// threads take as long as these; on the emulated one, whose threads take turns, they do not. Lengths that a call
/// decides count as 1024. No sum depends on the choice: all tilings have the same bits.
std::vector<DeviceTiling> near_tilings(const Target& target, DType dtype, const Dim& rows, const Dim& columns,
                                       const Dim& count = 1, double factor = 1);

/// results(row, column) = the sum over terms of left(row, term) right(term, column).
struct TiledProduct {
  struct Factor {
    Dim lines;                // rows, or columns
    bool are_lines_together;  // do the elements of neighbouring lines lie side by side? else those of terms
    /// Assigns the element, that is inside of the product, to a variable, which is 0.
    std::function<void(const Term& to, const Term& line, const Term& term)> load;
  };
  DType dtype = DType::kFloat32;
  Factor left, right;
  Dim terms;
  Dim count = 1;      // of products
  int64_t parts = 1;  // of the terms, which are known where there are several: each is a result of its own
  /// Before all loads: which product it is, and which part.
  std::function<void(const Term& number, const Term& part)> begin = nullptr;
  std::function<void(const Term& row, const Term& column, const Term& sum)> store = nullptr;
};

/// Writes the kernel. Terms are added in their order by fma; of more than 64 floats, after 64 terms the sum is added to
/// a total. Each slab of 16 terms of both factors is loaded while the one before it is multiplied.
void tiled_product(StepBuilder& b, const TiledProduct& product, const DeviceTiling& tiling, std::string name,
                   std::string comment);

}  // namespace thtrain::kernel
