// What the reductions of one operand share: where it lies and where its results do, and the loops over the axes of
// both.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

class ReductionAxes {
 protected:
  static constexpr size_t kIn = 0, kOut = 1;      // tracks: the load, the store
  static constexpr int64_t kStripBytes = 16'384;  // of a strip's accumulators, in the first-level cache
  static constexpr int64_t kShortRow = 16;        // elements that are not worth the lanes of a vector

  /// A nest of one load, one reduction of it, and one store. Axes of length 1 are none.
  ReductionAxes(StepBuilder& b, const Nest& nest)
      : b_(b),
        code_(b.code()),
        nest_(nest),
        how_(*nest.values()[1].how),
        from_(nest.values()[0].location),
        to_(nest.stores()[0].location),
        element_(from_.operand.type.dtype),
        columns_(kStripBytes / static_cast<int64_t>(std::max(size_of(element_), size_of(how_.dtype)))) {
    for (LoopAxis& axis : Tracks(nest).axes())
      if (!axis.length.is(1)) (axis.kind == AxisKind::kReduce ? reduced_ : kept_).push_back(std::move(axis));
    merge(kept_);
  }

  Term stride(const LoopAxis& axis, size_t track) const { return b_.length(axis.strides[track]); }

  static bool is_known(const Term& n) { return n.node().prim == Prim::kConstant; }
  static Term min_of(const Term& a, const Term& b) { return select(a < b, a, b); }

  /// Moves the first axis along which the elements are contiguous to the end; false if there is none.
  static bool bring_contiguous_last(std::vector<LoopAxis>& axes) {
    auto at = std::find_if(axes.begin(), axes.end(), [](const LoopAxis& axis) { return axis.strides[kIn].is(1); });
    if (at == axes.end()) return false;
    std::rotate(at, at + 1, axes.end());
    return true;
  }

  /// Is one short axis reduced, of many rows?
  bool has_short_rows() const {
    if (reduced_.size() != 1 || kept_.empty()) return false;
    const Dim &length = reduced_[0].length, &rows = kept_.back().length;
    return length.is_known() && length.value() <= kShortRow && !(rows.is_known() && rows.value() < kShortRow);
  }

  /// The length of the first kept axis; 1 where none is kept.
  Dim results_range() const { return kept_.empty() ? Dim(1) : kept_[0].length; }
  /// Elements that are read for one iteration of the first kept axis.
  Dim elements_of_iteration() const {
    Dim each = product_of(reduced_);
    for (size_t i = 1; i < kept_.size(); ++i) each = each * kept_[i].length;
    return each;
  }

  /// Loops over all results: body(index of the first element, of the result).
  void each_result(const std::function<void(Term, Term)>& body) {
    loops(0, kept_.size(), from_.first, to_.first, body);
  }

  /// Loops over the kept axes but the last, of which body(first, end, in, out) takes the results from `first` to before
  /// `end`: the element and the result at 0 are `in` and `out`.
  void each_line(const std::function<void(Term, Term, Term, Term)>& body) {
    const size_t last = kept_.size() - 1;
    loops(0, last, from_.first, to_.first, [&](const Term& in, const Term& out) {
      const auto [first, end] = bounds(last);
      body(first, end, in, out);
    });
  }

  /// [first, end) in strips of columns_: body(first of the strip, its width).
  void strips(const Term& first, const Term& end, const std::function<void(Term, Term)>& body) {
    if (is_known(end) && is_known(first) && end.node().integer <= columns_) return body(first, end);  // from 0 on
    code_.loop("strip", first, end, Term(columns_), LoopMark::kSequential,
               [&](Term strip) { body(strip, code_.let("width", min_of(end - strip, Term(columns_)))); });
  }

  /// body(index, count) for vectors of `lanes` side by side in [0, width); no count: all of them exist.
  void vectors(const Term& width, int lanes, const std::function<void(Term, Term)>& body) {
    each_vector(code_, "v", 0, width, lanes, {}, [&](const Term& v, const Term& count) {
      if (count) choice_.tail = ScheduleChoice::Tail::kMasked;
      body(v, count);
    });
  }

  /// Ends the kernel: threads take parts of the first kept axis, whole vectors of it where it has the lanes.
  void finish(std::string name, std::string comment, bool by_columns) {
    if (!is_split()) return b_.finish_kernel(std::move(name), std::move(comment), 1, 0, 1, choice_.text());
    const Dim grain = floor_div(Dim(worth_a_thread()), max(elements_of_iteration(), 1)) + 1;
    b_.finish_kernel(std::move(name), std::move(comment), results_range(), grain,
                     by_columns && kept_.size() == 1 ? choice_.lanes : 1, choice_.text());
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  const Accumulation& how_;
  const Location &from_, &to_;
  DType element_;
  int64_t columns_;
  std::vector<LoopAxis> kept_, reduced_;
  ScheduleChoice choice_;

 private:
  int64_t worth_a_thread() const { return b_.target().grain_of_work() / nest_.work; }  // elements

  /// Is there work for several threads, as far as is known?
  bool is_split() const {
    const Dim elements = results_range() * elements_of_iteration();
    return !kept_.empty() && !(elements.is_known() && elements.value() <= worth_a_thread());
  }

  /// From where to where a kept axis runs: the first over the kernel's range where that is split.
  std::pair<Term, Term> bounds(size_t depth) const {
    if (depth == 0 && is_split()) return {b_.begin(), b_.end()};
    return {Term(0), b_.length(kept_[depth].length)};
  }

  void loops(size_t depth, size_t last, const Term& in, const Term& out, const std::function<void(Term, Term)>& body) {
    if (depth == last) return body(in, out);
    const LoopAxis& axis = kept_[depth];
    const auto [begin, end] = bounds(depth);
    code_.loop(str("i", depth), begin, end, 1, LoopMark::kSequential, [&](const Term& i) {
      Term at = code_.let("at", in + i * stride(axis, kIn));
      loops(depth + 1, last, at, code_.let("to", out + i * stride(axis, kOut)), body);
    });
  }
};

}  // namespace thtrain::kernel
