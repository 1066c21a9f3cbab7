#include "nn/sequences.h"

#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr time_major(const Expr& sequences) {
  std::vector<int64_t> axes(sequences.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.at(0), axes.at(1));
  return transpose(sequences, axes);
}

Expr rows_of_steps(const Expr& sequences) {
  Dims dims(sequences.dims().begin() + 1, sequences.dims().end());
  dims.at(0) = sequences.dims()[0] * sequences.dims()[1];
  return reshape(sequences, dims);
}

Expr steps_of_rows(const Expr& rows, const Dim& steps, const Dim& batch) {
  Dims dims = rows.dims();
  dims.at(0) = batch;
  dims.insert(dims.begin(), steps);
  return reshape(rows, dims);
}

Expr step_mask(const Expr& lengths, const Expr& sequences, DType dtype) {
  return cast(lt(expand_dims(arange(length(sequences, 0)), {1}), expand_dims(lengths, {0})), dtype);
}

}  // namespace thtrain
