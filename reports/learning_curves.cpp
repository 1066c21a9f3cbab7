#include "reports/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>

#include "reports/plot.h"

namespace thtrain {

namespace {

constexpr double kWidth = 960, kSide = 18, kHead = 40, kPanel = 340, kStrip = 96, kStripGap = 8;

struct Begin {
  double epoch;
  std::string name;
};

// All that is drawn, over epochs that count through the phases.
struct Curves {
  // Training, validation and test; the learning rate and the best epoch.
  std::vector<Curve> metric, losses;
  Curve rate = {"", {.colour = plot::kAxis, .thickness = 1.5}};
  std::vector<Begin> begins = {};
  double epochs = 1;
  bool rate_changes = false;
};

CurveStyle style_of(int set) {  // training, validation, test
  static constexpr size_t kIndex[] = {2, 0, 1};
  return curve_style(kIndex[set]);
}

// A step for each epoch, from half an epoch before it to half an epoch behind it.
void add_rate(Curves& out, double epoch, const std::optional<double>& rate) {
  if (!rate || !std::isfinite(*rate)) return;
  if (!out.rate.points.empty() && std::isfinite(out.rate.points.back().second))
    out.rate_changes |= out.rate.points.back().second != *rate;
  out.rate.points.emplace_back(epoch - 0.5, *rate);
  out.rate.points.emplace_back(epoch + 0.5, *rate);
}

std::string best_text(double epoch, double value, const std::string& unit) {
  char text[80];
  std::snprintf(text, sizeof text, "best: %.4g%s at epoch %.0f", value, unit == "%" ? " %" : "", epoch);
  return text;
}

Curves curves_of(const std::vector<PhaseHistory>& phases, const MetricName& metric) {
  Curves out;
  Curve metrics[3] = {{"training", style_of(0)}, {"validation", style_of(1)}, {"test", style_of(2)}};
  Curve losses[2] = {{"training", style_of(0)}, {"validation", style_of(1)}};
  std::optional<Point> best;  // of the last phase
  double before = 0;
  for (const PhaseHistory& phase : phases) {
    // A curve of one metric: that of the last phase.
    const bool is_of_metric = phase.metrics.at(0).name == metric.name && phase.metrics[0].unit == metric.unit;
    if (!phase.phase.empty()) out.begins.push_back({before + 0.5, phase.phase});
    best.reset();
    auto part = [&](Curve& curve) {
      if (!curve.points.empty()) curve.points.emplace_back(before + 0.5, std::numeric_limits<double>::quiet_NaN());
    };
    for (Curve& curve : metrics) part(curve);
    for (Curve& curve : losses) part(curve);
    for (const EpochReport& report : phase.epochs) {
      const double epoch = before + static_cast<double>(report.epoch);
      auto add = [&](Curve& curve, const std::optional<double>& value) {
        if (value && std::isfinite(*value)) curve.points.emplace_back(epoch, *value);
      };
      if (is_of_metric) {
        // Of the loss, what training told of it.
        add(metrics[0], metric.name == "loss" ? report.train_loss : report.train_error);
        add(metrics[1], report.valid_error);
        add(metrics[2], report.test_error);
      }
      add(losses[0], report.train_loss);
      add(losses[1], report.valid_loss);
      add_rate(out, epoch, report.learning_rate);
      if (report.best && report.valid_error && std::isfinite(*report.valid_error)) best = {epoch, *report.valid_error};
      out.epochs = std::max(out.epochs, epoch);
    }
    if (!phase.epochs.empty()) before += static_cast<double>(phase.epochs.back().epoch);
  }
  for (Point& p : out.rate.points) p.first = std::clamp(p.first, 1.0, out.epochs);
  auto has_values = [](const Curve& curve) {
    return std::any_of(curve.points.begin(), curve.points.end(),
                       [](const Point& p) { return std::isfinite(p.second); });
  };
  const bool is_loss = metric.name == "loss" && phases.size() < 2;
  for (const Curve& curve : metrics)
    if (has_values(curve)) out.metric.push_back(curve);
  if (!is_loss || out.metric.empty())
    for (const Curve& curve : losses)
      if (has_values(curve)) out.losses.push_back(curve);
  if (best)
    out.metric.push_back({best_text(best->first, best->second, metric.unit),
                          {.colour = plot::kBlack, .marker = Marker::kStar, .thickness = 0},
                          {*best}});
  return out;
}

// A line upright where each phase but the first begins.
void add_begins(std::vector<Curve>& curves, const std::vector<Begin>& begins, const Axis& y) {
  for (size_t i = 1; i < begins.size(); ++i)
    curves.push_back({"",
                      {.colour = plot::kGrey, .dash = {3, 3}, .thickness = 1},
                      {{begins[i].epoch, y.low}, {begins[i].epoch, y.high}},
                      true});
}

// The names above the panel, each as long as its phase allows.
void draw_names(Canvas& canvas, const Panel& panel, const std::vector<Begin>& begins) {
  for (size_t i = 0; i < begins.size(); ++i) {
    const double x = std::max(panel.box().left, panel.x_of(begins[i].epoch));
    const double end = i + 1 < begins.size() ? panel.x_of(begins[i + 1].epoch) : panel.box().right;
    if (!(end - x > 24)) continue;
    canvas.text(x + (i > 0 ? 3 : 0), panel.box().top - 6, shortened(begins[i].name, end - x - 6, plot::kTextSize),
                {.size = plot::kTextSize, .colour = plot::kAxis});
  }
}

// One column of the picture: the panel, and the learning rate below it.
void draw_column(Canvas& canvas, double left, double right, const std::string& name, std::vector<Curve> curves,
                 const Curves& all, ValueScale scale) {
  const std::string title = name + fit_scale(curves, scale);
  const double decades = all.begins.size() > 1 ? 1.7 : 3;  // phases may have losses of another kind
  Axis x{.low = 1, .high = all.epochs, .whole = true, .ticks = right - left > 600 ? 12 : 8, .name = "epoch"};
  Axis upper = x;
  if (all.rate_changes) upper.has_texts = false, upper.name = "";
  const Axis y = value_axis(curves, decades, scale);
  Axis rate_axis = value_axis({all.rate}, 1);
  rate_axis.ticks = 3;
  const Margins around = Panel::margins(x, y), below = Panel::margins(x, rate_axis);
  const double inner_left = left + (all.rate_changes ? std::max(around.left, below.left) : around.left);
  const double top = kHead + around.top + (all.begins.empty() ? 0 : 16), bottom = kHead + kPanel;
  const double inner_bottom = all.rate_changes ? bottom - 10 : bottom - around.bottom;
  Panel panel(canvas, {std::round(inner_left), top, std::round(right - around.right), inner_bottom}, upper, y);
  add_begins(curves, all.begins, y);
  panel.draw(all.begins.empty() ? title : "", curves);
  if (!all.begins.empty()) canvas.text(panel.box().left, top - 26, title, {.size = plot::kTitleSize, .bold = true});
  draw_names(canvas, panel, all.begins);
  if (!all.rate_changes) return;
  const double strip = bottom + kStripGap + 16;
  Panel rates(canvas, {panel.box().left, strip, panel.box().right, strip + 48}, x, rate_axis);
  std::vector<Curve> of_rates = {all.rate};
  add_begins(of_rates, all.begins, rate_axis);
  rates.draw("", of_rates, Panel::Legend::kNone);
  canvas.text(rates.box().left, strip - 7, "learning rate", {.size = plot::kTextSize, .bold = true});
}

}  // namespace

std::string run_title(const std::string& path) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::absolute(path, error);
  if (error) out = path;
  out = out.lexically_normal();
  return out.has_filename() ? out.filename() : out.parent_path().filename();  // "runs/mlp/" has none
}

