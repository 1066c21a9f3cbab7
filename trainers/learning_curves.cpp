#include "trainers/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainers/plot.h"

namespace thtrain {

namespace {

// The largest value behind the first steep part; what is above it is cut off.
double top_of(const std::vector<Curve>& curves) {
  double top = 0;
  for (const Curve& curve : curves)
    for (size_t i = curve.points.size() / 20; i < curve.points.size(); ++i) top = std::max(top, curve.points[i].second);
  constexpr double kMost = std::numeric_limits<double>::max() / 4;
  return top > 0 ? std::min(top, kMost) * 1.06 : 1;
}

}  // namespace

void draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history, const MetricName& metric) {
  Curve train{"training", plot::kGreen, {}}, valid{"validation", plot::kBlue, {}}, test{"test", plot::kOrange, {}};
  Curve loss = train, valid_loss = valid;
  const EpochReport* best = nullptr;
  double epochs = 1;
  for (const EpochReport& report : history) {
    double epoch = static_cast<double>(report.epoch);
    auto add = [&](Curve& curve, const std::optional<double>& value) {
      if (value && std::isfinite(*value)) curve.points.emplace_back(epoch, *value);
    };
    add(train, report.train_error);
    add(valid, report.valid_error);
    add(test, report.test_error);
    add(valid_loss, report.valid_loss);
    if (std::isfinite(report.train_loss)) loss.points.emplace_back(epoch, report.train_loss);
    if (report.best) best = &report;
    epochs = std::max(epochs, epoch);
  }
  Canvas canvas(960, 400);
  std::vector<Curve> errors, losses;
  for (const Curve& curve : {train, valid, test})
    if (!curve.points.empty()) errors.push_back(curve);
  for (const Curve& curve : {loss, valid_loss})
    if (!curve.points.empty() || &curve == &loss) losses.push_back(curve);
  Axis epoch_axis{.low = 1, .high = epochs, .whole = true, .ticks = 8, .name = "epoch"};
  Panel left(canvas, {60, 44, 465, 345}, epoch_axis, {.high = top_of(errors)});
  std::string title = metric.name;
  std::replace(title.begin(), title.end(), '_', ' ');
  left.draw(metric.unit.empty() ? title : str(title, " (", metric.unit, ')'), errors);
  if (best && best->valid_error)
    canvas.ring(left.x_of(static_cast<double>(best->epoch)), left.y_of(*best->valid_error), 5, 1.5, plot::kBlue);
  Panel right(canvas, {545, 44, 940, 345}, epoch_axis, {.high = top_of(losses)});
  right.draw("loss", losses);
  canvas.write_png(path);
}

}  // namespace thtrain
