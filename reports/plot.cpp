#include "reports/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace thtrain {

using plot::kAxis, plot::kGrid;

std::vector<double> axis_ticks(double low, double high, int count) {
  double raw = (high - low) / std::max(count, 1);
  double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  // Bounded: numbers that are large against their distance stand still at k + 1, others are not finite.
  std::vector<double> out;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= std::max(count, 1); ++i)
    if (double tick = (first + i) * step; std::isfinite(tick) && tick <= high + 1e-9 * step) out.push_back(tick);
  return out;
}

double Axis::place(double value) const {
  if (!(high > low)) return 0.5;
  if (logarithmic) return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  return (value - low) / (high - low);
}

std::vector<double> Axis::tick_values() const {
  std::vector<double> out;
  if (logarithmic) {
    if (!(low > 0) || !std::isfinite(high)) return out;
    for (double power = std::ceil(std::log10(low) - 1e-9); power <= std::log10(high) + 1e-9; ++power)
      out.push_back(std::pow(10.0, power));
    return out;
  }
  out = axis_ticks(low, high > low ? high : low + 1, ticks);
  if (whole) std::erase_if(out, [](double tick) { return tick != std::round(tick); });
  return out;
}

static std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::abs(value) < 1e-12 ? 0.0 : value);
  return text;
}

void Panel::draw_y_ticks() {
  for (double tick : y_.tick_values()) {
    double y = std::round(y_of(tick)) + 0.5;
    if (!std::isfinite(y)) continue;
    canvas_.line(box_.left, y, box_.right, y, 1, kGrid);
    std::string text = tick_text(tick);
    canvas_.text(static_cast<int>(box_.left) - 8 - Canvas::text_width(text), static_cast<int>(y) - 4, text, kAxis);
  }
}

void Panel::draw_x_ticks() {
  for (double tick : x_.tick_values()) {
    if (tick > x_.high * (1 + 1e-9)) continue;
    double x = std::round(x_of(tick)) + 0.5;
    if (!std::isfinite(x)) continue;
    canvas_.line(x, box_.bottom, x, box_.bottom + 5, 1, kAxis);
    std::string text = tick_text(tick);
    canvas_.text(static_cast<int>(x) - Canvas::text_width(text) / 2, static_cast<int>(box_.bottom) + 9, text, kAxis);
  }
  int middle = static_cast<int>((box_.left + box_.right) / 2);
  canvas_.text(middle - Canvas::text_width(x_.name) / 2, static_cast<int>(box_.bottom) + 24, x_.name, kAxis);
}

void Panel::draw_frame(const std::string& title) {
  canvas_.line(box_.left + 0.5, box_.top, box_.left + 0.5, box_.bottom, 1, kAxis);
  canvas_.line(box_.left, box_.bottom + 0.5, box_.right, box_.bottom + 0.5, 1, kAxis);
  canvas_.text(static_cast<int>(box_.left), static_cast<int>(box_.top) - 22, title, kAxis);
}

void Panel::draw(const std::string& title, const std::vector<Curve>& curves, Legend legend) {
  draw_y_ticks();
  draw_x_ticks();
  draw_frame(title);
  int at = static_cast<int>(box_.top) + 4;
  for (const Curve& curve : curves) {
    draw_curve(curve);
    int left = legend == Legend::kRight ? static_cast<int>(box_.right) - 10 - Canvas::text_width(curve.name)
                                        : static_cast<int>(box_.left) + 34;
    canvas_.line(left - 24, at + 4, left - 8, at + 4, 2, curve.colour);
    canvas_.text(left, at, curve.name, kAxis);
    at += 14;
  }
}

void Panel::draw_curve(const Curve& curve) {
  Box clip{box_.left, box_.top - 1, box_.right + 2, box_.bottom + 2};
  for (size_t i = 0; i < curve.points.size(); ++i) {
    auto [x, y] = curve.points[i];
    auto [old_x, old_y] = curve.points[i > 0 ? i - 1 : 0];
    canvas_.line(x_of(old_x), y_of(old_y), x_of(x), y_of(y), curve.points.size() == 1 ? 5 : 1.6, curve.colour, clip);
  }
}

void Panel::line_at(double value, Colour colour) {
  double y = std::round(y_of(value)) + 0.5;
  canvas_.line(box_.left, y, box_.right, y, 1.2, colour);
}

void Panel::draw_bars(const std::string& title, const std::vector<Bar>& bars) {
  draw_y_ticks();
  double pitch = (box_.right - box_.left) / static_cast<double>(std::max<size_t>(bars.size(), 1));
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    double middle = box_.left + pitch * (static_cast<double>(i) + 0.5), top = y_of(bar.value);
    top = std::isfinite(top) ? std::clamp(top, 0.0, box_.bottom) : box_.bottom;
    canvas_.fill({middle - 0.32 * pitch, top, middle + 0.32 * pitch, box_.bottom}, bar.colour);
    auto centred = [&](const std::string& text, int y) {
      canvas_.text(static_cast<int>(middle) - Canvas::text_width(text) / 2, y, text, kAxis);
    };
    centred(bar.text, static_cast<int>(top) - 13);
    int y = static_cast<int>(box_.bottom) + 9;
    for (size_t begin = 0; begin <= bar.name.size(); y += 13) {
      size_t end = std::min(bar.name.find('\n', begin), bar.name.size());
      centred(bar.name.substr(begin, end - begin), y);
      begin = end + 1;
    }
  }
  draw_frame(title);
}

}  // namespace thtrain
