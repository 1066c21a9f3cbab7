#include "bench/figures.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/report.h"
#include "bench/workloads.h"
#include "reports/plot.h"

namespace thtrain {

namespace {

// "torch_jit" -> "torch"
std::string package_of(const Measurement& m) {
  std::string first = m.implementation.substr(0, m.implementation.find('_'));
  return first == "scipy" ? "numpy" : first;
}

const Measurement* fastest(const std::vector<Measurement>& all, const std::string& package, const std::string& kind) {
  const Measurement* out = nullptr;
  for (const Measurement& m : all)
    if (package_of(m) == package && (kind.empty() || m.kind == kind) && (!out || m.value > out->value)) out = &m;
  return out;
}

std::string about(const Measurement& m) {
  return str(m.dtype, ", ", m.threads, m.threads == 1 ? " thread" : " threads");
}

Panel::Bar bar_of(const Measurement& m, Colour colour) {
  std::string name = m.implementation;
  if (size_t at = name.find('_'); at != std::string::npos) name.replace(at, 1, "\n");
  return {name, m.value, rate_text(m.value), colour};
}

}  // namespace

std::vector<std::string> draw_bars(const std::string& path, const std::vector<Measurement>& row) {
  std::vector<Panel::Bar> bars;
  const Measurement* first = nullptr;
  for (const std::string package : {"thtrain", "numpy", "torch", "jax", "pytensor"}) {
    const Measurement* user = fastest(row, package, package == "thtrain" ? "" : "user");
    const Measurement* best = fastest(row, package, "best");
    if (user) bars.push_back(bar_of(*user, package == "thtrain" ? plot::kBlue : plot::kGrey));
    if (best && (!user || best->value > user->value)) bars.push_back(bar_of(*best, plot::kOrange));
    if (user && !first) first = user;
  }
  if (!first) return {};
  double top = 0;
  for (const Panel::Bar& bar : bars) top = std::max(top, bar.value);
  Canvas canvas(720, 420);
  Panel panel(canvas, {84, 64, 700, 350}, {}, {.high = 1.1 * top});
  panel.draw_bars(str(first->case_name, ", ", first->unit, ", ", about(*first)), bars);
  double at = 90;
  for (auto [colour, text] : {std::pair(plot::kBlue, "thtrain"),
                              {plot::kGrey, "as users write it"},
                              {plot::kOrange, "as fast as it can be written"}}) {
    canvas.fill({at, 18, at + 10, 28}, colour);
    canvas.text(at + 16, 23, text, {.size = plot::kTextSize, .colour = plot::kAxis, .level = TextLevel::kMiddle});
    at += 40 + Canvas::text_width(text, plot::kTextSize);
  }
  return canvas.write(path);
}

std::vector<std::string> draw_speedups(const std::string& path, const std::vector<Measurement>& all) {
  const std::map<std::string, std::string> titles = {
      {"a+1", "a+1"}, {"2a+3b", "2*a + 3*b"}, {"poly2", "a**2 + b**2 + 2*a*b"}, {"2a+b^10", "2*a + b**10"}};
  Canvas canvas(960, 760);
  int number = 0;
  for (const char* formula : {"poly2", "2a+3b", "a+1", "2a+b^10"}) {
    std::map<int64_t, std::map<std::string, double>> rates;  // size, package
    for (const Measurement& m : all) {
      ElementwiseCase what = elementwise_case(m.case_name);
      if (what.formula != formula || m.form != "owned" || m.kind == "best" || what.size < 1000) continue;
      double& rate = rates[what.size][package_of(m)];
      rate = std::max(rate, m.value);
    }
    std::vector<Curve> curves;
    double top = 1.5;
    size_t index = 0;
    for (const std::string package : {"thtrain", "numexpr", "torch", "jax", "pytensor"}) {
      Curve curve{package, curve_style(index++)};
      for (const auto& [size, of] : rates)
        if (of.contains(package) && of.contains("numpy"))
          curve.points.emplace_back(static_cast<double>(size), of.at(package) / of.at("numpy"));
      for (const auto& point : curve.points) top = std::max(top, point.second);
      if (!curve.points.empty()) curves.push_back(curve);
    }
    double left = number % 2 ? 540 : 60, upper = number / 2 ? 434 : 70;
    ++number;
    Panel panel(canvas, {left, upper, left + 400, upper + 270},
                {.low = 1e3, .high = 1e7, .logarithmic = true, .name = "elements of a and b"}, {.high = 1.1 * top});
    const double one = panel.y_of(1);
    panel.draw(titles.at(formula), curves, Panel::Legend::kPlaced, {{left, one - 2, left + 400, one + 2}});
    panel.line_at(1, {.thickness = 1.2});
  }
  std::string head = all.empty() ? "" : str("times as fast as numpy, ", about(all.front()));
  canvas.text(60, 26, head, {.size = 15, .bold = true});
  return canvas.write(path);
}

}  // namespace thtrain
