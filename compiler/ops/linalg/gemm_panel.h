// The panel of a matrix product: a tile of B as a contiguous copy.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/linalg/gemm_kernel.h"

namespace thtrain {

/// How many columns a tile has: one number, or, with as many vectors, a smaller one where a term is true.
struct GemmColumns {
  int64_t most, last;
  kernel::Term count, is_last;
  explicit GemmColumns(int64_t all) : most(all), last(all), count(all) {}
  GemmColumns(int64_t most, int64_t last, kernel::Term count)
      : most(most), last(last), count(std::move(count)), is_last(this->count == kernel::Term(last)) {}
};

/// Rows and columns of C whose sums are in registers.
struct GemmBlock {
  int rows, vectors;
  GemmColumns columns;  // at most vectors * lanes
};

/// Products k0, ..., k0 + length - 1 of the tile that starts at `column`; is it the first slab, the last?
struct GemmSlab {
  kernel::Term column, k0, length, first, last;
};

/// Elements of a cache line.
int64_t gemm_line(DType dtype);

class GemmPanel {
 public:
  /// Of a call's B, in slabs of `depth` of the inner length.
  GemmPanel(kernel::StepBuilder& builder, const GemmCall& call, int64_t depth);

  void allocate(int64_t elements);
  /// What follows is about the panel that starts at this element.
  void begin_at(kernel::Term element) { begin_ = std::move(element); }
  /// What follows is about the matrix of a batch whose B starts at this element.
  void of_matrix_at(kernel::Term element) { b_begin_ = std::move(element); }

  /// Copies a slab of the block's columns: B row by row, B^T a vector's lanes of columns after the other: rows of B are
  /// read as they lie, and become columns of the panel in squares. By loops, since written for each of the tile's
  /// vectors this would be most of the kernel.
  void fill(const GemmBlock& block, const GemmSlab& s);
  /// Row p of the slab, not of a transposed B, and into `vectors` too; and prefetch_later().
  void fill_row(const GemmBlock& block, const GemmSlab& s, const kernel::Term& p,
                const std::vector<kernel::Term>& vectors);
  /// Prefetches the block's part of a later row of B than p of the slab: rows lie far from each other.
  void prefetch_later(const GemmBlock& block, const GemmSlab& s, const kernel::Term& p);

  /// Vector w of row p of the panel.
  kernel::Term vector(const GemmBlock& block, const kernel::Term& p, int w) const;
  /// Vector w of row p of the tile in B, which is not transposed: its first `lanes`, without that all.
  kernel::Term of_matrix(const GemmSlab& s, const kernel::Term& p, int w, const kernel::Term& lanes) const;
  /// Lanes of vector w that exist; no term where all do.
  kernel::Term count(int64_t columns, int w) const;
  /// The statements of `body`, for each number of columns that the block's tile may have.
  void each_width(const GemmBlock& block, const std::function<void(int64_t columns)>& body);

 private:
  void fill_columns(const GemmBlock& block, const GemmSlab& s, const kernel::Term& j);
  void fill_vector(const GemmBlock& block, const GemmSlab& s, const kernel::Term& p, const kernel::Term& j,
                   const kernel::Term& lanes);
  kernel::Term index(const GemmBlock& block, const kernel::Term& p, const kernel::Term& j) const;
  kernel::Term b_index(const kernel::Term& p, const kernel::Term& column) const;

  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const GemmCall& call_;
  const MatrixProduct& p_;
  int lanes_;
  int64_t depth_;
  std::string name_;
  kernel::Term begin_ = 0, b_begin_ = 0;
};

}  // namespace thtrain
