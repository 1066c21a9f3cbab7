#include "reports/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/error.h"
#include "compiler/base/utf8.h"
#include "reports/legend.h"

namespace thtrain {

using plot::kAxis, plot::kGrid, plot::kTextSize, plot::kTitleSize;

namespace {

constexpr double kTickLength = 5, kGap = 4;
constexpr double kSample = 30, kRow = 17, kPadding = 6;  // of a legend: a line's length, a row's height
constexpr double kMarkerSize = 6.5;

double widest(const std::vector<std::string>& texts) {
  double out = 0;
  for (const std::string& text : texts) out = std::max(out, Canvas::text_width(text, kTextSize));
  return out;
}

// The axis with as many ticks as have room for their texts.
Axis fitted(Axis axis, double length, bool is_upright) {
  for (; axis.ticks > 1; --axis.ticks) {
    const std::vector<double> values = axis.tick_values();
    const std::vector<std::string> texts = tick_texts(axis, values);
    double before = -1e9;
    bool fits = true;
    for (size_t i = 0; i < values.size(); ++i) {
      const double middle = length * axis.position(values[i]);
      const double half = is_upright ? 0.75 * kTextSize : Canvas::text_width(texts[i], kTextSize) / 2 + 5;
      fits = fits && middle - half >= before;
      before = middle + half;
    }
    if (fits) break;
  }
  return axis;
}

Points placed(const Panel& panel, const std::vector<Point>& points) {
  Points out;
  for (const auto& [x, y] : points) out.emplace_back(panel.x_of(x), panel.y_of(y));
  return out;
}

// Every point of a short curve; of a long one about one in 50 pixels, from `shift` on.
std::vector<size_t> marked_points(const Points& points, double shift) {
  constexpr size_t kAll = 12;
  constexpr double kDistance = 50;
  std::vector<size_t> out;
  std::optional<double> last;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].first) || !std::isfinite(points[i].second)) continue;
    if (!last) last = points[i].first - kDistance + shift;
    if (points.size() > kAll && std::abs(points[i].first - *last) < kDistance) continue;
    out.push_back(i);
    last = points[i].first;
  }
  return out;
}

// On a white edge, so that it is seen on its own curve and on others.
void draw_marker(Canvas& canvas, double x, double y, const CurveStyle& style) {
  const MarkerStyle marker{.shape = style.marker.value_or(Marker::kDisc),
                           .size = style.marker == Marker::kStar ? 1.6 * kMarkerSize : kMarkerSize,
                           .colour = style.colour,
                           .hollow = style.hollow};
  MarkerStyle below = marker;
  below.size += 2.4;
  below.thickness += 2.4;
  below.colour = kWhite;
  canvas.marker(x, y, below);
  canvas.marker(x, y, marker);
}

}  // namespace

CurveStyle curve_style(size_t index) {
  using namespace plot;
  static const CurveStyle kStyles[] = {
      {kBlue, {}, Marker::kDisc},          {kOrange, {7, 3}, Marker::kSquare},
      {kGreen, {2, 2}, Marker::kTriangle}, {kRed, {9, 3, 2, 3}, Marker::kDiamond},
      {kViolet, {14, 4}, Marker::kCross},  {kTeal, {9, 2, 2, 2, 2, 2}, Marker::kDisc, true},
      {kBrown, {4, 2}, Marker::kPlus},     {kBlack, {1.5, 4}, Marker::kSquare, true},
  };
  static_assert(std::size(kStyles) == kCurveStyles);
  return kStyles[index % kCurveStyles];
}

std::string shortened(const std::string& text, double width, double size, bool bold) {
  if (Canvas::text_width(text, size, bold) <= width) return text;
  std::string out = text;
  while (!out.empty() && Canvas::text_width(out + "…", size, bold) > width) {
    out.resize(whole_characters(out, out.size() - 1));
  }
  return out + "…";
}

// Of values above 0.
static Axis logarithmic_axis(double low, double high) {
  Axis out{.low = low / 1.3, .high = high * 1.3, .logarithmic = true};
  const double first = std::ceil(std::log10(out.low)), below = std::pow(10.0, first - 1), above = std::pow(10.0, first);
  if (above <= out.high) return out;
  if (out.low / below < above / out.high)
    out.low = below;
  else
    out.high = above;
  return out;
}

