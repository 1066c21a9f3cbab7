// Elements of a matrix as examples: where each is, and its value.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/sparse_rows.h"

namespace thtrain {

/// x [n, rows + columns] is 1 at the element's row and at `rows` + its column, else 0; y float64 [n] are the values.
struct MatrixElements {
  std::shared_ptr<const SparseRows> x;
  Tensor y;
};

/// Gathers them, one by one.
class ElementList {
 public:
  ElementList(int64_t rows, int64_t columns) : rows_(rows), width_(rows + columns) {}
  void add(int64_t row, int64_t column, double value);
  int64_t width() const { return width_; }
  MatrixElements take();

 private:
  int64_t rows_, width_;
  SparseNumbers numbers_;
  std::vector<size_t> begins_{0};
  std::vector<double> values_;
};

}  // namespace thtrain
