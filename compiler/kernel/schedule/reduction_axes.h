// What the reductions of one operand share: where it lies and where its results do, and the loops over the axes of
// both.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/places.h"

namespace thtrain::kernel {

class ReductionAxes {
 protected:
  static constexpr size_t kIn = 0, kOut = 1;  // tracks: the load, the store

  /// A nest of one load, one reduction of it, and one store. Axes of length 1 are none.
  ReductionAxes(StepBuilder& b, const Nest& nest)
      : b_(b),
        code_(b.code()),
        nest_(nest),
        how_(*nest.values()[1].how),
        from_(nest.values()[0].place),
        to_(nest.stores()[0].place),
        element_(from_.operand.type.dtype) {
    for (LoopAxis& axis : Tracks(nest).axes())
      if (!axis.length.is(1)) (axis.kind == AxisKind::kReduce ? reduced_ : kept_).push_back(std::move(axis));
    merge(kept_);
  }

  Term stride(const LoopAxis& axis, size_t track) const { return b_.length(axis.strides[track]); }

  /// The length of the first kept axis; 1 where none is kept.
  Dim results_range() const { return kept_.empty() ? Dim(1) : kept_[0].length; }
  /// Elements that are read for one turn of the first kept axis.
  Dim elements_of_turn() const {
    Dim each = product_of(reduced_);
    for (size_t i = 1; i < kept_.size(); ++i) each = each * kept_[i].length;
    return each;
  }

  /// From where to where a kept axis runs: the first over the kernel's range where that is `split`.
  std::pair<Term, Term> bounds(size_t depth, bool split) const {
    if (depth == 0 && split) return {b_.begin(), b_.end()};
    return {Term(0), b_.length(kept_[depth].length)};
  }

  /// Loops over the kept axes from `depth` to before `last`: body(index of the element, of the result).
  void each_result(size_t depth, size_t last, bool split, const Term& in, const Term& out,
                   const std::function<void(Term, Term)>& body) {
    if (depth == last) return body(in, out);
    const LoopAxis& axis = kept_[depth];
    const auto [begin, end] = bounds(depth, split);
    code_.loop(str("i", depth), begin, end, 1, LoopMark::kSequential, [&](const Term& i) {
      Term at = code_.let("at", in + i * stride(axis, kIn));
      each_result(depth + 1, last, split, at, code_.let("to", out + i * stride(axis, kOut)), body);
    });
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  const Accumulation& how_;
  const Place &from_, &to_;
  DType element_;
  std::vector<LoopAxis> kept_, reduced_;
  ScheduleChoice choice_;
};

}  // namespace thtrain::kernel
