// Sequences among the examples: how many steps each has, of those that its array has room for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datasets/data_array.h"

namespace thtrain {

/// What makes the rows of an array sequences: its axis 1 counts steps. `lengths`: one integer for each row, the steps
/// that the row has; the numbers behind them are not looked at. Without it each row has all steps.
struct Sequences {
  std::optional<DataArray> lengths = {};
};

/// The lengths of all rows of an array of sequences, in memory.
struct SequenceLengths {
  DataArray array;  // as it was found
  std::vector<int64_t> of_rows;

  /// Reads `lengths`, those of the rows of `x` [n, steps, ...]. UserError at its location: it is not one number for
  /// each row of x, or one of them is no integer from 1 to `steps`.
  SequenceLengths(DataArray lengths, const DataArray& x);
};

/// `rows` [n, steps, ...] with zeros behind the end of each, in place. contiguous; lengths: int64 [n].
void clear_behind_end(Tensor rows, const Tensor& lengths);
/// The steps of all rows [n, steps, ...] in a row, [sum of lengths, ...], without those behind an end. `lengths` of
/// rank 0: each row has all steps.
Tensor steps_within(const Tensor& rows, const Tensor& lengths);
/// The largest of int64 [n]; 0 of none.
int64_t longest(const Tensor& lengths);
/// The first `steps` steps of rows [n, more steps, ...], contiguous; the rows themselves where they have so many.
Tensor first_steps(const Tensor& rows, int64_t steps);
/// The same of the rows of these numbers, in their order.
Tensor first_steps(const Tensor& rows, std::span<const int64_t> which, int64_t steps);

}  // namespace thtrain
