// The CPU's schedule: a nest's loops with vectors, tails, accumulators, prefetch, non-temporal stores and threads.
// Everything here follows from lengths, strides, dtypes and the target; nothing of it is in a nest.
// docs/decisions/0012.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/nest.h"

namespace thtrain::kernel {

/// What the schedule chose for one kernel: `explain` prints it.
struct ScheduleChoice {
  int lanes = 1;
  std::string over;      // what the lanes run over: "elements", "rows", "columns", "the row"
  int accumulators = 0;  // for each lane; 0: nothing is reduced
  int at_once = 1;       // rows, or vectors of them, that one loop goes through
  bool two_levels = false;
  enum class Tail : uint8_t { kNone, kMasked, kNarrower } tail = Tail::kNone;
  enum class Gathers : uint8_t { kNone, kRows, kLanes } gathers = Gathers::kNone;
  enum class Stores : uint8_t { kCached, kPrefetched, kNonTemporal, kByLength } stores = Stores::kCached;

  /// "vectors of 16 over elements, tail masked, stores prefetched"
  std::string text() const;
};

/// Ends the kernel of the nest, which is all of the kernel but for what was written before it into the builder's code.
void schedule(StepBuilder& b, const Nest& nest, std::string name, std::string comment);

// ---- parts that the schedules of nests share -----------------------------------------------------------------------

/// One axis of the loops: its length, and how far it moves each of what they step through, in elements.
struct LoopAxis {
  Dim length;
  Dims strides;
  AxisKind kind = AxisKind::kParallel;
};
/// Neighbouring axes of one kind that everything steps through as through one become one; known lengths of 1 vanish.
std::vector<LoopAxis> collapse(const std::vector<LoopAxis>& axes);
/// Joins any two axes of one kind that way, neighbours or not: where any order of the iterations is as good.
void merge(std::vector<LoopAxis>& axes);

/// Lanes of vectors that hold the widest element of the nest; 1 where a vector is no wider.
int whole_lanes(const StepBuilder& b, size_t widest);

/// Loops over [first, last) by `lanes`: body(i, count) for the vector from i on, of which `count` lanes exist (no term:
/// all). `length` is last - first where that is known, or a length that pieces of whole vectors were cut from. All
/// masked tails are made here, but for those of squares.
void each_vector(Code& code, const std::string& name, const Term& first, const Term& last, int lanes,
                 std::optional<int64_t> length, const std::function<void(Term i, Term count)>& body);
inline std::optional<int64_t> known_length(const Dim& dim) {
  return dim.is_known() ? std::optional(dim.value()) : std::nullopt;
}

/// The position that the loaded integer `number` names, in [0, length); fails the call where it names none and is
/// checked. {limit} shows `reported`, or the length where that is empty.
Term checked_position(StepBuilder& b, const Index& index, const Term& number, const Term& reported);

/// Does its code call a function of the target's library?
bool calls_library(const Term& term, const Target& target);

// One file for each kind of nest: without reductions; with one and nothing else, or its position; with code around and
// between them; with numbers that iterations hand on, or that are for some iterations alone.
void schedule_elements(StepBuilder& b, const Nest& nest, std::string name, std::string comment);
void schedule_reduction(StepBuilder& b, const Nest& nest, std::string name, std::string comment);
void schedule_arg_reduction(StepBuilder& b, const Nest& nest, std::string name, std::string comment);
void schedule_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment);
void schedule_carried(StepBuilder& b, const Nest& nest, std::string name, std::string comment);

}  // namespace thtrain::kernel
