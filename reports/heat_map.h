// A matrix as a picture: a number in each cell, on a colour that says how large it is.
#pragma once

#include <string>
#include <vector>

#include "reports/canvas.h"

namespace thtrain {

/// A matrix of counts with a number in each cell; dark cells are large.
struct HeatMap {
  std::vector<std::vector<double>> values = {};  // rows
  std::vector<std::string> row_names = {}, column_names = {};
  std::string title = {}, row_title = {}, column_title = {};
  bool of_row_sums = false;  // colours by the root of the part of the row's sum, not by the part of the largest value
};
/// Fills `outer`, names and titles included.
void draw_heat_map(Canvas& canvas, const Box& outer, const HeatMap& map);

}  // namespace thtrain
