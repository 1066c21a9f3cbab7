// What an op with bodies lowers with: loops and branches around the steps of its bodies. The planner implements it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain::kernel {

/// A location in memory while a region is built: elements of a buffer under a layout, or a token.
struct RegionValue {
  int id;
};

class RegionBuilder {
 public:
  virtual ~RegionBuilder() = default;
  virtual const Node& node() const = 0;
  /// Where input i lies, in whatever layout.
  virtual RegionValue input(size_t i) = 0;
  /// Does anything read output o? An output that nothing reads needs no location.
  virtual bool is_read(size_t o) const = 0;
  /// A row-major location for output o. It is the location of an input that the op lets the output overwrite
  /// (Op::aliases) where that is safe.
  virtual RegionValue output(size_t o) = 0;
  /// Output o lies here, in a location that another output owns.
  virtual void set_output(size_t o, RegionValue location) = 0;
  /// A location that lives as long as the region: for a state that no output shows.
  virtual RegionValue temporary(const Type& type) = 0;
  /// x[index]: one element of the first axis.
  virtual RegionValue slot(RegionValue x, const Dim& index) = 0;
  /// Elements of `from` into `to`, of the same type; nothing where the two are one location.
  virtual void copy(RegionValue from, RegionValue to) = 0;

  /// The steps of a body. Its inputs lie in `inputs`; output k is computed into outputs[k]. An output whose location is
  /// that of an input is computed as an update of a shared variable is: after the last reader of the old value, in
  /// location where the ops allow it, by way of a copy elsewhere. Any other overlap of an output's location with an
  /// input's is a mistake of the caller.
  virtual void body(const Graph& body, std::span<const RegionValue> inputs, std::span<const RegionValue> outputs) = 0;

  /// What `iteration` builds, for index = 0, 1, ..., count - 1; `iteration` may give the location of a bool scalar that
  /// it computes: the loop ends after the first iteration that leaves it true. Inputs of the node that a body in the
  /// loop reads as they are do not change while it runs: row-major copies of them are made once, before the loop.
  virtual void loop(const Dim& count, const std::function<std::optional<RegionValue>(const Dim& index)>& iteration) = 0;
  /// What one of the two builds, by the value of a bool scalar.
  virtual void branch(RegionValue condition, const std::function<void()>& then,
                      const std::function<void()>& otherwise) = 0;
};

}  // namespace thtrain::kernel
