// Pooling in the kernel of a convolution: from the array of its sums.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cpu/conv/correlation.h"
#include "compiler/cpu/conv/position_pooling.h"
#include "compiler/ops/pool/pooling.h"

namespace thtrain {

/// Maxima, sums or averages of windows, the bits of max_pool and sum_pool: columns of a window are reduced first.
class PooledPositions : public PositionPooling {
 public:
  PooledPositions(kernel::StepBuilder& builder, const Pooling& pooling, const PositionWindows& windows);

  /// The windows of max_pool or sum_pool over a convolution's result; nullopt where a window has more than one plane,
  /// or the images have more than two axes.
  static std::optional<PositionWindows> windows_of(const Pooling& pooling, const Correlation& c);

  const PositionWindows& windows() const override { return windows_; }
  void begin(bool by_filter) override;
  void write(const PositionArrays& arrays) override;

 private:
  using Term = kernel::Term;
  /// What a window has of an axis: [first, end) of positions, of [start, start + window).
  struct Cover {
    Term start, first, end;
  };

  Cover cover(const PooledAxis& axis, const Term& number);
  Term outside(int lanes) const;
  Term joined(const Term& a, const Term& b) const;
  Term reduced(const char* name, int64_t length, const Cover& cover, bool is_cut,
               const std::function<Term(const Term& at)>& element);
  Term counted(const PooledAxis& axis, const Cover& cover) const;
  Term divided(const Term& value, const Cover& rows, const Term& columns);
  Term counted_columns(const Term& first_window) const;
  void write_position_by_position(const PositionArrays& arrays);
  void write_by_filter(const PositionArrays& arrays);
  bool has_vectors_of_columns() const;
  std::vector<Term> side_by_side(std::vector<Term> vectors);
  void windows_from_vectors(const PositionArrays& arrays, const Cover& rows, const Term& from, const Term& to);
  void windows_from_buffer(const PositionArrays& arrays, const Cover& rows, const Term& from, const Term& to);
  Term column_of_windows(const Term& i, int64_t k) const;

  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const DType dtype_;
  const bool is_maximum_;
  const PoolDivisor divisor_;
  const PositionWindows windows_;
  const int lanes_;
  std::string columns_;  // by filter: a row of windows, reduced over its rows; with padding around it
};

}  // namespace thtrain
