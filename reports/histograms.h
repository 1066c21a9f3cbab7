// How values are distributed: a panel for each parameter of a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/canvas.h"

namespace thtrain {

/// So many numbers have bins that say something.
inline constexpr size_t kFewNumbers = 10;

/// counts[i] values from edges[i] to edges[i + 1]; the last one with its upper edge.
struct HistogramPanel {
  std::string name;
  std::vector<double> edges = {}, counts = {};
  std::string note = {};  // below the name: "mean 0, deviation 0.05"
  /// All of them, in their order, where they are fewer than kFewNumbers: drawn instead of bins.
  std::vector<double> numbers = {};
};

/// Of the finite values; `bins` (at least 1) of one width from the least to the largest. One bin of width 1 around them
/// where all are equal, and around 0 where there are none. The note has mean and deviation, and how many are not
/// finite.
HistogramPanel histogram_of(const std::string& name, std::span<const double> values, size_t bins = 40);

/// PATH.png and PATH.svg, as Canvas::write(), 960 pixels wide: rows of up to three panels. Few numbers are lines that
/// end in a dot, as high as there are equal ones.
std::vector<std::string> draw_histograms(const std::string& path, const std::vector<HistogramPanel>& histograms,
                                         const std::string& title);

}  // namespace thtrain
