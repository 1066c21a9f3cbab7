// How the kernel of a matrix product (ops/linalg/gemm_kernel.h) cuts it into tiles, slabs and blocks of rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/kernel/target.h"
#include "compiler/ops/linalg/product_key.h"

namespace thtrain {

/// Rows of the highest block.
inline constexpr int kMaxBlockRows = 14;

struct GemmTiling {
  int rows = 1;          // of a block
  int vectors = 1;       // of a column tile
  int64_t depth = 1;     // of a slab; by rows: of the one slab, whatever its length
  bool by_rows = false;  // blocks of rows outside, column tiles inside

  friend bool operator==(const GemmTiling&, const GemmTiling&) = default;
};

/// "tile 6x4x392": rows, vectors, depth; "rows 6x4" by rows; and back (nullopt where it is no such name).
std::string name_of(const GemmTiling& tiling);
std::optional<GemmTiling> gemm_tiling_named(std::string_view name);

/// Rows of the blocks of a column tile that has so many vectors, at most; some have one less.
int64_t rows_of_block(const GemmTiling& tiling, const MatrixProduct& product, int64_t vectors,
                      const kernel::Target& target);
/// Is the whole inner length one slab?
bool is_one_slab(const GemmTiling& tiling, const MatrixProduct& product);
/// How many rows of a column tile's sums are stored for an epilogue: those of a block, or all until the last slab.
int64_t summed_rows(const GemmTiling& tiling, const MatrixProduct& product);

/// Floats and integers.
inline bool has_tilings(DType dtype) {
  return is_float(dtype) || is_int(dtype);
}

/// Does it fit the registers of the target, and do its local arrays fit the stack?
/// With an epilogue and more than one slab, that is a column tile of the sums too.
bool is_possible(const GemmTiling& tiling, const MatrixProduct& product, const kernel::Target& target,
                 bool has_epilogue = false);

}  // namespace thtrain
