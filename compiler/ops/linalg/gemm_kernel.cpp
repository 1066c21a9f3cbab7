#include "compiler/ops/linalg/gemm_kernel.h"

#include <algorithm>
#include <functional>

#include "compiler/base/ceil_div.h"
#include "compiler/kernel/tile_cycles.h"
#include "compiler/ops/linalg/gemm_panel.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::Prefetch;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kFewBlocks = 32;

class Gemm {
 public:
  Gemm(StepBuilder& builder, const GemmCall& call, const GemmTiling& tiling)
      : builder_(builder),
        code_(builder.code()),
        call_(call),
        p_(call.product),
        tiling_(tiling),
        lanes_(builder.lanes_of(p_.dtype)),
        line_(gemm_line(p_.dtype)),
        tile_columns_(int64_t{lanes_} * tiling.vectors),
        panel_(builder, call, depth()) {}

  void run() {
    int64_t tiles = ceil_div(p_.n, tile_columns_), last = p_.n - (tiles - 1) * tile_columns_;
    if (call_.epilogue) {
      call_.epilogue->begin();
      sums_ = code_.local_array("sums", {p_.dtype, 1, 0}, summed_rows(tiling_, p_) * tile_columns_).node().name;
    } else if (is_float(p_.dtype)) {  // of integers there are none
      alpha_ = factor(call_.alpha);
      beta_ = factor(call_.beta);
    }
    if (tiling_.by_rows) return run_by_rows(tiles, last);
    panel_.allocate(depth() * tile_columns_);
    code_.loop("tile", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](Term tile) {
      if (!call_.batch.empty()) tile = tile_of_matrix(tile, tiles);
      if (tiles == 1) return column_tile(0, Columns(last));
      Term column = code_.let("column", tile * Term(tile_columns_));
      if (last == tile_columns_) return column_tile(column, Columns(last));
      const Term is_last = tile == Term(tiles - 1);
      // One code for all tiles, where the panel has any numbers in place of the columns that the last one lacks.
      if (ceil_div(last, lanes_) == tiling_.vectors && (p_.trans_b || rows_of(tiling_.vectors) < p_.m)) {
        const Term count = code_.let("columns", select(is_last, Term(last), Term(tile_columns_)));
        return column_tile(column, Columns(tile_columns_, last, count));
      }
      code_.if_(
          is_last, [&] { column_tile(column, Columns(last)); }, [&] { column_tile(column, Columns(tile_columns_)); });
    });
    Dim grain = std::max<int64_t>(1, ceil_div(builder_.target().grain_of_products(), 2 * p_.m * p_.k * tile_columns_));
    const int64_t parts = tiles * std::max<int64_t>(p_.count, 1);
    builder_.finish_kernel(name(str(tiling_.rows, "x", tiling_.vectors, "x", tiling_.depth)), comment(), parts,
                           parts == 1 ? Dim(0) : grain);
  }

 private:
  using Columns = GemmColumns;
  using Block = GemmBlock;
  using Slab = GemmSlab;
  enum class Source { kMatrix, kPanel };

  int64_t depth() const { return std::min(tiling_.depth, p_.k); }
  int64_t rows_of(int64_t vectors) const { return rows_of_block(tiling_, p_, vectors, builder_.target()); }

  std::string name(const std::string& tiling) const {
    return str("gemm_", tiling, call_.epilogue ? str("_", call_.epilogue->name()) : std::string());
  }

  std::string comment() const {
    if (call_.epilogue)
      return str(call_.epilogue->comment(), "; of ", p_.m, " x ", p_.n, " sums, inner length ", p_.k, "; ",
                 name_of(tiling_));
    return str("out0[", p_.count ? str(p_.count, ", ") : std::string(), p_.m, ", ", p_.n,
               "] = ", p_.accumulates ? (call_.addend ? "beta in0 + " : "beta out0 + ") : "", "alpha A",
               p_.trans_a ? "^T" : "", " B", p_.trans_b ? "^T" : "", ", inner length ", p_.k, "; ", name_of(tiling_));
  }

  Term multiply_add(const Term& a, const Term& b, const Term& sum) const {
    return is_float(p_.dtype) ? fma(a, b, sum) : sum + a * b;
  }

  // A number as it is (1 and 0 are left out where they appear), an input as a vector of its value.
  Term factor(const GemmFactor& factor) {
    if (const double* number = std::get_if<double>(&factor)) return kernel::constant(p_.dtype, *number);
    Term scalar = builder_.load(builder_.input(static_cast<size_t>(std::get<int>(factor))), 0);
    return code_.let("factor", scalar);
  }
  static bool is_number(const GemmFactor& factor, double number) {
    const double* known = std::get_if<double>(&factor);
    return known && *known == number;
  }

  // Of the tiles of all matrices of the batch: finds the matrices, and which of their tiles it is.
  Term tile_of_matrix(const Term& tile, int64_t tiles) {
    Term matrix = tiles == 1 ? tile : code_.let("matrix", tile / Term(tiles));
    const Term in_matrix = tiles == 1 ? Term(0) : tile - matrix * Term(tiles);
    Term a = 0, b = 0, c = 0;
    batch_index_.resize(call_.batch.size());
    for (size_t i = call_.batch.size(); i-- > 0;) {
      const BatchAxis& axis = call_.batch[i];
      const Term outer = i == 0 ? Term(0) : code_.let("outer", matrix / Term(axis.length.value()));
      const Term at = i == 0 ? matrix : code_.let("at", matrix - outer * Term(axis.length.value()));
      batch_index_[i] = at;
      a = a + at * Term(axis.a.value());
      b = b + at * Term(axis.b.value());
      c = c + at * Term(axis.out.value());
      matrix = outer;
    }
    a_begin_ = code_.let("a_begin", a);
    b_begin_ = code_.let("b_begin", b);
    panel_.of_matrix_at(b_begin_);
    c_begin_ = code_.let("c_begin", c);
    return in_matrix;
  }

  // Blocks of rows are shared among threads; each has the panels of all tiles.
  void run_by_rows(int64_t tiles, int64_t last_columns) {
    const int64_t rows = std::min<int64_t>(tiling_.rows, p_.m), blocks = ceil_div(p_.m, rows);
    const int64_t last_rows = p_.m - (blocks - 1) * rows;
    panel_.allocate(p_.k * tiles * tile_columns_);
    each_tile(tiles, last_columns, 1, [&](const Block& block, const Slab& s) { panel_.fill(block, s); });
    auto row_of_tiles = [&](const Term& i, int64_t height) {
      each_tile(tiles, last_columns, height,
                [&](const Block& block, const Slab& s) { rows_block(block, s, i, Source::kPanel); });
    };
    code_.loop("block", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](Term block) {
      Term i = code_.let("i", block * Term(rows));
      if (last_rows == rows) return row_of_tiles(i, rows);
      code_.if_(
          block < Term(blocks - 1), [&] { row_of_tiles(i, rows); }, [&] { row_of_tiles(i, last_rows); });
    });
    Dim grain = std::max<int64_t>(1, ceil_div(builder_.target().grain_of_products(), 2 * rows * p_.k * p_.n));
    builder_.finish_kernel(name(str("rows_", tiling_.rows, "x", tiling_.vectors)), comment(), blocks, grain);
  }

  // Column tiles one after the other, the whole inner length as one slab; the last tile may be narrower.
  void each_tile(int64_t tiles, int64_t last_columns, int64_t rows,
                 const std::function<void(const Block&, const Slab&)>& body) {
    auto tile = [&](const Term& column, int64_t columns) {
      panel_.begin_at(column * Term(p_.k));
      body({static_cast<int>(rows), static_cast<int>(ceil_div(columns, lanes_)), Columns(columns)},
           {column, 0, p_.k, 1, 1});
    };
    const int64_t whole = last_columns == tile_columns_ ? tiles : tiles - 1;
    if (whole > 0)
      code_.loop("column", 0, whole * tile_columns_, tile_columns_, LoopMark::kSequential,
                 [&](Term column) { tile(column, tile_columns_); });
    if (whole < tiles) tile(whole * tile_columns_, last_columns);
  }

  // One tile of C: `columns` of them from `column` on, all rows.
  void column_tile(const Term& column, const Columns& columns) {
    const int64_t vectors = ceil_div(columns.most, lanes_);
    const Block block{static_cast<int>(rows_of(vectors)), static_cast<int>(vectors), columns};
    if (depth() == p_.k) return slab(block, {column, 0, p_.k, 1, 1});
    if (call_.epilogue) clear_sums(block);
    code_.loop("k0", 0, p_.k, depth(), LoopMark::kSequential, [&](Term k0) {
      Term length = depth();
      if (p_.k % depth() != 0)
        length = code_.let("length", select(k0 + Term(depth()) <= Term(p_.k), Term(depth()), Term(p_.k) - k0));
      slab(block, {column, k0, length, k0 == Term(0), k0 + Term(depth()) >= Term(p_.k)});
    });
  }

  void slab(const Block& block, const Slab& s) {
    // As even as can be: some blocks of `rows`, then some of one row less.
    int64_t blocks = ceil_div(p_.m, block.rows), high = p_.m - blocks * (block.rows - 1);
    Block lower{block.rows - 1, block.vectors, block.columns};
    if (blocks == 1 && !p_.trans_b) return rows_block(block, s, 0, Source::kMatrix);
    if (p_.trans_b) panel_.fill(block, s);
    auto each_block = [&](const Block& b, int64_t begin, int64_t end) {
      if (begin < end)
        code_.loop("i", begin, end, b.rows, LoopMark::kSequential,
                   [&](Term i) { rows_block(b, s, i, Source::kPanel, begin == 0 && !p_.trans_b); });
    };
    each_block(block, 0, high * block.rows);
    each_block(lower, high * block.rows, p_.m);
  }

  Term a_index(const Term& row, const Term& p) const {
    return a_begin_ + (p_.trans_a ? p * Term(call_.lda) + row : row * Term(call_.lda) + p);
  }
  Term c_index(const Term& row, const Term& column) const { return c_begin_ + (row * Term(call_.ldc) + column); }
  // The accumulators of rows [i, i + rows) of the tile, over the slab, and their way into C. With `fills` the first
  // block, i = 0, writes each row of the panel before it reads it.
  void rows_block(const Block& block, const Slab& s, const Term& i, Source source, bool fills = false) {
    std::vector<std::vector<Term>> sums(static_cast<size_t>(block.rows));
    Term zero = kernel::splat(kernel::constant_int(p_.dtype, 0), lanes_);
    for (int r = 0; r < block.rows; ++r)
      for (int w = 0; w < block.vectors; ++w)
        sums[static_cast<size_t>(r)].push_back(code_.sum(str("c", r, "_", w), zero, r * block.vectors + w));
    if (call_.epilogue || p_.accumulates) prefetch_c(block, s, i);
    // Worth its instructions where a tile of B is read by few blocks of rows.
    bool prefetches_next =
        !tiling_.by_rows && source == Source::kPanel && !p_.trans_b && ceil_div(p_.m, block.rows) <= kFewBlocks;
    Term next = prefetches_next ? next_line(block, s, i) : Term();
    code_.loop("p", s.length, [&](Term p) {
      Term inner = s.k0 + p;
      auto prefetch_next = [&] {
        if (next) builder_.prefetch(call_.b, next + p * Term(call_.ldb), Prefetch::kL2);
      };
      std::vector<Term> b;
      if (fills) {
        for (int w = 0; w < block.vectors; ++w) b.push_back(code_.var(str("row", w), zero));
        code_.if_(
            i == Term(0), [&] { panel_.fill_row(block, s, p, b); },
            [&] {
              for (int w = 0; w < block.vectors; ++w)
                code_.assign(b[static_cast<size_t>(w)], panel_.vector(block, p, w));
              prefetch_next();
            });
      } else {
        for (int w = 0; w < block.vectors; ++w)
          b.push_back(source == Source::kPanel ? panel_.vector(block, p, w)
                                               : panel_.of_matrix(s, inner, w, panel_.count(block.columns.most, w)));
        if (source == Source::kMatrix && !is_b_near()) panel_.prefetch_later(block, s, p);
        prefetch_next();
      }
      for (int w = 0; w < block.vectors; ++w) {
        Term& vector = b[static_cast<size_t>(w)];
        vector = code_.let(str("b", w), kernel::held(builder_.target(), vector, w, block.rows, block.vectors));
      }
      if (p_.trans_a && source != Source::kMatrix)  // the columns of A that the next block reads
        builder_.prefetch(call_.a, a_index(i + Term(2 * block.rows - 1), inner), Prefetch::kL1);
      for (int r = 0; r < block.rows; ++r) {
        Term a = code_.let(str("a", r), kernel::splat(builder_.load(call_.a, a_index(i + Term(r), inner)), lanes_));
        for (int w = 0; w < block.vectors; ++w) {
          const Term& sum = sums[static_cast<size_t>(r)][static_cast<size_t>(w)];
          code_.assign(sum, multiply_add(a, b[static_cast<size_t>(w)], sum));
        }
      }
    });
    for (std::vector<Term>& row : sums)
      for (Term& sum : row) sum = code_.taken(sum);
    if (call_.epilogue)
      write_epilogue(block, s, i, sums);
    else
      write(block, s, i, sums);
  }

  // Does the first cache hold B?
  bool is_b_near() const {
    return p_.k * p_.n * static_cast<int64_t>(size_of(p_.dtype)) <= builder_.target().first_cache_bytes;
  }

  void prefetch_c(const Block& block, const Slab& s, const Term& i) {
    auto line = [&](const Term& row, const Term& column) {
      if (call_.epilogue) return call_.epilogue->prefetch(index(row, column));
      builder_.prefetch(call_.c, c_index(row, column), Prefetch::kWrite);
    };
    code_.loop("r", i, i + Term(block.rows), 1, LoopMark::kSequential, [&](const Term& row) {
      for (int64_t at = 0; at < block.columns.most; at += line_) line(row, s.column + Term(at));
      line(row, s.column + block.columns.count - Term(1));
    });
  }

  // Where the line lies of the next slab's (or tile's) first row that this block prefetches: one line for each p, and
  // with the later blocks all of them.
  Term next_line(const Block& block, const Slab& s, const Term& i) {
    Term next = s.column + block.columns.count;
    if (depth() < p_.k) next = select(s.last, next, (s.k0 + Term(depth())) * Term(call_.ldb) + s.column);
    Term line = (i / Term(block.rows) - Term(1)) * Term(line_), end = block.columns.count - Term(1);
    return code_.let("next", b_begin_ + next + select(line < end, line, end));
  }

  // Of an element of the result, a term for each axis.
  std::vector<Term> index(const Term& row, const Term& column) const {
    std::vector<Term> out = batch_index_;
    out.insert(out.end(), {row, column});
    return out;
  }

  using Sums = std::vector<std::vector<Term>>;  // by row and vector

  // C = beta C + alpha sums in the first slab, C += alpha sums in the others.
  void write(const Block& block, const Slab& s, const Term& i, const Sums& sums) {
    // A row of few lanes is loaded with those of the next one, and would wait for its store: then all are computed
    // first.
    auto each = [&](bool first, int64_t columns) {
      const bool is_apart = columns % lanes_ == 0;
      Sums results(sums.size());
      auto each_vector = [&](const std::function<void(size_t, size_t, const Term&, const Term&, const Term&)>& body) {
        for (int r = 0; r < block.rows; ++r)
          for (int w = 0; w < block.vectors; ++w)
            body(static_cast<size_t>(r), static_cast<size_t>(w), i + Term(r), s.column + Term(w * lanes_),
                 panel_.count(columns, w));
      };
      auto store = [&](const Term& value, const Term& row, const Term& column, const Term& lanes) {
        builder_.store(call_.c, c_index(row, column), value, 1, lanes);
      };
      each_vector([&](size_t r, size_t w, const Term& row, const Term& column, const Term& lanes) {
        const Term value = result(sums[r][w], row, column, lanes, first);
        if (is_apart) return store(value, row, column, lanes);
        results[r].push_back(code_.let("result", value));
      });
      if (is_apart) return;
      each_vector([&](size_t r, size_t w, const Term& row, const Term& column, const Term& lanes) {
        store(results[r][w], row, column, lanes);
      });
    };
    panel_.each_width(block, [&](int64_t columns) {
      if (depth() == p_.k || (is_number(call_.beta, 1) && !call_.addend)) return each(true, columns);
      code_.if_(
          s.first, [&] { each(true, columns); }, [&] { each(false, columns); });
    });
  }

  // To what adding changes nothing, not even the sign of a zero: all slabs add to them.
  void clear_sums(const Block& block) {
    const Term nothing = kernel::splat(kernel::constant(p_.dtype, -0.0), lanes_);
    code_.loop("j", 0, p_.m * block.vectors * lanes_, lanes_, LoopMark::kSequential,
               [&](const Term& j) { code_.store(sums_, j, 1, nothing); });
  }

  // A loop of its own: written for each of the block's vectors, an epilogue with a tanh would be most of the kernel.
  void write_epilogue(const Block& block, const Slab& s, const Term& i, const Sums& sums) {
    const int64_t width = int64_t{block.vectors} * lanes_;
    Term first_row = is_one_slab(tiling_, p_) ? Term(0) : i * Term(width);
    auto location = [&](const Term& r, const Term& column) { return first_row + r * Term(width) + column; };
    auto load = [&](const Term& at) { return kernel::load(sums_, p_.dtype, lanes_, at, 1); };
    for (int r = 0; r < block.rows; ++r)
      for (int w = 0; w < block.vectors; ++w) {
        const Term& sum = sums[static_cast<size_t>(r)][static_cast<size_t>(w)];
        const Term at = location(Term(r), Term(w * lanes_));
        code_.store(sums_, at, 1, is_one_slab(tiling_, p_) ? sum : load(at) + sum);
      }
    auto finish = [&] {
      code_.loop("r", 0, block.rows, 1, LoopMark::kSequential, [&](Term r) {
        Term row = code_.let("row", i + r);
        auto vector = [&](const Term& at, const Term& count) {
          Term sum = code_.let("sum", load(location(r, at)));
          call_.epilogue->write(sum, index(row, code_.let("at", s.column + at)), count);
        };
        panel_.each_width(block, [&](int64_t columns) {
          const int64_t whole = columns / lanes_ * lanes_;
          if (whole > 0) code_.loop("j", 0, whole, lanes_, LoopMark::kSequential, [&](Term j) { vector(j, {}); });
          if (whole < columns) vector(Term(whole), Term(columns - whole));
        });
      });
    };
    if (is_one_slab(tiling_, p_)) return finish();
    code_.if_(s.last, finish);
  }

  Term result(const Term& sum, const Term& row, const Term& column, const Term& count, bool first) {
    auto old = [&] {
      if (first && call_.addend)
        return builder_.load(*call_.addend, builder_.index_of(*call_.addend, {row, column}), lanes_, 1, count);
      return builder_.load(call_.c, c_index(row, column), lanes_, 1, count);
    };
    bool alpha_is_1 = is_number(call_.alpha, 1);
    if (first && is_number(call_.beta, 0)) return alpha_is_1 ? sum : sum * alpha_;
    Term base = old();
    if (first && !is_number(call_.beta, 1)) base = base * beta_;
    return alpha_is_1 ? base + sum : fma(sum, alpha_, base);
  }

  StepBuilder& builder_;
  Code& code_;
  const GemmCall& call_;
  const MatrixProduct& p_;
  GemmTiling tiling_;
  int lanes_;
  int64_t line_, tile_columns_;                   // elements of a cache line, of a tile's row
  Term a_begin_ = 0, b_begin_ = 0, c_begin_ = 0;  // of the matrices of a batch that are multiplied
  std::vector<Term> batch_index_;                 // and their position
  Term alpha_, beta_;
  std::string sums_;
  GemmPanel panel_;
};

}  // namespace

void lower_gemm(StepBuilder& builder, const GemmCall& call, const GemmTiling& tiling) {
  const MatrixProduct& p = call.product;
  TH_CHECK(p.m > 0 && p.n > 0 && p.k > 0 && has_tilings(p.dtype), "gemm: no such product");
  TH_CHECK(is_possible(tiling, p, builder.target(), call.epilogue), "gemm: ", name_of(tiling), " does not fit");
  Gemm(builder, call, tiling).run();
}

}  // namespace thtrain
