// Accumulators of a reduction: parts that are combined at the end, each of some lanes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/kernel/schedule/schedule.h"

namespace thtrain::kernel {

/// Elements that one lane combines before the second level takes over, where Accumulation::rounds.
inline constexpr int64_t kReduceBlock = 64;

/// The integers whose lanes are as wide as elements of so many bytes: a comparison's mask chooses among them.
DType lane_dtype(size_t bytes);
/// An accumulator of `lanes` lanes that holds the identity (for bools, a mask as wide as the comparisons of elements of
/// that dtype).
Term start(const Accumulation& how, DType element, int lanes);
/// What the second level accumulates in: float64 for float32, else the accumulator's own dtype.
DType wide_of(DType accumulator);
/// The lanes of an accumulator combined into one.
Term combine_lanes(const Accumulation& how, const Term& accumulator);
/// accumulator combined with element, which is cast to the accumulator's dtype. Reads both twice: name them by let().
Term accumulate(const Accumulation& how, const Term& accumulator, const Term& element);
/// `x` in the lanes below `count`, `otherwise` in the others.
Term in_first_lanes(const Term& count, const Term& x, const Term& otherwise);

/// Fails the call where a result has no elements to combine and no value for that. Lengths that are known were looked
/// at when the graph was built.
void check_elements(StepBuilder& b, const Accumulation& how, const std::vector<LoopAxis>& reduced,
                    const std::vector<LoopAxis>& kept);
Dim product_of(const std::vector<LoopAxis>& axes);

/// The accumulators of one reduction of a nest in its loops.
struct Accumulator {
  size_t value;  // the reduction's number in the nest
  const Accumulation* how;
  DType element;  // what is accumulated
  int lanes;
  std::vector<Term> parts;
  Term total = {};                 // second level, where there is one
  std::vector<Term> seconds = {};  // of pairs that are reduced jointly: the other one of each part

  Term identity() const { return start(*how, element, lanes); }
  /// Of the vector `x` the first `count` lanes (empty: all).
  void add(Code& code, size_t part, Term x, const Term& count) const;
  void add_pair(Code& code, size_t part, TermPair x, const Term& count) const;
  TermPair combined_pair(Code& code, bool in_one) const;
  /// The parts in one, pair by pair; its lanes too where `in_one`.
  Term combined(Code& code, bool in_one) const;
  /// Moves the parts to the second level.
  void flush(Code& code, bool in_one) const;
};

/// [0, n) in vectors for `parts` accumulators: one vector for each in turn, then single ones for part 0, then the rest,
/// with its count, for part `parts` - 1. `length`: see each_vector.
void each_accumulated(Code& code, const Term& n, int parts, int lanes, std::optional<int64_t> length,
                      const std::function<void(Term j, Term count, int part)>& body);

}  // namespace thtrain::kernel
