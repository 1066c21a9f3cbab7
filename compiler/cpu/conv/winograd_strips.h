// Rows of channels-first images as vectors of neighbouring channels, and back, a few rows at a time: what the
// transforms of winograd_transforms.h read and write.
#pragma once

#include <string>

#include "compiler/cpu/conv/correlation.h"

namespace thtrain {

/// `rows` rows of `columns` elements of a correlation's image, with the zeros around it, of as many channels as a
/// vector has lanes. A local array of the kernel that is being written.
class ImageStrip {
 public:
  ImageStrip(kernel::StepBuilder& builder, const Correlation& c, const kernel::Operand& image, int64_t rows,
             int64_t columns);
  /// Reads what lies below positions (y, x) and on; lanes of channels that do not exist repeat the last one.
  void read(const kernel::Term& image, const kernel::Term& channel, const kernel::Term& y, const kernel::Term& x);
  kernel::Term load(const kernel::Term& row, const kernel::Term& column) const;

 private:
  void row(const kernel::Term& from, const kernel::Term& to, const kernel::Term& begin, const kernel::Term& end,
           const kernel::Term& channel);
  void zeros(const kernel::Term& to, const kernel::Term& begin, const kernel::Term& end);

  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const Correlation& c_;
  kernel::Operand image_;
  int lanes_;
  int64_t rows_, columns_, pitch_;
  std::string array_;
};

/// `rows` rows of `columns` positions of a correlation's result, of as many outputs as a vector has lanes. Begins the
/// step's epilogue.
class ResultStrip {
 public:
  ResultStrip(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t rows,
              int64_t columns);
  void store(const kernel::Term& row, const kernel::Term& column, const kernel::Term& value);
  /// Writes the first `columns` columns to positions (y, x) and on, as far as positions and outputs exist, or gives
  /// them to the epilogue.
  void write(const kernel::Term& image, const kernel::Term& output, const kernel::Term& y, const kernel::Term& x,
             const kernel::Term& columns);

 private:
  kernel::StepBuilder& builder_;
  kernel::Code& code_;
  const Correlation& c_;
  const CorrelationStep& step_;
  int lanes_;
  int64_t rows_, pitch_;
  std::string array_, square_;
};

}  // namespace thtrain
