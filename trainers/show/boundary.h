// What a model makes of the plane of its two features.
#pragma once

#include "trainers/show/trained_model.h"

namespace thtrain {

struct Boundary {
  /// In the data's units: the smallest rectangle around the examples, wider by a tenth of its sides at each edge.
  double left = 0, right = 1, bottom = 0, top = 1;
  int64_t rows = 0, columns = 0;
  /// Of the middles of rows x columns equal rectangles, the upper row first. int64 [rows, columns], of a model that
  /// tells classes apart; else of the rank 0.
  Tensor classes = {};
  Tensor values = {};   // float64 [rows, columns]: the probability of that class, or the first value
  Tensor points = {};   // float64 [n, 2]: the first examples, in the data's units
  Tensor targets = {};  // of these: int64 [n] classes, or float64 [n, ...] values; of the rank 0 without targets
};

/// Has an example two numbers, and is it no sequence?
bool has_plane(const TrainedModel& model);
/// With at most `points` examples of a part, of which there is at least one. InternalError unless has_plane().
Boundary boundary_of(const TrainedModel& model, Part part, int64_t rows, int64_t columns, int64_t points);

}  // namespace thtrain