std::string fit_scale(std::vector<Curve>& curves, ValueScale& scale) {
  if (scale != ValueScale::kLogarithmic) return "";
  int64_t left_out = 0;
  bool has_values = false;
  const auto cannot_be_shown = [](const Point& p) { return std::isfinite(p.second) && p.second <= 0; };
  for (const Curve& curve : curves) {
    for (const Point& p : curve.points) has_values |= std::isfinite(p.second) && p.second > 0;
    if (curve.style.thickness > 0)  // markers alone are on another curve's values
      left_out += std::count_if(curve.points.begin(), curve.points.end(), cannot_be_shown);
  }
  if (!has_values) {
    scale = ValueScale::kLinear;
    return left_out > 0 ? ", linear: no value is above 0" : "";
  }
  for (Curve& curve : curves)
    for (Point& p : curve.points)
      if (cannot_be_shown(p)) p.second = std::numeric_limits<double>::quiet_NaN();
  if (left_out == 0) return "";
  return str(", ", left_out, left_out == 1 ? " value" : " values", " of 0 or less left out");
}

Axis value_axis(const std::vector<Curve>& curves, double decades, ValueScale scale) {
  double low = HUGE_VAL, high = -HUGE_VAL, late_low = HUGE_VAL, late_high = -HUGE_VAL;
  constexpr double kMost = 1e300;
  for (const Curve& curve : curves)
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const double value = std::clamp(curve.points[i].second, -kMost, kMost);
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
      if (i < curve.points.size() / 20) continue;
      late_low = std::min(late_low, value);
      late_high = std::max(late_high, value);
    }
  if (!(low <= high)) return {};
  if (scale == ValueScale::kLogarithmic && low > 0) return logarithmic_axis(low, std::min(high, kMost / 10));
  if (scale == ValueScale::kAuto && low > 0 && high / low > std::pow(10.0, decades))
    return {.low = low / 1.3, .high = std::min(high * 1.3, kMost), .logarithmic = true};
  const bool cuts = late_low < late_high && high / 2 - low / 2 > 1.25 * (late_high - late_low);
  return cuts ? axis_of(late_low, late_high) : axis_of(low, high);
}

Margins Panel::margins(const Axis& x, const Axis& y, bool has_title) {
  const std::vector<std::string> y_texts = tick_texts(y, y.tick_values()), x_texts = tick_texts(x, x.tick_values());
  const double line = 1.5 * kTextSize;
  Margins out{.left = 8 + (y.has_texts ? widest(y_texts) : 0) + (y.name.empty() ? 0 : line + kGap),
              .top = has_title ? kTitleSize + 14 : 8,
              .right = 12,
              .bottom = 6 + (x.has_texts ? kTickLength + line : 0) + (x.name.empty() ? 0 : line)};
  if (x.has_texts && !x_texts.empty()) {
    const double half = Canvas::text_width(x_texts.back(), kTextSize) / 2 + 2;
    out.left = std::max(out.left, half);
    out.right = std::max(out.right, half);
  }
  return out;
}

Panel::Panel(Canvas& canvas, Box box, Axis x, Axis y)
    : canvas_(canvas),
      box_(box),
      x_(fitted(std::move(x), box.width(), false)),
      y_(fitted(std::move(y), box.height(), true)) {}

void Panel::draw_y_ticks() {
  const std::vector<double> ticks = y_.tick_values();
  const std::vector<std::string> texts = tick_texts(y_, ticks);
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double y = std::round(y_of(ticks[i]) - 0.5) + 0.5;
    if (!std::isfinite(y)) continue;
    canvas_.line(box_.left, y, box_.right, y, {.colour = kGrid});
    if (!y_.has_texts) continue;
    canvas_.text(box_.left - 7, y, texts[i],
                 {.size = kTextSize, .colour = kAxis, .anchor = Anchor::kRight, .level = TextLevel::kMiddle});
  }
  if (y_.name.empty()) return;
  const double x = box_.left - 7 - (y_.has_texts ? widest(texts) : 0) - kGap - 4;
  canvas_.text(x, (box_.top + box_.bottom) / 2, y_.name,
               {.size = kTextSize, .colour = kAxis, .anchor = Anchor::kMiddle, .upward = true});
}

