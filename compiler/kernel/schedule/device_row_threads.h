// What the threads of a row on a device combine: each has a number, and all of them get the result.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/schedule/device_best.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {

/// One thread, a warp, or a block: the threads of a warp combine by shuffles, its warps by a shared array for each
/// number, which nothing else uses.
class RowThreads {
 public:
  explicit RowThreads(StepBuilder& b) : b_(b), warp_(b.target().device.warp) {}
  void set_count(int threads) { count_ = threads; }

  /// Before all loops and branches: the number of a reduction, of that dtype, will be combined; where it is the best of
  /// some, its position too.
  void declare(size_t number, DType dtype, bool has_position);
  Term combined(size_t number, Term own, const std::function<Term(const Term&, const Term&)>& combine);
  /// The position of the best of a row of `length` elements.
  Term where_best(size_t number, const Accumulation& how, Best own, const Term& length);

 private:
  using Arrays = std::vector<std::pair<size_t, std::string>>;
  static const std::string& of(const Arrays& arrays, size_t number);
  void share(const std::string& array, const Term& own);
  Term shared(const std::string& array, DType dtype, int64_t warp);

  StepBuilder& b_;
  int warp_, count_ = 1;
  Arrays parts_, positions_;  // shared, by number: an element for each warp
};

}  // namespace thtrain::kernel
