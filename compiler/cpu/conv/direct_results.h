// The way out of a direct kernel's sums: pooled first or not, to the result as they lie there or to an epilogue.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cpu/conv/correlation.h"

namespace thtrain {

/// The sums of some rows of a block of filters, in an array of the kernel that is being written: position by position
/// with the filters side by side, or (`by_filter`) filter by filter with the positions side by side. Where they are
/// pooled, the result's rows are rows of windows, else rows of positions.
class DirectResults {
 public:
  DirectResults(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t block,
                bool by_filter);

  /// Bytes of the smallest arrays that are possible: of one row of results position by position, and by filter of as
  /// many as fill vectors well.
  static int64_t fewest_bytes(const Correlation& c, int64_t block, bool by_filter, int lanes, bool is_ended,
                              const PositionWindows* windows);

  /// Are the sums by filter in an array? Else they are stored from registers.
  bool is_ended() const { return step_.epilogue || step_.pooling; }
  /// Rows of the result.
  int64_t rows() const { return out_[0] * out_[1]; }
  /// Rows of the result that one part computes at a time. Position by position: as many as the first cache holds the
  /// sums of, or the second where windows share rows, since each part computes those that it shares with the next. By
  /// filter, for what the step ends with: as many as the second cache holds and threads can share, since an epilogue
  /// runs through the positions of a filter, and through what it reads of them, without a break.
  static int64_t rows_of_part(const Correlation& c, int64_t block, bool by_filter, int lanes,
                              const PositionWindows* windows);
  /// Makes the arrays for parts of so many rows, and begins the epilogue.
  void begin(int64_t rows);
  /// The image, the group and the block's first filter in it, of all that follows.
  void set_block(const kernel::Term& image, const kernel::Term& group, const kernel::Term& filter);
  /// The rows of positions that rows [first, last) of the result need: from the first one on, until the second.
  std::pair<kernel::Term, kernel::Term> rows_of_positions(const kernel::Term& first, const kernel::Term& last);
  const std::string& array() const { return sums_; }
  /// Where the array of sums has filter `o` of position `p`, by the position among those of the rows.
  kernel::Term at(const kernel::Term& p, const kernel::Term& o) const;
  /// Where the result has the first position of the block's first filter.
  const kernel::Term& out() const { return out_at_; }

  /// Position by position: fetches what the epilogue will read of a row, of the block's filters [first, last). Filters
  /// lie far from each other in memory, so that nothing else would; and few at a time, or they wait for each other.
  void prefetch(const kernel::Term& row, const kernel::Term& first, const kernel::Term& last);
  /// Rows [first, last) of the result, which lie one behind the other, or to the epilogue.
  void write(const kernel::Term& first, const kernel::Term& last);

 private:
  using Index = std::function<std::array<kernel::Term, 3>(const kernel::Term& position)>;

  static std::array<int64_t, 3> lengths_of(const Correlation& c, const PositionWindows* windows);
  static int64_t rows_by_filter(const std::array<int64_t, 3>& out, int lanes);
  static int64_t positions_of_rows(const Correlation& c, const PositionWindows* windows, int64_t rows);
  static int64_t elements(int64_t block, int64_t positions, bool by_filter, int lanes, bool is_ended);
  int64_t width() const { return out_[2]; }
  std::vector<kernel::Term> square(const std::string& array, const kernel::Term& p, const kernel::Term& v);
  void compute_before();
  void pool(const kernel::Term& first, const kernel::Term& last);
  void write_transposed(const kernel::Term& first, const kernel::Term& last);
  void write_filters(const kernel::Term& first, const kernel::Term& last);
  kernel::Term existing(const kernel::Term& first, int64_t most);
  void each_run(
      const std::array<int64_t, 3>& lengths, bool is_flat, const kernel::Term& first, const kernel::Term& last,
      const std::function<void(const kernel::Term& begin, const kernel::Term& positions, const Index&)>& body);
  void each_vector(const kernel::Term& positions,
                   const std::function<void(const kernel::Term& position, const kernel::Term& count)>& body);
  using Vector = std::function<void(const std::string& array, const kernel::Term& at, const kernel::Term& filter,
                                    const kernel::Term& position, const kernel::Term& count)>;
  void each_vector_of(const std::string& array, bool by_filter, int64_t pitch, const kernel::Term& begin,
                      const kernel::Term& positions, const Vector& body);

  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const Correlation& c_;
  const CorrelationStep& step_;
  const int lanes_;
  const int64_t block_, blocks_;           // filters of a block, blocks of a group
  const bool by_filter_, ends_by_filter_;  // the sums; the results
  const std::array<int64_t, 3> out_;       // lengths of the result
  int64_t sums_pitch_ = 0, pitch_ = 0;     // by filter: from one to the next, of what is pooled and of the results
  std::string sums_, pooled_, results_, square_;  // what is pooled may be the sums, and the results what is pooled
  kernel::Term first_row_, last_row_;             // of positions, of which there are sums
  kernel::Term first_filter_, out_at_;
  kernel::Term image_, filter_;  // for an epilogue: which image, and which of all filters the block begins with
};

}  // namespace thtrain