void Panel::draw_x_ticks() {
  const std::vector<double> ticks = x_.tick_values();
  const std::vector<std::string> texts = tick_texts(x_, ticks);
  const TextStyle style{.size = kTextSize, .colour = kAxis, .anchor = Anchor::kMiddle, .level = TextLevel::kTop};
  for (size_t i = 0; i < ticks.size(); ++i) {
    if (ticks[i] > x_.high * (1 + 1e-9)) continue;
    const double x = std::round(x_of(ticks[i]) - 0.5) + 0.5;
    if (!std::isfinite(x)) continue;
    canvas_.line(x, box_.bottom, x, box_.bottom + kTickLength, {.colour = kAxis});
    if (x_.has_texts) canvas_.text(x, box_.bottom + kTickLength + kGap, texts[i], style);
  }
  if (x_.name.empty()) return;
  const double below = x_.has_texts ? kTickLength + kGap + 1.5 * kTextSize : kGap;
  canvas_.text((box_.left + box_.right) / 2, box_.bottom + below, x_.name, style);
}

void Panel::draw_frame(const std::string& title) {
  const double left = std::round(box_.left) + 0.5, bottom = std::round(box_.bottom) + 0.5;
  canvas_.polyline({{left, box_.top}, {left, bottom}, {box_.right, bottom}}, {.colour = kAxis});
  if (!title.empty())
    canvas_.text(box_.left, box_.top - 11, title, {.size = kTitleSize, .colour = plot::kBlack, .bold = true});
}

void Panel::draw_axes(const std::string& title) {
  draw_y_ticks();
  draw_x_ticks();
  draw_frame(title);
}

void Panel::draw(const std::string& title, const std::vector<Curve>& curves, Legend legend,
                 const std::vector<Box>& taken) {
  std::vector<Curve> named;
  std::copy_if(curves.begin(), curves.end(), std::back_inserter(named), [](const Curve& c) { return !c.name.empty(); });
  const std::optional<LegendLayout> layout = legend == Legend::kNone || named.empty()
                                                 ? std::nullopt
                                                 : std::optional(place_legend(legend, curves, named, taken));
  draw_axes(title);
  for (size_t i = 0; i < curves.size(); ++i) draw_curve(curves[i], i);
  if (layout) draw_legend(*layout, named);
}

void Panel::draw_curve(const Curve& curve, size_t index) {
  const Box clip{box_.left, box_.top - 2, box_.right + 3, box_.bottom + 2};
  const Points points = placed(*this, curve.points);
  canvas_.polyline(points, {.thickness = points.size() == 1 && !curve.style.marker ? 5 : curve.style.thickness,
                            .colour = curve.style.colour,
                            .dash = curve.style.dash,
                            .within = clip});
  if (!curve.style.marker) return;
  for (size_t i : marked_points(points, 13 * static_cast<double>(index % 4))) {
    const auto [x, y] = points[i];
    if (x >= clip.left && x <= clip.right && y >= clip.top && y <= clip.bottom) draw_marker(canvas_, x, y, curve.style);
  }
}

// In one column, in one row, or in two columns; else next to the box.
Panel::LegendLayout Panel::place_legend(Legend legend, const std::vector<Curve>& curves,
                                        const std::vector<Curve>& named, const std::vector<Box>& taken) {
  double column = 0;
  for (const Curve& curve : named) column = std::max(column, Canvas::text_width(curve.name, kTextSize));
  column = std::ceil(column + kSample + 3 * kPadding);
  auto size = [&](size_t columns) {
    const size_t rows = (named.size() + columns - 1) / columns;
    return Point(static_cast<double>(columns) * column + kPadding / 2, static_cast<double>(rows) * kRow + kPadding);
  };
  constexpr double kMargin = 5;
  if (legend == Legend::kPlaced) {
    const Box within{box_.left + kMargin + 2, box_.top + 1, box_.right - kMargin, box_.bottom - kMargin};
    for (bool covers : {false, true}) {
      TakenArea area(box_);
      for (const Curve& curve : curves)
        if (!covers || !curve.may_be_covered)
          area.add(placed(*this, curve.points),
                   curve.style.thickness / 2 + (curve.style.marker || curve.points.size() == 1 ? kMarkerSize : 3));
      for (const Box& box : taken) area.add(box);
      for (size_t columns : {size_t{1}, named.size(), size_t{2}}) {
        const auto [width, height] = size(columns);
        if (std::optional<Box> found = free_position(area, within, width, height))
          return {legend_box_.emplace(*found), columns, column};
      }
    }
  }
  const auto [width, height] = size(1);
  const double old_right = box_.right;
  box_.right -= width + 8;
  x_ = fitted(x_, box_.width(), false);
  return {legend_box_.emplace(Box{old_right - width, box_.top, old_right, box_.top + height}), 1, column};
}

