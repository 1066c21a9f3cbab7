// What the planner knows while it plans one graph: the program's, or a body's. Every graph has a table of values of its
// own, since bodies may share nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/node_map.h"
#include "compiler/plan/program.h"

namespace thtrain {

class PlanScope {
 public:
  static constexpr size_t kForever = static_cast<size_t>(-1);

  // One output of a node.
  struct Value {
    std::optional<BufferView> view = {};    // once it is computed
    std::optional<BufferView> wanted = {};  // where it should be computed
    size_t last_reader = 0;                 // position in the order; kForever: a root of the graph
    bool is_read = false;                   // by a step
    bool on_host = false;                   // placed there by the user, in a program for a device
    int copy = -1;                          // the buffer of a row-major copy that a reader needed
  };

  PlanScope(const Graph& graph, const PlanScope* outer) : graph(graph), outer(outer) {}

  /// The reference is valid until a value of another node is first asked for.
  Value& value(const Expr& e) { return values_[number_of(e)]; }
  /// InternalError where it is not computed yet.
  const BufferView& view_of(const Expr& e);
  /// The value lies there from now on.
  void set(const Expr& e, BufferView view);
  /// A copy of the value lies in this buffer.
  void set_copy(const Expr& e, int buffer);
  /// Where a step of this scope left what it derived from the value; null: none did.
  const BufferView* derived_from(const Expr& e, const std::string& recipe);
  void set_derived(const Expr& e, const std::string& recipe, BufferView view);
  /// Lies what the node gives on the host, where the user has placed it? References alone compute with it then: they
  /// read any layout, and what kernels would copy goes to the device.
  bool note_place(const Node& node);
  /// Does anything read the value, or is it a root?
  bool is_used(const Expr& e);
  /// Has every value in the buffer been read for the last time, once the node at `position` has run; and so in the
  /// scopes around this one, whose node at `position` the body belongs to?
  bool is_dead(int buffer) const;

  const Graph& graph;
  const PlanScope* const outer;  // null: the program's
  size_t position = 0;           // of the node that is being placed
  /// Inputs of a loop's body that are the same in every iteration, and the region in which they can be copied once.
  std::vector<std::pair<const Node*, Region*>> invariants = {};

 private:
  // Numbers count the outputs of nodes, in the order in which they are first asked for.
  size_t number_of(const Expr& e);
  std::vector<size_t>& values_in(int buffer);

  NodeMap<size_t> first_;  // number of a node's first output
  std::vector<Value> values_;
  std::vector<std::vector<size_t>> values_in_;  // by buffer
  std::map<std::pair<size_t, std::string>, BufferView> derived_;
};

}  // namespace thtrain
