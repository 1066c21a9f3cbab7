#include "compiler/cpu/pool/window_values.h"

#include <cmath>
#include <limits>
#include <optional>

#include "compiler/kernel/schedule/schedule.h"

namespace thtrain {

using kernel::Term;

WindowValues::WindowValues(kernel::StepBuilder& b, const PoolWindows& windows, const Dims& image, DType dtype,
                           Pooled what)
    : WindowLoops(b, windows, image, dtype), what_(what) {}

void WindowValues::declare_buffers() {
  best_ = buffer("best", buffer_columns_);
  if (needs_row()) row_ = buffer("best_row", buffer_columns_);
  if (what_ == Pooled::kPicked) picked_ = buffer("picked", buffer_columns_);
}

// Padding: no element is smaller, and in a row behind all others.
WindowValues::Column WindowValues::outside(int lanes) const {
  double lowest = is_float(dtype_) ? -std::numeric_limits<double>::infinity() : 0;
  if (is_signed_int(dtype_)) lowest = -std::ldexp(1.0, static_cast<int>(8 * size_of(dtype_)) - 1);
  return {constant(what_ == Pooled::kSum ? 0 : lowest, lanes), constant(static_cast<double>(rows_of_window()), lanes),
          constant(0, lanes)};
}

// An element of a later row.
WindowValues::Column WindowValues::met(const Column& before, const Column& element) {
  if (what_ == Pooled::kSum) return {before.best + element.best, {}, {}};
  if (what_ == Pooled::kMaximum) return {kernel::extremum(true, before.best, element.best), {}, {}};
  const Term is_better = code_.let(
      "is_better", element.best > before.best || (element.best != element.best && before.best == before.best));
  return {kernel::select(is_better, element.best, before.best), kernel::select(is_better, element.row, before.row),
          what_ == Pooled::kPicked ? kernel::select(is_better, element.picked, before.picked) : Term()};
}

// Of the columns that begin `offset` behind the first element of each row.
WindowValues::Column WindowValues::reduced_column(const WindowRow& at, const Term& offset, const Term& count) {
  const int lanes = column_lanes_;
  const bool in_loop = !has_known_rows();
  auto element = [&](const ImageRow& row) {
    const Term index = row.offset + offset, position = kernel::cast(row.position, dtype_);
    Column out{code_.let("x", b_.load(b_.input(0), index, lanes, 1, count)),
               lanes > 1 ? kernel::splat(position, lanes) : position,
               {}};
    if (what_ == Pooled::kPicked) out.picked = code_.let("g", b_.load(b_.input(1), index, lanes, 1, count));
    return out;
  };
  Column start = outside(lanes);
  if (what_ != Pooled::kSum) {
    // An element is never the padding's, be it as small.
    const Term line = at.planes.first * b_.length(axes_[1].length) + at.rows.first;
    const Term position = (at.planes.first - at.planes.start) * Term(axes_[1].window) + at.rows.first - at.rows.start;
    start = element({line * b_.length(axes_[2].length), {}, {}, position});
  }
  Running best(code_, in_loop, "best_of_column", start.best);
  std::optional<Running> row, picked;
  if (needs_row()) row.emplace(code_, in_loop, "row_of_column", start.row);
  if (what_ == Pooled::kPicked) picked.emplace(code_, in_loop, "picked_of_column", start.picked);
  bool is_first = !in_loop && what_ != Pooled::kSum;
  each_image_row(at, [&](const ImageRow& image_row) {
    if (is_first) {
      is_first = false;
      return;
    }
    const Column now =
        met({best.term(), row ? row->term() : start.row, picked ? picked->term() : Term()}, element(image_row));
    best.set(now.best);
    if (row) row->set(now.row);
    if (picked) picked->set(now.picked);
  });
  return {best.term(), row ? row->term() : Term(), picked ? picked->term() : Term()};
}

void WindowValues::store(const Term& at, const Column& column) {
  code_.store(best_, at, 1, column.best);
  if (needs_row()) code_.store(row_, at, 1, column.row);
  if (what_ == Pooled::kPicked) code_.store(picked_, at, 1, column.picked);
}

void WindowValues::reduce_rows(const WindowRow& at, const Chunk& chunk, const Term& first_element) {
  const Axis& row = columns();
  const Term span = code_.let("span", (chunk.count - Term(1)) * Term(row.stride) + Term(row.window));
  const Term shift = code_.let("shift", chunk.first * Term(row.stride) - Term(row.before));  // of the first column
  const int lanes = column_lanes_;
  Term first = 0, end = span;
  if (row.is_cut) {
    first = code_.let("first_inside", larger_of(Term(0), Term(0) - shift));
    end = code_.let("end_inside", smaller_of(span, b_.length(row.length) - shift));
    if (row.before > 0) {
      const Column padding = outside(lanes);
      code_.loop("p", 0, first, Term(lanes), kernel::LoopMark::kVector, [&](Term p) { store(p, padding); });
    }
  }
  const Term begin = code_.let("begin_of_row", first_element + shift);
  kernel::each_vector(code_, "p", first, end, lanes, {},
                      [&](const Term& p, const Term& count) { store(p, reduced_column(at, begin + p, count)); });
  if (row.is_cut) {
    const Column padding = outside(lanes);
    code_.loop("p", end, span, Term(lanes), kernel::LoopMark::kVector, [&](Term p) { store(p, padding); });
  }
}

Term WindowValues::reduce_columns(const Term& i) {
  if (what_ == Pooled::kPicked || what_ == Pooled::kPosition) return chosen_column(i);
  const bool in_loop = !is_short(columns().window);
  auto column = [&](const Term& k) { return code_.let("column", column_of_windows(best_, i, k)); };
  const Term start = in_loop && what_ == Pooled::kSum ? constant(0, window_lanes_) : column(0);
  Running out(code_, in_loop, "of_window", start);
  bool is_first = !in_loop;
  each_in_window("k", columns().window, false, [&](const Term& k) {
    if (is_first) {
      is_first = false;
      return;
    }
    out.set(what_ == Pooled::kSum ? out.term() + column(k) : kernel::extremum(true, out.term(), column(k)));
  });
  return out.term();
}

// Among the columns that have the maximum, those whose row is the first; of these the first.
Term WindowValues::chosen_column(const Term& i) {
  const int64_t window = columns().window;
  const bool in_loop = !is_short(window);
  std::vector<Term> known_best, known_rows;  // where the columns are written out
  auto column = [&](const std::string& buffer, const Term& k, std::vector<Term>& known) {
    if (in_loop) return code_.let("column", column_of_windows(buffer, i, k));
    if (known.empty())
      for (int64_t c = 0; c < window; ++c) known.push_back(code_.let("column", column_of_windows(buffer, i, Term(c))));
    return known[static_cast<size_t>(k.node().integer)];
  };
  Running best(code_, in_loop, "best_of_window", column(best_, 0, known_best));
  each_in_window("k", window, false, [&](const Term& k) {
    if (!kernel::is_constant(k, 0)) best.set(kernel::extremum(true, best.term(), column(best_, k, known_best)));
  });
  auto has_best = [&](const Term& k) {
    const Term x = column(best_, k, known_best);
    return x == best.term() || x != x;
  };
  const Term none = constant(static_cast<double>(rows_of_window()), window_lanes_);
  std::optional<Running> first_row;
  if (needs_row()) {
    first_row.emplace(code_, in_loop, "first_row", none);
    each_in_window("k", window, false, [&](const Term& k) {
      const Term row = kernel::select(has_best(k), column(row_, k, known_rows), none);
      first_row->set(smaller_of(first_row->term(), row));
    });
  }
  auto value = [&](const Term& k) {
    if (what_ == Pooled::kPicked) return code_.let("column", column_of_windows(picked_, i, k));
    const Term number = kernel::cast(k, dtype_);
    return window_lanes_ > 1 ? kernel::splat(number, window_lanes_) : number;
  };
  Running out(code_, in_loop, "of_window", value(Term(window - 1)));
  each_in_window("k", window, true, [&](const Term& k) {
    if (kernel::is_constant(k, window - 1)) return;
    Term is_it = has_best(k);
    if (first_row) is_it = is_it && column(row_, k, known_rows) == first_row->term();
    out.set(kernel::select(is_it, value(k), out.term()));
  });
  return out.term();
}

}  // namespace thtrain
