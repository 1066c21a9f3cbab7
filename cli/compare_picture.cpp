#include "cli/compare_picture.h"

#include <cstdio>

#include "compiler/base/escape.h"
#include "reports/compared_runs.h"
#include "reports/font.h"

namespace thtrain {

static std::vector<Point> points_of(const std::vector<std::pair<double, double>>& values) {
  std::vector<Point> out;
  for (const auto& [epoch, value] : values) out.push_back({epoch, value});
  return out;
}

std::vector<std::string> draw_curves(const std::string& stem, const std::vector<NamedCurves>& curves,
                                     const std::string& metric, ValueScale scale) {
  std::vector<ComparedRun> runs;
  for (const NamedCurves& one : curves) runs.push_back({one.name, points_of(one.valid), points_of(one.train)});
  const std::vector<std::string> out =
      draw_compared_runs(stem, runs, metric, str("comparison of ", runs.size(), " runs"), scale);
  if (out.size() == 1) std::fprintf(stderr, "warning: %s\n", printable(without_font()).c_str());
  return out;
}

}  // namespace thtrain
