// Axes, curves and bars on a canvas.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/axis.h"
#include "reports/canvas.h"

namespace thtrain {

namespace plot {
inline constexpr Colour kAxis{60, 60, 60}, kGrid{228, 228, 228}, kBlack{0, 0, 0};
inline constexpr Colour kBlue{31, 98, 180}, kOrange{222, 114, 20}, kGreen{30, 130, 76}, kRed{190, 40, 50},
    kViolet{120, 70, 160}, kGrey{130, 130, 130}, kBrown{130, 85, 40}, kTeal{20, 150, 160};
inline constexpr double kTextSize = 11, kTitleSize = 13;
}  // namespace plot

/// The text, or its beginning and "…" where it would be wider than that.
std::string shortened(const std::string& text, double width, double size, bool bold = false);

/// How a curve is told from others, in colours and without them.
struct CurveStyle {
  Colour colour = plot::kBlue;
  std::vector<double> dash = {};
  std::optional<Marker> marker = {};
  bool hollow = false;     // the marker
  double thickness = 1.8;  // 0: markers alone
};
/// Those of curve `index` of a panel: colour, dash and marker differ from those of the others; from the ninth on they
/// come again.
inline constexpr size_t kCurveStyles = 8;
CurveStyle curve_style(size_t index);

struct Curve {
  std::string name;  // in the legend; none: it is not there
  CurveStyle style = {};
  std::vector<Point> points = {};  // x, y; a y that is not finite parts the curve
  bool may_be_covered = false;  // by the legend, where there is no other position: a line that says where something is
};

/// The axis that shows these curves. What is far above or below all that follows, in the first twentieth of a curve, is
/// cut off; values that go over more than `decades` powers of ten, and are all above 0, are on a logarithmic axis, by
/// kAuto; by kLogarithmic all that are above 0 are, whatever their range, and a power of ten is on it.
Axis value_axis(const std::vector<Curve>& curves, double decades = 3, ValueScale scale = ValueScale::kAuto);
/// Makes the curves fit for `scale`: by kLogarithmic, values of 0 or less become NaN. Returns what is to be said of it
/// next to the name of the values, ", 3 values of 0 or less left out", else ""; where no value is above 0, `scale`
/// becomes kLinear, the curves stay, and it returns ", linear: no value is above 0".
std::string fit_scale(std::vector<Curve>& curves, ValueScale& scale);

/// Space around a panel, for what is written there.
struct Margins {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// A part of a canvas with two axes.
class Panel {
 public:
  /// `box` is within the axes: ticks, names and title are around it, and need margins().
  Panel(Canvas& canvas, Box box, Axis x, Axis y);
  static Margins margins(const Axis& x, const Axis& y, bool has_title = true);

  const Box& box() const { return box_; }
  double x_of(double value) const { return box_.left + box_.width() * x_.position(value); }
  double y_of(double value) const { return box_.bottom - box_.height() * y_.position(value); }

  enum class Legend { kNone, kPlaced, kOutside };
  /// Axes, title, curves, and the legend: in the box where it covers no curve and nothing of `taken`, else to the right
  /// of the box, which becomes narrower.
  void draw(const std::string& title, const std::vector<Curve>& curves, Legend legend = Legend::kPlaced,
            const std::vector<Box>& taken = {});
  /// Where draw() has put the legend.
  const std::optional<Box>& legend_box() const { return legend_box_; }

  /// The parts of draw(), for panels with something else in them.
  void draw_axes(const std::string& title);
  /// Curves of different index have their markers at different positions, where they have many points.
  void draw_curve(const Curve& curve, size_t index = 0);
  /// A line across at a value of the y axis, and one upright at a value of the x axis.
  void line_at(double y, const LineStyle& style) const;
  void line_up_at(double x, const LineStyle& style) const;

  struct Bar {
    std::string name;  // below it; '\n' breaks it
    double value;
    std::string text;  // above it
    Colour colour;
  };
  /// The y axis, title, and bars side by side over the whole width; the x axis is not used.
  void draw_bars(const std::string& title, const std::vector<Bar>& bars);
  /// Bars without space between them: counts[i] from edges[i] to edges[i + 1].
  void draw_histogram(const std::string& title, const std::vector<double>& edges, const std::vector<double>& counts,
                      Colour colour);

 private:
  void draw_frame(const std::string& title);
  void draw_x_ticks();
  void draw_y_ticks();
  struct LegendLayout {
    Box box;
    size_t columns;
    double column_width;
  };
  LegendLayout place_legend(Legend legend, const std::vector<Curve>& curves, const std::vector<Curve>& named,
                            const std::vector<Box>& taken);
  void draw_legend(const LegendLayout& layout, const std::vector<Curve>& named);

  Canvas& canvas_;
  Box box_;
  Axis x_, y_;
  std::optional<Box> legend_box_;
};

}  // namespace thtrain
