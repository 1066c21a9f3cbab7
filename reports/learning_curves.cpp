#include "reports/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reports/plot.h"

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

// A line where each phase begins, with its name to the right of it.
void draw_begins(Canvas& canvas, const Panel& panel, const std::vector<std::pair<double, std::string>>& begins) {
  constexpr double kTop = 44, kBottom = 345;
  constexpr size_t kLetters = 16;
  for (size_t i = 0; i < begins.size(); ++i) {
    const double x = panel.x_of(std::max(1.0, begins[i].first));
    if (i > 0) canvas.line(x, kTop, x, kBottom, {.colour = plot::kGrey});
    canvas.text(x + 4, kBottom - 12, begins[i].second.substr(0, kLetters), {.size = 11, .colour = plot::kGrey});
  }
}

}  // namespace

std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history,
                                              const MetricName& metric) {
  return draw_learning_curves(path, {{.epochs = history, .metrics = {metric}}}, metric);
}

std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<PhaseHistory>& phases,
                                              const MetricName& metric) {
  Curve train{"training", curve_style(2)}, valid{"validation", curve_style(0)}, test{"test", curve_style(1)};
  Curve loss = train, valid_loss = valid;
  std::vector<std::pair<double, double>> best;  // of the last phase: epochs and values
  std::vector<std::pair<double, std::string>> begins;
  double epochs = 1, before = 0;
  for (const PhaseHistory& phase : phases) {
    // A curve of one metric: that of the last phase.
    const bool is_of_metric = phase.metrics.at(0).name == metric.name && phase.metrics[0].unit == metric.unit;
    if (!phase.phase.empty()) begins.emplace_back(before + 0.5, phase.phase);
    best.clear();
    for (const EpochReport& report : phase.epochs) {
      double epoch = before + static_cast<double>(report.epoch);
      auto add = [&](Curve& curve, const std::optional<double>& value) {
        if (value && std::isfinite(*value)) curve.points.emplace_back(epoch, *value);
      };
      if (is_of_metric) {
        add(train, report.train_error);
        add(valid, report.valid_error);
        add(test, report.test_error);
      }
      add(valid_loss, report.valid_loss);
      if (std::isfinite(report.train_loss)) loss.points.emplace_back(epoch, report.train_loss);
      if (report.best && report.valid_error) best.emplace_back(epoch, *report.valid_error);
      epochs = std::max(epochs, epoch);
    }
    if (!phase.epochs.empty()) before += static_cast<double>(phase.epochs.back().epoch);
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
  if (!best.empty())
    canvas.marker(left.x_of(best.back().first), left.y_of(best.back().second), {.size = 10, .hollow = true});
  Panel right(canvas, {545, 44, 940, 345}, epoch_axis, {.high = top_of(losses)});
  right.draw("loss", losses);
  for (const Panel* panel : {&left, &right}) draw_begins(canvas, *panel, begins);
  return canvas.write(path);
}

}  // namespace thtrain
