#include "reports/heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "compiler/base/error.h"
#include "reports/plot.h"

namespace thtrain {

namespace {

using plot::kAxis, plot::kTextSize, plot::kTitleSize;

// From white to a dark blue; darker all the way, in grey too.
Colour shade(double part) {
  constexpr double kStops[][3] = {{255, 255, 255}, {222, 233, 246}, {140, 186, 222}, {58, 120, 186}, {12, 48, 108}};
  const double at = std::clamp(part, 0.0, 1.0) * 4;
  const auto stop = std::min(static_cast<size_t>(at), size_t{3});
  auto mixed = [&](size_t i) {
    const double from = kStops[stop][i], to = kStops[stop + 1][i];
    return static_cast<uint8_t>(std::lround(from + (at - static_cast<double>(stop)) * (to - from)));
  };
  return {mixed(0), mixed(1), mixed(2)};
}

std::string cell_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) < 1e6 ? "%.6g" : "%.2g", value);
  return text;
}

double widest(const std::vector<std::string>& texts, double size) {
  double out = 0;
  for (const std::string& text : texts) out = std::max(out, Canvas::text_width(text, size));
  return out;
}

}  // namespace

void draw_heat_map(Canvas& canvas, const Box& outer, const HeatMap& map) {
  const size_t rows = map.values.size(), columns = rows == 0 ? 0 : map.values[0].size();
  TH_CHECK(columns > 0 && map.row_names.size() == rows && map.column_names.size() == columns, "a heat map of ", rows,
           " rows and ", columns, " columns has ", map.row_names.size(), " and ", map.column_names.size(), " names");
  const double side = 8 + widest(map.row_names, kTextSize) + (map.row_title.empty() ? 0 : 1.8 * kTextSize);
  const double top = (map.title.empty() ? 4 : kTitleSize + 16);
  const double about = (outer.width() - side - 6) / static_cast<double>(columns);  // width of a cell
  const bool is_upward = widest(map.column_names, kTextSize) > about - 6;
  const double names = is_upward ? widest(map.column_names, kTextSize) + 8 : 1.8 * kTextSize;
  const double below = names + (map.column_title.empty() ? 0 : 1.8 * kTextSize);
  const Box box{std::round(outer.left + side), std::round(outer.top + top), outer.right - 6, outer.bottom - below};
  if (box.width() < static_cast<double>(columns) || box.height() < static_cast<double>(rows)) return;
  const double width = std::floor(box.width() / static_cast<double>(columns)),
               height = std::floor(box.height() / static_cast<double>(rows));
  const double right = box.left + width * static_cast<double>(columns),
               bottom = box.top + height * static_cast<double>(rows);

  double largest = 0;
  for (const auto& row : map.values)
    for (double value : row) largest = std::max(largest, std::isfinite(value) ? value : 0);
  double number_size = kTextSize + 1, longest = 0;
  for (const auto& row : map.values)
    for (double value : row) longest = std::max(longest, Canvas::text_width(cell_text(value), 1));
  number_size = std::min({number_size, (width - 4) / longest, 0.8 * height});
  const TextStyle small{.size = kTextSize, .colour = kAxis};
  for (size_t i = 0; i < rows; ++i) {
    TH_CHECK(map.values[i].size() == columns, map.values[i].size(), " values in row ", i, " of ", columns, " columns");
    const double y = box.top + height * static_cast<double>(i);
    const double sum = std::accumulate(map.values[i].begin(), map.values[i].end(), 0.0);
    for (size_t j = 0; j < columns; ++j) {
      const double x = box.left + width * static_cast<double>(j), value = map.values[i][j];
      const double of = map.of_row_sums ? sum : largest, share = of > 0 && value > 0 ? value / of : 0,
                   part = map.of_row_sums ? std::sqrt(share) : share;
      const Colour colour = shade(part);
      canvas.fill({x, y, x + width, y + height}, colour);
      if (number_size < 6) continue;  // too small to read
      canvas.text(x + width / 2, y + height / 2, cell_text(value),
                  {.size = number_size,
                   .colour = value == 0 ? Colour{190, 190, 190} : text_colour_on(colour),
                   .anchor = Anchor::kMiddle,
                   .level = TextLevel::kMiddle});
    }
    TextStyle style = small;
    style.anchor = Anchor::kRight, style.level = TextLevel::kMiddle;
    if (height >= kTextSize) canvas.text(box.left - 7, y + height / 2, map.row_names[i], style);
  }
  for (size_t i = 0; i <= rows; ++i) {
    const double y = box.top + height * static_cast<double>(i);
    canvas.line(box.left, y + 0.5, right, y + 0.5, {.colour = plot::kGrid});
  }
  for (size_t j = 0; j <= columns; ++j) {
    const double x = box.left + width * static_cast<double>(j);
    canvas.line(x + 0.5, box.top, x + 0.5, bottom, {.colour = plot::kGrid});
    if (j == columns || width < kTextSize) continue;
    TextStyle style = small;
    style.anchor = is_upward ? Anchor::kRight : Anchor::kMiddle;
    style.level = is_upward ? TextLevel::kMiddle : TextLevel::kTop;
    style.upward = is_upward;
    canvas.text(x + width / 2, bottom + 7, map.column_names[j], style);
  }
  canvas.frame({box.left + 0.5, box.top + 0.5, right + 0.5, bottom + 0.5}, {.colour = kAxis});
  if (!map.title.empty())
    canvas.text(outer.left, outer.top + kTitleSize, map.title,
                {.size = kTitleSize, .colour = plot::kBlack, .bold = true});
  TextStyle style = small;
  style.anchor = Anchor::kMiddle, style.level = TextLevel::kTop;
  if (!map.column_title.empty()) canvas.text((box.left + right) / 2, bottom + names + 4, map.column_title, style);
  style.level = TextLevel::kBase, style.upward = true;
  if (!map.row_title.empty()) canvas.text(outer.left + kTextSize, (box.top + bottom) / 2, map.row_title, style);
}

}  // namespace thtrain
