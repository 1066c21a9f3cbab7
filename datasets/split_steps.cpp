// Sequences without the steps that none of them has.
#include "datasets/dataset.h"

namespace thtrain {

// Of each row [steps, ...] the first ones; the array itself where its rows are read whole.
static bool take_steps(DataArray& array, int64_t steps) {
  Shape shape = array.raw.shape();
  shape[1] = steps;
  if (!array.source) {
    array.raw = array.raw.view(shape, array.raw.strides(), 0);
    return true;
  }
  DataArray out = array;
  out.raw = outline(array.raw.dtype(), shape);
  out.source = array.source->beginnings(row_bytes(out));
  if (!out.source) return false;
  array = std::move(out);
  return true;
}

Split Split::first_steps(int64_t steps) const {
  TH_CHECK(is_sequence_ && steps >= 1 && steps <= input_shape_[0], steps, " steps of ", shape_text(input_shape_));
  Split out = *this;
  if (steps == input_shape_[0]) return out;
  if (!take_steps(out.x_, steps)) return *this;
  if (has_step_targets_ && !take_steps(out.y_, steps)) return *this;
  out.input_shape_[0] = steps;
  if (has_step_targets_) out.target_shape_[0] = steps;
  return out;
}

}  // namespace thtrain
