#include "datasets/matrix_elements.h"

namespace thtrain {

void ElementList::add(int64_t row, int64_t column, double value) {
  numbers_.add(row, 1);
  numbers_.add(rows_ + column, 1);
  begins_.push_back(numbers_.values.size());
  values_.push_back(value);
}

MatrixElements ElementList::take() {
  const auto n = std::ssize(values_);
  return {std::make_shared<const HeldSparseRows>(std::move(numbers_), std::move(begins_), width_),
          Tensor::of(values_, {n})};
}

}  // namespace thtrain
