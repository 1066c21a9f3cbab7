// Axes, curves and bars on a canvas.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/canvas.h"

namespace thtrain {

namespace plot {
inline constexpr Colour kAxis{60, 60, 60}, kGrid{228, 228, 228}, kBlack{0, 0, 0};
inline constexpr Colour kBlue{31, 98, 180}, kOrange{222, 114, 20}, kGreen{30, 130, 76}, kRed{190, 40, 50},
    kViolet{120, 70, 160}, kGrey{130, 130, 130};
}  // namespace plot

/// Round numbers from `low` to `high`, at most `count` + 1 of them: the ticks of an axis. `high` > `low`.
std::vector<double> axis_ticks(double low, double high, int count);

struct Curve {
  std::string name;
  Colour colour;
  std::vector<std::pair<double, double>> points;  // x, y
};

/// The values along one side of a panel.
struct Axis {
  double low = 0, high = 1;  // with low == high its one value stands in the middle
  bool logarithmic = false;  // ticks at the powers of ten
  bool whole = false;        // ticks at whole numbers only
  int ticks = 6;             // about
  std::string name = {};

  /// From 0 at `low` to 1 at `high`.
  double place(double value) const;
  std::vector<double> tick_values() const;
};

/// A part of a canvas with two axes.
class Panel {
 public:
  Panel(Canvas& canvas, Box box, Axis x, Axis y) : canvas_(canvas), box_(box), x_(std::move(x)), y_(std::move(y)) {}

  double x_of(double value) const { return box_.left + (box_.right - box_.left) * x_.place(value); }
  double y_of(double value) const { return box_.bottom - (box_.bottom - box_.top) * y_.place(value); }

  enum class Legend { kRight, kLeft };
  /// Axes, title, curves, and a line with its name for each of them.
  void draw(const std::string& title, const std::vector<Curve>& curves, Legend legend = Legend::kRight);
  /// A line across at a value of the y axis.
  void line_at(double value, Colour colour);

  struct Bar {
    std::string name;  // below it; '\n' breaks it
    double value;
    std::string text;  // above it
    Colour colour;
  };
  /// The y axis, title, and bars side by side over the whole width; the x axis is not used.
  void draw_bars(const std::string& title, const std::vector<Bar>& bars);

 private:
  void draw_frame(const std::string& title);
  void draw_x_ticks();
  void draw_y_ticks();
  void draw_curve(const Curve& curve);

  Canvas& canvas_;
  Box box_;
  Axis x_, y_;
};

}  // namespace thtrain
