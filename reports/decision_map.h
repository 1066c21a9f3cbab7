// What a model of two inputs decides: its classes as regions, with examples above them.
#pragma once

#include <string>
#include <vector>

#include "reports/axis.h"
#include "reports/canvas.h"

namespace thtrain {

/// What a model decides over two inputs, below the examples.
struct DecisionMap {
  int64_t rows = 0, columns = 0;           // of the raster; row 0 is at the top: the largest y
  std::vector<int64_t> classes = {};       // rows * columns, from 0
  std::vector<double> probabilities = {};  // of these classes, from 0 to 1: pale where they are small; empty: all 1
  struct Example {
    double x, y;
    int64_t label;
  };
  std::vector<Example> examples = {};
  std::vector<std::string> class_names = {};
};
/// In a panel whose axes were not drawn yet; its axes say where the raster's edges are.
void draw_decisions(Canvas& canvas, const Box& outer, const std::string& title, const Axis& x, const Axis& y,
                    const DecisionMap& map);

}  // namespace thtrain
