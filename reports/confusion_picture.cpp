#include "reports/confusion_picture.h"

#include <algorithm>
#include <cmath>

#include "reports/heat_map.h"
#include "reports/plot.h"

namespace thtrain {

std::vector<std::string> draw_confusion_matrix(const std::string& path, const std::vector<std::vector<int64_t>>& counts,
                                               const std::vector<std::string>& class_names, const std::string& title) {
  constexpr double kName = 160;  // pixels of a class's name at most
  HeatMap map{.title = title, .row_title = "class", .column_title = "taken for", .of_row_sums = true};
  double names = 0;
  for (const std::string& name : class_names) {
    map.row_names.push_back(shortened(name, kName, plot::kTextSize));
    names = std::max(names, Canvas::text_width(map.row_names.back(), plot::kTextSize));
  }
  map.column_names = map.row_names;
  for (const auto& row : counts) map.values.emplace_back(row.begin(), row.end());
  const auto classes = static_cast<double>(counts.size());
  const double cell = std::clamp(std::floor(704 / std::max(classes, 1.0)), 4.0, 44.0);
  const double inner = std::max(cell * classes, Canvas::text_width(title, plot::kTitleSize, true) - names);
  Canvas canvas(static_cast<int>(inner + names) + 70, static_cast<int>(cell * classes + names) + 105);
  draw_heat_map(canvas, {14, 12, canvas.width() - 10.0, canvas.height() - 12.0}, map);
  return canvas.write(path);
}

}  // namespace thtrain
