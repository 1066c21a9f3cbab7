// The plan of a nest whose reduce axes are a row: which loops over its elements there are, and what each computes.
#pragma once

#include <unordered_set>

#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

/// Values of a nest with reduce axes, sorted into loops over a row's elements. A loop computes what varies along the
/// row; between the loops per-row scalars are computed. Numbers are those of the nest's values.
class RowPlan {
 public:
  RowPlan(const Nest& nest, const Tracks& tracks);

  bool varies(size_t value) const { return varies_[value]; }
  /// How many loops must have run before the value can be computed.
  size_t phase(size_t value) const { return phase_[value]; }
  size_t loops() const { return reductions_.size(); }
  /// The reductions of a loop; what it computes for each element, in order; cached values that it reads.
  const std::vector<size_t>& reductions(size_t loop) const { return reductions_[loop]; }
  const std::vector<size_t>& needed(size_t loop) const { return needed_[loop]; }
  const std::unordered_set<size_t>& read(size_t loop) const { return read_[loop]; }
  bool stores_elements(size_t store) const { return stores_elements_[store]; }
  /// The operations that a loop computes.
  std::vector<size_t> operations(size_t loop) const;

  /// Caches values of one loop that a later one reads, where recomputing them costs more than a store and a load:
  /// `row_bytes` gives the size of a value's row, `load_work` what reading its operand costs.
  void cache_rows(const std::function<int64_t(size_t value)>& row_bytes,
                  const std::function<int64_t(size_t value)>& load_work);
  const std::vector<size_t>& cached() const { return cached_; }

 private:
  using Set = std::unordered_set<size_t>;
  std::vector<size_t> targets(size_t loop) const;
  std::vector<size_t> needed_by(size_t loop, const Set& known, Set* read = nullptr) const;
  int64_t work_to_have(size_t value, const Set& known, const std::function<int64_t(size_t value)>& load_work) const;

  const Nest& nest_;
  std::vector<bool> varies_, stores_elements_;
  std::vector<size_t> phase_;
  std::vector<std::vector<size_t>> reductions_, needed_;
  std::vector<Set> read_;
  std::vector<size_t> cached_;
};

}  // namespace thtrain::kernel