std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history,
                                              const MetricName& metric, const std::string& title,
                                              ValueScale loss_scale) {
  return draw_learning_curves(path, {{.epochs = history, .metrics = {metric}}}, metric, title, loss_scale);
}

std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<PhaseHistory>& phases,
                                              const MetricName& metric, const std::string& title,
                                              ValueScale loss_scale) {
  const Curves all = curves_of(phases, metric);
  Canvas canvas(static_cast<int>(kWidth),
                static_cast<int>(kHead + kPanel + 8 + (all.rate_changes ? kStripGap + kStrip : 0)));
  canvas.text(kSide + 2, 26, shortened(title, kWidth - 2 * kSide, 15, true), {.size = 15, .bold = true});
  std::string name = metric.name;
  std::replace(name.begin(), name.end(), '_', ' ');
  if (!metric.unit.empty()) name += str(" (", metric.unit, ')');
  const bool has_both = !all.metric.empty() && !all.losses.empty();
  const double middle = kWidth / 2;
  if (!all.metric.empty())
    draw_column(canvas, kSide, has_both ? middle - 6 : kWidth - kSide, name, all.metric, all,
                metric.name == "loss" ? loss_scale : ValueScale::kAuto);
  if (has_both || all.metric.empty())
    draw_column(canvas, has_both ? middle + 6 : kSide, kWidth - kSide, "loss", all.losses, all, loss_scale);
  return canvas.write(path);
}

}  // namespace thtrain