void Panel::draw_legend(const LegendLayout& layout, const std::vector<Curve>& named) {
  const Box& box = layout.box;
  canvas_.fill(box, kWhite);
  canvas_.frame({std::round(box.left) + 0.5, std::round(box.top) + 0.5, std::round(box.right) - 0.5,
                 std::round(box.bottom) - 0.5},
                {.colour = {205, 205, 205}});
  for (size_t i = 0; i < named.size(); ++i) {
    const CurveStyle& style = named[i].style;
    const size_t row = i / layout.columns;
    const double left = box.left + kPadding + static_cast<double>(i % layout.columns) * layout.column_width;
    const double y = std::round(box.top + kPadding / 2 + (static_cast<double>(row) + 0.5) * kRow - 0.5) + 0.5;
    canvas_.line(left, y, left + kSample, y,
                 {.thickness = style.thickness, .colour = style.colour, .dash = style.dash});
    if (style.marker) draw_marker(canvas_, left + kSample / 2, y, style);
    canvas_.text(left + kSample + kPadding, y, named[i].name,
                 {.size = kTextSize, .colour = kAxis, .level = TextLevel::kMiddle});
  }
}

void Panel::line_at(double value, const LineStyle& style) const {
  const double y = std::round(y_of(value) - 0.5) + 0.5;
  canvas_.line(box_.left, y, box_.right, y, style);
}

void Panel::line_up_at(double value, const LineStyle& style) const {
  const double x = std::round(x_of(value) - 0.5) + 0.5;
  canvas_.line(x, box_.top, x, box_.bottom, style);
}

void Panel::draw_bars(const std::string& title, const std::vector<Bar>& bars) {
  draw_y_ticks();
  const double pitch = box_.width() / static_cast<double>(std::max<size_t>(bars.size(), 1));
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double middle = box_.left + pitch * (static_cast<double>(i) + 0.5);
    double top = y_of(bar.value);
    top = std::isfinite(top) ? std::clamp(top, 0.0, box_.bottom) : box_.bottom;
    canvas_.fill({middle - 0.32 * pitch, top, middle + 0.32 * pitch, box_.bottom}, bar.colour);
    canvas_.text(middle, top - 4, bar.text, {.size = kTextSize, .colour = kAxis, .anchor = Anchor::kMiddle});
    double y = box_.bottom + 8;
    for (size_t begin = 0; begin <= bar.name.size(); y += 14) {
      const size_t end = std::min(bar.name.find('\n', begin), bar.name.size());
      canvas_.text(middle, y, bar.name.substr(begin, end - begin),
                   {.size = kTextSize, .colour = kAxis, .anchor = Anchor::kMiddle, .level = TextLevel::kTop});
      begin = end + 1;
    }
  }
  draw_frame(title);
}

void Panel::draw_histogram(const std::string& title, const std::vector<double>& edges,
                           const std::vector<double>& counts, Colour colour) {
  TH_CHECK(edges.size() == counts.size() + 1, edges.size(), " edges of ", counts.size(), " bars");
  draw_y_ticks();
  for (size_t i = 0; i < counts.size(); ++i) {
    double top = y_of(counts[i]);
    if (!std::isfinite(top)) continue;
    if (counts[i] > 0) top = std::min(top, box_.bottom - 1);  // a few among thousands are seen, too
    canvas_.fill({std::max(x_of(edges[i]), box_.left), std::clamp(top, box_.top, box_.bottom),
                  std::min(x_of(edges[i + 1]), box_.right), box_.bottom},
                 colour);
  }
  draw_x_ticks();
  draw_frame(title);
}

}  // namespace thtrain
