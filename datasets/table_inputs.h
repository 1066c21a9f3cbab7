// From the columns of a table to what a model takes: missing values filled, texts as categories, indicators.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/standardization.h"

namespace thtrain {

/// The inputs are in the order of the columns; behind them come the indicators of missing values.
class TableInputs {
 public:
  /// Where a number that a model takes comes from.
  struct Input {
    int64_t column = 0;
    enum class Kind { kNumber, kCategory, kCode, kIndicator } kind = Kind::kNumber;
    int64_t category = 0;  // of kCategory
  };

  /// Of a table of so many columns, by the imputation and the categories of `learned`. The texts of the table have the
  /// codes of `own`, those of `learned` where it is null.
  TableInputs(const Standardization& learned, int64_t columns, const Categories* own);

  int64_t columns() const { return std::ssize(columns_); }
  int64_t width() const { return std::ssize(inputs_); }
  const std::vector<Input>& inputs() const { return inputs_; }
  /// Rows as the table has them, float64 [n, columns] with NaN for missing values, into the contiguous `into` [n,
  /// width] of float32 or float64; numbers are multiplied by `scale`. A missing text is no category, or has the code
  /// behind the last one. The index of the first code that `learned` has no category for, counted row by row; -1 of
  /// none.
  int64_t apply(const Tensor& rows, double scale, Tensor into) const;

 private:
  struct Column {
    Input::Kind kind = Input::Kind::kNumber;
    double fill = 0;
    bool is_filled = false;
    int64_t categories = 0;
    std::vector<int64_t> code_of = {};  // of each code of the table, -1 where it is unknown
    /// The code of `learned`; -1: unknown.
    int64_t code(double value) const;
  };
  template <class T>
  int64_t apply_as(const Tensor& rows, double scale, Tensor into) const;

  std::vector<Column> columns_;
  std::vector<int64_t> indicated_;
  std::vector<Input> inputs_;
};

/// The names of the inputs: "age", "colour=red", "age missing"; `columns` are those of the table.
std::vector<std::string> input_names(const TableInputs& inputs, const std::vector<std::string>& columns,
                                     const Categories& categories);

}  // namespace thtrain
