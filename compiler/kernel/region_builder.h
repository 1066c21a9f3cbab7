// What an op with bodies lowers with: loops and branches around steps. The planner implements it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain::kernel {

/// A value of the program while a region is built: an input of the node, an output of it, or the result of a body.
struct RegionValue {
  int id;
};

class RegionBuilder {
 public:
  virtual ~RegionBuilder() = default;
  virtual const Node& node() const = 0;
  virtual RegionValue input(size_t i) = 0;
  /// The buffer of output i: row-major, to be written by copy().
  virtual RegionValue output(size_t i) = 0;
  /// Elements of `from` into `to` (of the same type).
  virtual void copy(RegionValue from, RegionValue to) = 0;
  /// The steps of a body on these values of its inputs; gives its outputs.
  virtual std::vector<RegionValue> inline_body(const Graph& body, std::span<const RegionValue> inputs) = 0;
  /// What `body` builds runs `count` times.
  virtual void loop(const Dim& count, const std::function<void()>& body) = 0;
};

}  // namespace thtrain::kernel
