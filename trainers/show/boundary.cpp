#include "trainers/show/boundary.h"

#include <algorithm>

#include "trainers/predict.h"
#include "trainers/show/mistakes.h"

namespace thtrain {

bool has_plane(const TrainedModel& model) {
  return model.data().input_shape() == Shape{2} && !model.data().is_sequence();
}

// The least and the largest number of a column, and a tenth of their difference on each side.
static std::pair<double, double> range_of(const Tensor& points, int64_t column) {
  double low = points.as_double(column), high = low;
  for (int64_t i = 0; i < points.dim(0); ++i) {
    low = std::min(low, points.as_double(2 * i + column));
    high = std::max(high, points.as_double(2 * i + column));
  }
  const double margin = high > low ? (high - low) / 10 : 1;
  return {low - margin, high + margin};
}

Boundary boundary_of(const TrainedModel& model, Part part, int64_t rows, int64_t columns, int64_t points) {
  TH_CHECK(has_plane(model), "a boundary of examples ", shape_text(model.data().input_shape()));
  const int64_t count = std::min(points, model.split(part).size());
  const Batch examples = model.read(part, 0, count);
  Boundary out{.rows = rows, .columns = columns, .points = model.in_units(examples.x)};
  if (can_judge(model))
    out.targets = Tensor::of(model.labels(part, 0, count), {count});
  else if (model.split(part).targets() != Targets::kNone)
    out.targets = model.split(part).read_targets(0, count, DType::kFloat64);
  std::tie(out.left, out.right) = range_of(out.points, 0);
  std::tie(out.bottom, out.top) = range_of(out.points, 1);
  Tensor grid = Tensor::empty(DType::kFloat64, {rows * columns, 2});
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double across = (static_cast<double>(i % columns) + 0.5) / static_cast<double>(columns),
                 down = (static_cast<double>(i / columns) + 0.5) / static_cast<double>(rows);
    grid.data<double>()[2 * i] = out.left + (out.right - out.left) * across;
    grid.data<double>()[2 * i + 1] = out.top - (out.top - out.bottom) * down;
  }
  const Prediction found = model.predict(Batch{model.from_units(grid), {}});
  if (found.has_classes) out.classes = found.classes.reshape({rows, columns});
  out.values = Tensor::empty(DType::kFloat64, {rows, columns});
  const int64_t width = found.probabilities.size() / (rows * columns);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t of_class = found.has_classes ? found.classes.as_int(i) : 0;
    const double given = found.probabilities.as_double(i * width + (width > 1 ? of_class : 0));
    out.values.data<double>()[i] = found.has_classes && width == 1 && of_class == 0 ? 1 - given : given;
  }
  return out;
}

}  // namespace thtrain
