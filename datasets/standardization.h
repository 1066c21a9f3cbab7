// What is learned of the training examples, and applied to all others: values in place of missing ones, and numbers of
// mean 0 and standard deviation 1.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/categories.h"
#include "datasets/imputation.h"

namespace thtrain {

class Split;

/// What is subtracted from numbers, and what the difference is divided by: one value for each number of a row, or one
/// for all; none: numbers stay as they are.
struct Standard {
  std::vector<double> mean, scale;

  bool empty() const { return mean.empty(); }
  /// (v - mean) / scale, computed in float64, in place; `rows` [n, ...], of sequences [n, steps, ...], is contiguous
  /// float32 or float64.
  void apply(Tensor rows) const;
  /// v * scale + mean: the way back.
  void undo(Tensor rows) const;
};

struct Standardization {
  /// kFeatures: a mean and a deviation for each number of an example, or of a step of sequences; kAll: one of each over
  /// all numbers; kScales: a deviation as kFeatures, and 0 for each mean, so that what is 0 stays it.
  enum class By { kNone, kFeatures, kAll, kScales };
  Standard inputs, targets;
  Imputation imputation = {};  // of the columns of a table, before they are standardized
  Categories categories = {};  // of these columns

  /// Do the inputs differ from the columns of the table?
  bool is_of_table() const { return !imputation.empty() || !categories.empty(); }
};

/// The mean and the standard deviation (divided by n, not n - 1) of x by `by`, and where `targets`, those of each
/// number of y (which holds values), rounded to `floatx`. A deviation of 0 counts as 1. But by kAll, categories and
/// indicators of missing values stay as they are: their mean counts as 0, their deviation as 1. Reads all examples
/// twice, a few MiB at a time; UserError as check_batch. Of sparse examples, kScales only.
Standardization learn_standardization(const Split& train, Standardization::By by, bool targets, DType floatx);

}  // namespace thtrain
