#include "compiler/cpu/pool/pooled_positions.h"

#include <limits>

#include "compiler/cpu/conv/tiles.h"
#include "compiler/cpu/pool/window_loops.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int64_t kMostWritten = 16;  // iterations of a loop that are written out

PooledAxis axis_of(const Pooling& p, size_t axis) {
  const size_t k = axis - (p.image.size() - p.windows.axes());
  if (axis < p.image.size() - p.windows.axes()) return {.positions = p.image[axis], .windows = p.image[axis]};
  return {.positions = p.image[axis],
          .windows = p.windows.count(k, p.image[axis]).value(),
          .window = p.windows.window[k],
          .stride = p.windows.stride[k],
          .before = p.windows.before[k],
          .after = p.windows.after[k]};
}

}  // namespace

std::optional<PositionWindows> PooledPositions::windows_of(const Pooling& p, const Correlation& c) {
  if (c.rank > 2 || p.windows.axes() > c.rank) return std::nullopt;
  const size_t axes = p.image.size();
  return PositionWindows{{c.rank == 2 ? axis_of(p, axes - 2) : PooledAxis(), axis_of(p, axes - 1)}};
}

PooledPositions::PooledPositions(StepBuilder& builder, const Pooling& pooling, const PositionWindows& windows)
    : builder_(builder),
      code_(builder.code()),
      dtype_(pooling.dtype),
      is_maximum_(pooling.op == &max_pool_op()),
      divisor_(pooling.divisor),
      windows_(windows),
      lanes_(builder.lanes_of(pooling.dtype)) {}

void PooledPositions::begin(bool by_filter) {
  if (!by_filter || has_vectors_of_columns()) return;
  const PooledAxis& axis = windows_.columns();
  const int64_t covered = (ceil_div(axis.windows, lanes_) * lanes_ - 1) * axis.stride + axis.window;
  columns_ = code_.local_array("columns", {dtype_, 1, 0}, std::max(covered, axis.before + axis.positions) + 4 * lanes_)
                 .node()
                 .name;
}

void PooledPositions::write(const PositionArrays& arrays) {
  if (arrays.by_filter)
    write_by_filter(arrays);
  else
    write_position_by_position(arrays);
}

PooledPositions::Cover PooledPositions::cover(const PooledAxis& axis, const Term& number) {
  const Term start = code_.let("start", number * Term(axis.stride) - Term(axis.before));
  if (!axis.is_cut()) return {start, start, start + Term(axis.window)};
  return {start, code_.let("first_of", larger_of(start, Term(0))),
          code_.let("end_of", smaller_of(start + Term(axis.window), Term(axis.positions)))};
}

// What joins with anything without a change.
Term PooledPositions::outside(int lanes) const {
  return kernel::splat(kernel::constant(dtype_, is_maximum_ ? -std::numeric_limits<double>::infinity() : 0), lanes);
}

Term PooledPositions::joined(const Term& a, const Term& b) const {
  return is_maximum_ ? kernel::extremum(true, a, b) : a + b;
}

// A column or a row of a window, in the order of its positions.
Term PooledPositions::reduced(const char* name, int64_t length, const Cover& cover, bool is_cut,
                              const std::function<Term(const Term& at)>& element) {
  if (!is_cut && length <= kMostWritten) {
    Term out = is_maximum_ ? Term() : outside(lanes_);
    for (int64_t k = 0; k < length; ++k) {
      const Term x = code_.let("x", element(cover.start + Term(k)));
      out = out ? code_.let("joined", joined(out, x)) : x;
    }
    return out;
  }
  const Term out = code_.var("best", outside(lanes_));
  code_.loop(name, cover.first, cover.end, 1, LoopMark::kSequential,
             [&](const Term& at) { code_.assign(out, joined(out, code_.let("x", element(at)))); });
  return out;
}

// How many positions of an axis the divisor counts.
Term PooledPositions::counted(const PooledAxis& axis, const Cover& cover) const {
  if (!axis.is_cut()) return Term(axis.window);
  if (divisor_ == PoolDivisor::kInside) return cover.end - cover.first;
  return smaller_of(cover.start + Term(axis.window), Term(axis.positions + axis.after)) - cover.start;
}

