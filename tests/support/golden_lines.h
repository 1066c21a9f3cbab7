// Reads the cases of tests/golden/*_ops.txt: "name arguments... = [shape] values..." or "... = error".
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

struct GoldenLine {
  std::string text;  // the whole line
  std::string name = {};
  std::vector<std::string> arguments = {};
  bool is_error = false;
  Shape shape = {};
  std::vector<std::string> values = {};

  /// The result as a tensor of that dtype; of a complex one the values are real parts, or pairs.
  Tensor result(DType dtype) const;
};

/// Lines that begin with # are left out.
std::vector<GoldenLine> golden_lines(const std::string& file);

/// "[2,-3]" -> {2, -3}
std::vector<int64_t> parse_list(const std::string& text);

/// start, start + 1, ... as int64 in that shape; step -1 counts down.
Tensor counting(const Shape& shape, int64_t start = 0, int64_t step = 1);

}  // namespace thtrain
