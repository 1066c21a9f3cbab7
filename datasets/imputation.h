// Missing values of tables, which are read as NaN: what is learned of the training examples to fill them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

class Split;

struct Imputation {
  enum class By { kNone, kMean, kMedian, kZero };
  std::vector<double> fill;        // of each column; none: nothing is filled
  std::vector<int64_t> indicated;  // columns with missing values among the training examples, rising

  bool empty() const { return fill.empty(); }
  int64_t indicators() const { return static_cast<int64_t>(indicated.size()); }
  /// `rows` [n, columns] into `into` [n, columns + indicators()], both contiguous and of one dtype, float32 or float64:
  /// NaN becomes the column's fill; behind the columns comes an indicator for each of `indicated`, 1 where its value is
  /// missing, else 0.
  void apply(const Tensor& rows, Tensor into) const;
};

/// The mean or the median (of an even number of values, the mean of the middle two) of the values that each column has
/// among the examples `train`, which are vectors and not yet filled, or zeros; rounded to `floatx`. Reads all examples
/// once, and for medians once for each column. UserError at `where`: a column without values that has no mean or
/// median, and medians of examples that are read while training.
Imputation learn_imputation(const Split& train, Imputation::By by, DType floatx, const ConfigPosition& where);

}  // namespace thtrain