// The same of a vector of windows, as floats.
Term PooledPositions::counted_columns(const Term& first_window) const {
  const PooledAxis& axis = windows_.columns();
  auto all = [&](const Term& number) { return kernel::splat(kernel::cast(number, dtype_), lanes_); };
  if (!axis.is_cut()) return all(Term(axis.window));
  const Term steps = kernel::iota(dtype_, lanes_) * all(Term(axis.stride));
  const Term start = code_.let("start_column", all(first_window * Term(axis.stride) - Term(axis.before)) + steps);
  const int64_t most = axis.positions + (divisor_ == PoolDivisor::kPadded ? axis.after : 0);
  const Term end = smaller_of(start + all(Term(axis.window)), all(Term(most)));
  return end - (divisor_ == PoolDivisor::kPadded ? start : larger_of(start, all(Term(0))));
}

// `columns`: how many columns of each window count, a whole number or a vector of floats.
Term PooledPositions::divided(const Term& value, const Cover& rows, const Term& columns) {
  if (divisor_ == PoolDivisor::kOne) return value;
  const Term of_rows = counted(windows_.rows(), rows);
  auto all = [&](const Term& number) { return kernel::splat(kernel::cast(number, dtype_), lanes_); };
  return value / code_.let("divisor", is_float(columns.dtype()) ? all(of_rows) * columns : all(of_rows * columns));
}

// Vectors of filters.
void PooledPositions::write_position_by_position(const PositionArrays& a) {
  const PooledAxis &rows = windows_.rows(), &columns = windows_.columns();
  code_.loop("row_of_windows", a.first, a.last, 1, LoopMark::kSequential, [&](const Term& row) {
    const Cover of_rows = cover(rows, row);
    code_.loop("window", 0, columns.windows, 1, LoopMark::kSequential, [&](const Term& i) {
      const Cover of_columns = cover(columns, i);
      const Term to = code_.let("to", ((row - a.first) * Term(columns.windows) + i) * Term(a.block));
      code_.loop("v", 0, a.block, lanes_, LoopMark::kSequential, [&](const Term& v) {
        const Term value = reduced("x", columns.window, of_columns, columns.is_cut(), [&](const Term& x) {
          return reduced("y", rows.window, of_rows, rows.is_cut(), [&](const Term& y) {
            const Term at = ((y - a.first_row) * Term(columns.positions) + x) * Term(a.block) + v;
            return kernel::load(a.from, dtype_, lanes_, at, 1);
          });
        });
        code_.store(a.to, to + v, 1, divided(value, of_rows, counted(columns, of_columns)));
      });
    });
  });
}

// ---- by filter: vectors of windows

// Do the columns of a vector of windows lie side by side in as many vectors as a window has columns?
bool PooledPositions::has_vectors_of_columns() const {
  const PooledAxis& axis = windows_.columns();
  return !axis.is_cut() && axis.stride == axis.window && (axis.window == 1 || axis.window == 2 || axis.window == 4) &&
         windows_.rows().window <= kMostWritten && !windows_.rows().is_cut();
}

void PooledPositions::write_by_filter(const PositionArrays& a) {
  const PooledAxis &rows = windows_.rows(), &columns = windows_.columns();
  code_.loop("o", 0, a.filters, 1, LoopMark::kSequential, [&](const Term& o) {
    code_.loop("row_of_windows", a.first, a.last, 1, LoopMark::kSequential, [&](const Term& row) {
      const Cover of_rows = cover(rows, row);
      const Term from = code_.let("from", o * Term(a.from_pitch)),
                 to = code_.let("to", o * Term(a.to_pitch) + (row - a.first) * Term(columns.windows));
      if (has_vectors_of_columns())
        windows_from_vectors(a, of_rows, from, to);
      else
        windows_from_buffer(a, of_rows, from, to);
    });
  });
}

