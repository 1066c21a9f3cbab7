// Few long rows of a reduction on a device, cut in parts: what each gives lies in a workspace, and a second kernel
// combines it.
#pragma once

#include <utility>
#include <vector>

#include "compiler/kernel/schedule/row_plan.h"

namespace thtrain::kernel {

/// A part is in the dtype in which the second level of sums adds.
class RowParts {
 public:
  RowParts(StepBuilder& b, const Nest& nest, const RowPlan& plan) : b_(b), nest_(nest), plan_(plan) {}

  /// Cuts rows of `count` elements, each of one thread or of the `of_row` threads of a block, where that gives the
  /// device enough to do, and the nest has nothing but numbers that are combined, and what is computed of these.
  void cut(const Dim& rows, const Dim& count, int of_row);
  bool are_there() const { return !length_.is(0); }
  /// Elements of a part; parts of a row.
  const Dim& length() const { return length_; }
  const Dim& count() const { return count_; }

  /// Before the first part is stored.
  void begin();
  void store(const std::vector<Term>& values, const Term& row, const Term& part) const;
  /// Behind the kernel of the parts.
  void combine() const;

 private:
  bool are_possible() const;

  StepBuilder& b_;
  const Nest& nest_;
  const RowPlan& plan_;
  Dim rows_ = 0, length_ = 0, count_ = 1;
  std::vector<std::pair<size_t, Operand>> partial_ = {};  // by reduction
};

/// The rows of what the parts gave, which are not cut again.
void schedule_whole_device_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment);

}  // namespace thtrain::kernel
