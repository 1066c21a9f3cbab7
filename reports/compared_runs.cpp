#include "reports/compared_runs.h"

#include <algorithm>

#include "reports/plot.h"

namespace thtrain {

CurveStyle compared_style(size_t index) {
  CurveStyle out = curve_style(index);
  if (out.hollow) out.marker = out.marker == Marker::kDisc ? Marker::kTriangleDown : Marker::kStar;
  out.hollow = false;
  out.dash = index < kCurveStyles ? std::vector<double>{} : std::vector<double>{14, 3, 2, 3};
  return out;
}

std::vector<std::string> draw_compared_runs(const std::string& path, const std::vector<ComparedRun>& runs,
                                            const std::string& metric, const std::string& title, ValueScale scale) {
  std::vector<Curve> curves;
  double epochs = 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    curves.push_back({runs[i].name, compared_style(i), runs[i].valid});
    for (const auto& [epoch, value] : runs[i].valid) epochs = std::max(epochs, epoch);
    for (const auto& [epoch, value] : runs[i].train) epochs = std::max(epochs, epoch);
  }
  const bool has_train = std::any_of(runs.begin(), runs.end(), [](const ComparedRun& r) { return !r.train.empty(); });
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].train.empty()) continue;
    CurveStyle style = compared_style(i);
    style.dash = {4, 3};
    style.hollow = true;
    style.thickness = 1.1;
    curves.push_back({"", style, runs[i].train});
  }
  if (has_train) curves.push_back({"training", {.colour = plot::kGrey, .dash = {4, 3}, .thickness = 1.1}});

  const std::string name = metric + fit_scale(curves, scale);
  Canvas canvas(960, 480);
  canvas.set_maker(std::string(kCompareMaker));
  canvas.text(20, 27, shortened(title, 920, 15, true), {.size = 15, .bold = true});
  const Axis x{.low = 1, .high = epochs, .whole = true, .ticks = 12, .name = "epoch"};
  const Axis y = value_axis(curves, 3, scale);
  const Margins around = Panel::margins(x, y);
  Panel panel(canvas, {20 + around.left, 44 + around.top, 940 - around.right, 470 - around.bottom}, x, y);
  panel.draw(name, curves);
  return canvas.write(path);
}

}  // namespace thtrain
