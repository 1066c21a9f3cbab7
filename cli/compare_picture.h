// The picture of `thtrain compare`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/axis.h"

namespace thtrain {

struct NamedCurves {
  std::string name;
  std::vector<std::pair<double, double>> valid, train;  // epochs and values
};

/// STEM.png and STEM.svg (reports/compared_runs.h), which are returned; where the font is missing, STEM.svg alone, and
/// a warning on standard error. `metric`: the label of the values. UserError where they cannot be written.
std::vector<std::string> draw_curves(const std::string& stem, const std::vector<NamedCurves>& curves,
                                     const std::string& metric, ValueScale scale);

}  // namespace thtrain
