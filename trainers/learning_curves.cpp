#include "trainers/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "trainers/canvas.h"

namespace thtrain {

std::vector<double> axis_ticks(double low, double high, int count) {
  double raw = (high - low) / std::max(count, 1);
  double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) out.push_back(k * step);
  return out;
}

namespace {

constexpr Colour kAxis{60, 60, 60}, kGrid{228, 228, 228}, kBlue{31, 98, 180}, kOrange{222, 114, 20},
    kGreen{30, 130, 76};

struct Curve {
  std::string name;
  Colour colour;
  std::vector<std::pair<double, double>> points;  // epoch, value
};

std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::abs(value) < 1e-12 ? 0.0 : value);
  return text;
}

// The largest value behind the first steep part; what is above it is cut off.
double top_of(const std::vector<Curve>& curves) {
  double top = 0;
  for (const Curve& curve : curves)
    for (size_t i = curve.points.size() / 20; i < curve.points.size(); ++i) top = std::max(top, curve.points[i].second);
  return top > 0 ? top * 1.06 : 1;
}

class Panel {
 public:
  Panel(Canvas& canvas, Box box, double epochs, double top) : canvas_(canvas), box_(box), epochs_(epochs), top_(top) {}

  double x_of(double epoch) const {
    return box_.left + (box_.right - box_.left) * (epochs_ > 1 ? (epoch - 1) / (epochs_ - 1) : 0.5);
  }
  double y_of(double value) const { return box_.bottom - (box_.bottom - box_.top) * value / top_; }

  void draw(const std::string& title, const std::vector<Curve>& curves) {
    for (double tick : axis_ticks(0, top_, 6)) {
      double y = std::round(y_of(tick)) + 0.5;
      canvas_.line(box_.left, y, box_.right, y, 1, kGrid);
      std::string text = tick_text(tick);
      canvas_.text(static_cast<int>(box_.left) - 8 - Canvas::text_width(text), static_cast<int>(y) - 4, text, kAxis);
    }
    for (double tick : axis_ticks(1, std::max(epochs_, 2.0), 8)) {
      if (tick != std::round(tick) || tick > epochs_) continue;
      double x = std::round(x_of(tick)) + 0.5;
      canvas_.line(x, box_.bottom, x, box_.bottom + 5, 1, kAxis);
      std::string text = tick_text(tick);
      canvas_.text(static_cast<int>(x) - Canvas::text_width(text) / 2, static_cast<int>(box_.bottom) + 9, text, kAxis);
    }
    canvas_.line(box_.left + 0.5, box_.top, box_.left + 0.5, box_.bottom, 1, kAxis);
    canvas_.line(box_.left, box_.bottom + 0.5, box_.right, box_.bottom + 0.5, 1, kAxis);
    canvas_.text(static_cast<int>(box_.left), static_cast<int>(box_.top) - 22, title, kAxis);
    std::string below = "epoch";
    int middle = static_cast<int>((box_.left + box_.right) / 2);
    canvas_.text(middle - Canvas::text_width(below) / 2, static_cast<int>(box_.bottom) + 24, below, kAxis);
    int legend = static_cast<int>(box_.top) + 4;
    for (const Curve& curve : curves) {
      draw(curve);
      int left = static_cast<int>(box_.right) - 10 - Canvas::text_width(curve.name);
      canvas_.line(left - 24, legend + 4, left - 8, legend + 4, 2, curve.colour);
      canvas_.text(left, legend, curve.name, kAxis);
      legend += 14;
    }
  }

 private:
  void draw(const Curve& curve) {
    Box clip{box_.left, box_.top - 1, box_.right + 2, box_.bottom + 2};
    for (size_t i = 0; i < curve.points.size(); ++i) {
      auto [epoch, value] = curve.points[i];
      auto [before, old_value] = curve.points[i > 0 ? i - 1 : 0];
      canvas_.line(x_of(before), y_of(old_value), x_of(epoch), y_of(value), curve.points.size() == 1 ? 5 : 1.6,
                   curve.colour, clip);
    }
  }

  Canvas& canvas_;
  Box box_;
  double epochs_, top_;
};

}  // namespace

void draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history) {
  Curve valid{"validation", kBlue, {}}, test{"test", kOrange, {}}, loss{"training", kGreen, {}};
  const EpochReport* best = nullptr;
  double epochs = 1;
  for (const EpochReport& report : history) {
    double epoch = static_cast<double>(report.epoch);
    if (report.valid_error) valid.points.emplace_back(epoch, *report.valid_error);
    if (report.test_error) test.points.emplace_back(epoch, *report.test_error);
    if (std::isfinite(report.train_loss)) loss.points.emplace_back(epoch, report.train_loss);
    if (report.best) best = &report;
    epochs = std::max(epochs, epoch);
  }
  Canvas canvas(960, 400);
  std::vector<Curve> errors;
  for (const Curve& curve : {valid, test})
    if (!curve.points.empty()) errors.push_back(curve);
  Panel left(canvas, {60, 44, 465, 345}, epochs, top_of(errors));
  left.draw("error (%)", errors);
  if (best && best->valid_error)
    canvas.ring(left.x_of(static_cast<double>(best->epoch)), left.y_of(*best->valid_error), 5, 1.5, kBlue);
  Panel right(canvas, {545, 44, 940, 345}, epochs, top_of({loss}));
  right.draw("loss", {loss});
  canvas.write_png(path);
}

}  // namespace thtrain
