// Several runs in one picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/plot.h"

namespace thtrain {

/// What one run measured: epochs and values.
struct ComparedRun {
  std::string name;
  std::vector<Point> valid = {}, train = {};  // of the metric
};

/// Of the run with this number: a line, of the ninth and later runs of dots between long dashes, and a filled marker
/// that no other of eight runs has.
CurveStyle compared_style(size_t index);

inline constexpr std::string_view kCompareMaker = "thtrain compare";

/// PATH.png and PATH.svg, as Canvas::write(), of 960 x 480 pixels: a curve with markers of each run's validation
/// values, and a thin dashed one, with the same markers hollow, of its training values. Names of runs are in the
/// legend. What a logarithmic axis leaves out is told behind `metric`. The files say that kCompareMaker made them.
std::vector<std::string> draw_compared_runs(const std::string& path, const std::vector<ComparedRun>& runs,
                                            const std::string& metric, const std::string& title,
                                            ValueScale scale = ValueScale::kAuto);

}  // namespace thtrain