// Neighbouring vectors become one vector for each column of the windows.
std::vector<Term> PooledPositions::side_by_side(std::vector<Term> v) {
  const size_t half = v.size() / 2;
  for (size_t apart = v.size(); lanes_ > 1 && apart > 1; apart /= 2) {
    std::vector<Term> parts(v.size());
    for (size_t k = 0; k < half; ++k) {
      parts[k] = code_.let("even", kernel::even_lanes(v[2 * k], v[2 * k + 1]));
      parts[k + half] = code_.let("odd", kernel::odd_lanes(v[2 * k], v[2 * k + 1]));
    }
    v = std::move(parts);
  }
  return v;
}

void PooledPositions::windows_from_vectors(const PositionArrays& a, const Cover& rows, const Term& from,
                                           const Term& to) {
  const PooledAxis& columns = windows_.columns();
  code_.loop("i", 0, columns.windows, lanes_, LoopMark::kSequential, [&](const Term& i) {
    std::vector<Term> v;
    for (int64_t k = 0; k < columns.window; ++k)
      v.push_back(reduced("y", windows_.rows().window, rows, false, [&](const Term& y) {
        const Term at =
            from + (y - a.first_row) * Term(columns.positions) + i * Term(columns.stride) + Term(k * lanes_);
        return kernel::load(a.from, dtype_, lanes_, at, 1);
      }));
    v = side_by_side(std::move(v));
    Term value = is_maximum_ ? v[0] : outside(lanes_) + v[0];
    for (size_t k = 1; k < v.size(); ++k) value = code_.let("joined", joined(value, v[k]));
    code_.store(a.to, to + i, 1, divided(value, rows, Term(columns.window)));
  });
}

// Elements of the buffer that windows i and those after it have in column k.
Term PooledPositions::column_of_windows(const Term& i, int64_t k) const {
  const int64_t stride = windows_.columns().stride;
  const Term first = i * Term(stride) + Term(k);
  if (lanes_ == 1 || (stride != 2 && stride != 4)) return kernel::load(columns_, dtype_, lanes_, first, Term(stride));
  auto pair = [&](int64_t v) {
    return kernel::even_lanes(kernel::load(columns_, dtype_, lanes_, first + Term(v * lanes_), 1),
                              kernel::load(columns_, dtype_, lanes_, first + Term((v + 1) * lanes_), 1));
  };
  return stride == 2 ? pair(0) : kernel::even_lanes(pair(0), pair(2));
}

void PooledPositions::windows_from_buffer(const PositionArrays& a, const Cover& rows, const Term& from,
                                          const Term& to) {
  const PooledAxis& columns = windows_.columns();
  // Padding, and what vectors of windows read beyond.
  auto fill = [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += lanes_) code_.store(columns_, Term(at), 1, outside(lanes_));
  };
  fill(0, columns.before);
  code_.loop("x", 0, columns.positions, lanes_, LoopMark::kSequential, [&](const Term& x) {
    const Term value = reduced("y", windows_.rows().window, rows, windows_.rows().is_cut(), [&](const Term& y) {
      return kernel::load(a.from, dtype_, lanes_, from + (y - a.first_row) * Term(columns.positions) + x, 1);
    });
    code_.store(columns_, Term(columns.before) + x, 1, value);
  });
  fill(columns.before + columns.positions, (columns.windows - 1) * columns.stride + columns.window);
  code_.loop("i", 0, columns.windows, lanes_, LoopMark::kSequential, [&](const Term& i) {
    Term value;
    if (columns.window <= kMostWritten) {
      for (int64_t k = 0; k < columns.window; ++k) {
        const Term x = code_.let("column", column_of_windows(i, k));
        value = k == 0 ? x : code_.let("joined", joined(value, x));
      }
    } else {
      value = code_.var("best", outside(lanes_));
      code_.loop("k", 0, columns.window, 1, LoopMark::kSequential, [&](const Term& k) {
        const Term x = kernel::load(columns_, dtype_, lanes_, i * Term(columns.stride) + k, Term(columns.stride));
        code_.assign(value, joined(value, code_.let("column", x)));
      });
    }
    code_.store(a.to, to + i, 1, divided(value, rows, counted_columns(i)));
  });
}

}  // namespace thtrain
