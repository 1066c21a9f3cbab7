// Slices of golden files.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/ops/index/index.h"

namespace thtrain {

/// "1:-1", "::2": `number` makes an operand of an end or the step that is given.
inline Slice slice_of(const std::string& text, const std::function<Operand(const std::string&)>& number) {
  std::vector<std::string> ends;
  std::istringstream in(text);
  for (std::string end; std::getline(in, end, ':');) ends.push_back(end);
  ends.resize(3);
  Slice out;
  if (!ends[0].empty()) out.start = number(ends[0]);
  if (!ends[1].empty()) out.stop = number(ends[1]);
  if (!ends[2].empty()) out.step = number(ends[2]);
  return out;
}

}  // namespace thtrain
