#include "reports/lr_range_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reports/plot.h"

namespace thtrain {

namespace {

std::string rate_text(const char* what, double rate) {
  char text[80];
  std::snprintf(text, sizeof text, "%s %.2g", what, rate);
  return text;
}

// Of the smoothed losses, with room for noise around them; of a rise above the first one no more than of the fall.
Axis loss_axis(const LrRangePicture& of) {
  double low = of.smoothed.front().second, high = low;
  for (const Point& p : of.smoothed) low = std::min(low, p.second), high = std::max(high, p.second);
  const double first = of.smoothed.front().second;
  if (first > low) high = std::min(high, 2 * first - low);
  double least = low, most = high;
  for (const Point& p : of.losses) least = std::min(least, p.second), most = std::max(most, p.second);
  const double room = 0.25 * std::max(high - low, 1e-12);
  return axis_of(std::max(least, low - room), std::min(most, high + room), "loss of the minibatch");
}

}  // namespace

std::vector<std::string> draw_lr_range(const std::string& path, const LrRangePicture& of) {
  Canvas canvas(960, 480);
  canvas.set_maker(std::string(kLrRangeMaker));
  canvas.text(20, 27, shortened(of.title, 920, 15, true), {.size = 15, .bold = true});
  std::vector<Curve> curves = {
      {"each minibatch", {.colour = {170, 170, 170}, .thickness = 1}, of.losses},
      {"smoothed", {.colour = plot::kBlue, .thickness = 2.2}, of.smoothed},
  };
  const Axis y = loss_axis(of);
  const double last = of.diverged_at.value_or(of.losses.back().first);
  const Axis x{.low = of.losses.front().first,
               .high = std::max(last, of.losses.back().first),
               .logarithmic = true,
               .name = "learning rate"};
  if (of.diverged_at)
    curves.push_back({rate_text("diverged at", *of.diverged_at),
                      {.colour = plot::kRed, .dash = {5, 4}, .thickness = 1.4},
                      {{*of.diverged_at, y.low}, {*of.diverged_at, y.high}},
                      true});
  if (of.suggestion)
    curves.push_back({rate_text("steepest descent:", of.suggestion->first),
                      {.colour = plot::kBlack, .marker = Marker::kStar, .thickness = 0},
                      {*of.suggestion}});
  const Margins around = Panel::margins(x, y, false);
  Panel panel(canvas, {20 + around.left, 48 + around.top, 930 - around.right, 470 - around.bottom}, x, y);
  panel.draw("", curves);
  return canvas.write(path);
}

}  // namespace thtrain
