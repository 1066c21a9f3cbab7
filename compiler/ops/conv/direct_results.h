// The way out of a direct kernel's sums: to the result as they lie there, or to an epilogue.
#pragma once

#include <functional>
#include <string>

#include "compiler/ops/conv/correlation.h"

namespace thtrain {

/// The sums of some rows of a block of filters, in an array of the kernel that is being written: place by place with
/// the filters side by side, or (`by_filter`) filter by filter with the places side by side.
class DirectResults {
 public:
  DirectResults(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t block,
                bool by_filter);

  /// Rows whose places fill vectors well where rows are short: the fewest that an epilogue takes by filter.
  static int64_t rows_by_filter(const Correlation& c, int lanes);
  /// Elements that the array has for `rows` rows.
  static int64_t elements(const Correlation& c, int64_t block, int64_t rows, bool by_filter, int lanes, bool is_ended);

  /// Rows by filter for the step's epilogue: as many as the second cache holds and threads can share, since it runs
  /// through the places of a filter, and through what it reads of them, without a break.
  int64_t rows_to_end() const;
  /// Makes the array, and begins the epilogue.
  void begin(int64_t rows);
  /// The image, the group and the block's first filter in it, of all that follows.
  void set_block(const kernel::Term& image, const kernel::Term& group, const kernel::Term& filter);
  const std::string& array() const { return sums_; }
  /// Where the array has filter `o` of place `p`, by the place among those of the rows.
  kernel::Term at(const kernel::Term& p, const kernel::Term& o) const;
  /// Where the result has the first place of the block's first filter.
  const kernel::Term& out() const { return out_; }

  /// Place by place: fetches what the epilogue will read of a row, of the block's filters [first, last). Filters lie
  /// far from each other in memory, so that nothing else would; and few at a time, or they wait for each other.
  void prefetch(const kernel::Term& row, const kernel::Term& first, const kernel::Term& last);
  /// Rows [first, last) of the result, which lie one behind the other, or to the epilogue.
  void write(const kernel::Term& first, const kernel::Term& last);

 private:
  using Index = std::function<std::array<kernel::Term, 3>(const kernel::Term& place)>;

  int64_t width() const { return c_.axes[2].out; }
  std::vector<kernel::Term> square(const kernel::Term& p, const kernel::Term& v);
  void write_transposed(const kernel::Term& first, const kernel::Term& last);
  kernel::Term existing(const kernel::Term& first, int64_t most);
  void each_run(const kernel::Term& first, const kernel::Term& last,
                const std::function<void(const kernel::Term& begin, const kernel::Term& places, const Index&)>& body);
  void each_vector(const kernel::Term& places,
                   const std::function<void(const kernel::Term& place, const kernel::Term& count)>& body);
  void end_squares(const kernel::Term& begin, const kernel::Term& places, const Index& index);
  void end_filters(const kernel::Term& begin, const kernel::Term& places, const Index& index);
  void end(const std::string& array, const kernel::Term& at, const kernel::Term& o,
           const std::array<kernel::Term, 3>& index, const kernel::Term& count);

  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const Correlation& c_;
  const CorrelationStep& step_;
  const int lanes_;
  const int64_t block_, blocks_;  // filters of a block, blocks of a group
  const bool by_filter_;
  int64_t pitch_ = 0;  // by filter: from one to the next
  std::string sums_, square_;
  kernel::Term first_filter_, out_;
  kernel::Term image_, filter_;  // for an epilogue: which image, and which of all filters the block begins with
};

}  // namespace thtrain
