// The picture of a learning-rate range test: the loss over the learning rate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/canvas.h"

namespace thtrain {

inline constexpr std::string_view kLrRangeMaker = "thtrain lr range";

struct LrRangePicture {
  std::string title = {};
  std::vector<Point> losses = {}, smoothed = {};  // rates above 0 that rise, and losses
  std::optional<Point> suggestion = {};           // on the smoothed curve
  std::optional<double> diverged_at = {};         // the rate at which the test ended early
};

/// PATH.png and PATH.svg, as Canvas::write(), of 960 x 480 pixels, with a logarithmic axis of rates. Losses far above
/// the first ones are cut off. The files say that kLrRangeMaker made them.
std::vector<std::string> draw_lr_range(const std::string& path, const LrRangePicture& of);

}  // namespace thtrain
