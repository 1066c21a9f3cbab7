// What the loops of a nest step through, and the values of the nest where they have arrived.
#pragma once

#include <utility>
#include <vector>

#include "compiler/kernel/schedule/schedule.h"

namespace thtrain::kernel {

/// Where loops are: an element for each track, and which way the lanes run.
struct LocationInLoops {
  std::vector<Term> at;              // of each track, but for the innermost loop
  const LoopAxis* inner = nullptr;   // the innermost loop's axis
  Term i = 0;                        // its iteration
  const LoopAxis* across = nullptr;  // the axis that the lanes run over; null: one element
  int lanes = 1;
  Term count = {};        // lanes that exist; empty: all
  bool is_inside = true;  // of the nest's bounds

  /// The element of a track, `lane` lanes further.
  Term element(StepBuilder& b, size_t track, const Term& lane = 0) const;
};

/// The elements of all tracks, further by `i` iterations of an axis of loops.
std::vector<Term> further(StepBuilder& b, const std::vector<Term>& at, const LoopAxis& axis, const Term& i);

/// A track for each thing that a nest's axes move: locations, and numbers that messages show. Affine locations come
/// first, loads before stores; then what is read through an index.
class Tracks {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  explicit Tracks(const Nest& nest);

  size_t size() const { return tracks_.size(); }
  /// Tracks below this number are of affine locations.
  size_t affine() const { return affine_; }
  size_t of_value(size_t value) const { return of_value_[value]; }
  size_t of_store(size_t store) const { return of_store_[store]; }
  size_t of_bound(size_t bound) const { return of_bound_[bound]; }
  /// Do the iterations of an axis of loops lie side by side in memory, as elements or as pairs of them?
  bool is_contiguous(size_t track, const LoopAxis& axis) const;
  /// Does an axis of the nest move the value's own location?
  bool moves(size_t value, size_t axis) const;
  /// The axes of the nest, with the tracks' strides.
  std::vector<LoopAxis> axes() const;
  /// Where the tracks begin.
  std::vector<Term> firsts() const;
  /// The values that differ between the iterations of an axis of loops: their own location moves, or something that
  /// they read differs.
  std::vector<bool> varying(const LoopAxis& axis) const;

  /// The iterations among [first, last) of an axis of loops where these bounds of the nest hold, [low, high), where the
  /// tracks are at `at` without it: in all iterations of the axes `within`, which move bounds by known steps.
  std::pair<Term, Term> inside(StepBuilder& b, const std::vector<size_t>& bounds, const LoopAxis& axis,
                               const std::vector<Term>& at, const Term& first, const Term& last,
                               const std::vector<LoopAxis>& within = {}) const;

  /// Computes a value of the nest: one element, or a vector where it differs from lane to lane (`in_lanes`). A position
  /// that differs is left out: whoever reads through it asks for it lane by lane.
  void compute(StepBuilder& b, size_t value, const LocationInLoops& here, const std::vector<bool>& in_lanes,
               std::vector<Term>& values) const;
  /// Stores a vector, or one element.
  void store(StepBuilder& b, size_t store, const LocationInLoops& here, const Term& value,
             const std::vector<Term>& values) const;
  /// The element that a store writes first.
  Term target(StepBuilder& b, size_t store, const LocationInLoops& here, const std::vector<Term>& values) const;

 private:
  struct Track {
    Dims strides;
    Term first;
    bool is_of_pair = false;
  };
  size_t add(const Dims& strides, const Term& first, Location::Pair pair = Location::Pair::kNone);
  /// Are the lanes pairs side by side?
  bool is_vector_of_pairs(size_t track, const LocationInLoops& here) const;
  void load_pairs(StepBuilder& b, size_t value, const LocationInLoops& here, std::vector<Term>& values) const;
  void store_pairs(StepBuilder& b, size_t first, const LocationInLoops& here, const std::vector<Term>& values) const;
  Term load(StepBuilder& b, size_t value, const LocationInLoops& here, const std::vector<bool>& in_lanes,
            const std::vector<Term>& values) const;
  /// Elements side by side that neighbouring integers of the data name: can one instruction load some of them?
  bool is_vector_gather(StepBuilder& b, size_t value) const;
  Term vector_gather(StepBuilder& b, size_t value, const LocationInLoops& here, const std::vector<Term>& values) const;
  Term position(StepBuilder& b, size_t value, const LocationInLoops& here, const Term& lane,
                const std::vector<Term>& values) const;

  const Nest& nest_;
  std::vector<Track> tracks_;
  size_t affine_ = 0;
  std::vector<size_t> of_value_, reported_, of_store_, of_bound_;
};

/// A term of the nest where its values are known.
Term bound(const Nest& nest, const Term& term, const std::vector<Term>& values);

}  // namespace thtrain::kernel
