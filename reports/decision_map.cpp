#include "reports/decision_map.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/error.h"
#include "reports/plot.h"

namespace thtrain {

namespace {

Colour mixed(Colour a, Colour b, double part_of_b) {
  auto mix = [&](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(std::lround(from + part_of_b * (to - from)));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// Of different lightness next to each other, so that regions differ in grey, too.
Colour region_colour(int64_t label, double probability) {
  const Colour full = curve_style(static_cast<size_t>(label)).colour;
  const double strength = (label % 2 == 0 ? 0.42 : 0.24) * std::clamp(probability, 0.0, 1.0);
  return mixed(kWhite, full, strength);
}

CurveStyle style_of_class(int64_t label) {
  CurveStyle style = curve_style(static_cast<size_t>(label));
  style.thickness = 0;  // no line
  return style;
}

// The colour of each class, and a dark pixel where two of them meet.
Pixels regions(const DecisionMap& map) {
  Pixels out{.width = map.columns, .height = map.rows, .channels = 3};
  out.values.reserve(static_cast<size_t>(map.rows * map.columns * 3));
  auto class_at = [&](int64_t y, int64_t x) { return map.classes[static_cast<size_t>(y * map.columns + x)]; };
  for (int64_t y = 0; y < map.rows; ++y)
    for (int64_t x = 0; x < map.columns; ++x) {
      const int64_t label = class_at(y, x);
      const bool is_edge =
          (x + 1 < map.columns && class_at(y, x + 1) != label) || (y + 1 < map.rows && class_at(y + 1, x) != label);
      const auto at = static_cast<size_t>(y * map.columns + x);
      const Colour c =
          is_edge ? plot::kAxis : region_colour(label, map.probabilities.empty() ? 1 : map.probabilities[at]);
      out.values.insert(out.values.end(), {c.red, c.green, c.blue});
    }
  return out;
}

}  // namespace

void draw_decisions(Canvas& canvas, const Box& outer, const std::string& title, const Axis& x, const Axis& y,
                    const DecisionMap& map) {
  const auto count = static_cast<size_t>(map.rows * map.columns);
  TH_CHECK(map.classes.size() == count && (map.probabilities.empty() || map.probabilities.size() == count),
           "a decision map of ", map.rows, " x ", map.columns, " has ", map.classes.size(), " classes and ",
           map.probabilities.size(), " probabilities");
  std::vector<Curve> curves;
  for (size_t i = 0; i < map.class_names.size(); ++i)
    curves.push_back({map.class_names[i], style_of_class(static_cast<int64_t>(i))});
  const Margins around = Panel::margins(x, y, !title.empty());
  Panel panel(canvas,
              {std::round(outer.left + around.left), std::round(outer.top + around.top),
               std::round(outer.right - around.right), std::round(outer.bottom - around.bottom)},
              x, y);
  panel.draw(title, curves, Panel::Legend::kOutside);
  canvas.image(panel.box(), regions(map));
  for (const DecisionMap::Example& example : map.examples) {
    const double left = panel.x_of(example.x), top = panel.y_of(example.y);
    const Box& box = panel.box();
    if (!(left >= box.left && left <= box.right && top >= box.top && top <= box.bottom)) continue;
    const CurveStyle style = style_of_class(example.label);
    const Marker shape = style.marker.value_or(Marker::kDisc);
    // On a white edge: readable on its own region, and on others.
    canvas.marker(left, top, {.shape = shape, .size = 7.5, .colour = kWhite, .thickness = 3});
    canvas.marker(left, top, {.shape = shape, .size = 5.5, .colour = style.colour, .hollow = style.hollow});
  }
  canvas.frame({panel.box().left + 0.5, panel.box().top + 0.5, panel.box().right + 0.5, panel.box().bottom + 0.5},
               {.colour = plot::kAxis});
}

}  // namespace thtrain
