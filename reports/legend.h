// Where the names of curves are written, so that they cover none of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/canvas.h"
#include "reports/polyline.h"

namespace thtrain {

/// What is drawn in a box, in squares of 4 pixels.
class TakenArea {
 public:
  explicit TakenArea(const Box& box);

  /// What is nearer to the line than `margin`.
  void add(const Points& line, double margin);
  void add(const Box& box);
  /// Whether nothing that was added is in `box`, and it is within the whole one.
  bool is_free(const Box& box) const;

 private:
  Box box_;
  int64_t columns_, rows_;
  std::vector<char> taken_;
  mutable std::vector<int> sums_;  // of what is taken above and to the left; made anew when is_free() is asked
};

/// A position for a box of that size: in a corner where one is free, then along an edge, then anywhere.
std::optional<Box> free_position(const TakenArea& taken, const Box& within, double width, double height);

}  // namespace thtrain
