// The planner's state while it walks the nodes of a program: for planner.cpp and region_planner.cpp alone.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/plan/lowering.h"
#include "compiler/plan/plan_scope.h"
#include "compiler/plan/program.h"
#include "compiler/plan/schedule.h"

namespace thtrain {

class Planner {
 public:
  Planner(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options);
  Program run();

 private:
  friend class RegionPlanner;

  /// All steps of the scope's graph: output k is computed into locations[k]. Its leaves have their locations already.
  void plan_scope(const NodeOrder& order, std::span<const BufferView> locations);

  /// What an op would only copy into its output is computed there, where the op is its last reader; not in the buffer
  /// of a variable, whose old value may be read until the op runs.
  void want_at_destinations(const NodeOrder& order);

  // ---- buffers
  int add_buffer(Buffer buffer);
  int add_temporary(const Type& type, std::string name);
  /// A new row-major location.
  BufferView new_location(const Type& type, std::string name);
  void bind_leaf(const Expr& leaf, BufferKind kind, size_t index);
  void add_shared(const Expr& leaf);
  size_t shared_index(const Expr& leaf) { return buffer_of(view_of(leaf)).index; }
  const Buffer& buffer_of(const BufferView& view) const { return program_.buffers[static_cast<size_t>(view.buffer)]; }
  const BufferView& view_of(const Expr& e) { return scope_->view_of(e); }

  // ---- what may be overwritten
  /// Does the value lie in the buffer of a variable of this scope whose old value it is? (A view that had to be copied
  /// does not.)
  bool is_old_value(const Expr& e);
  /// Is the value computed where the caller will find it, and by nobody read before?
  bool goes_to_caller(const Expr& e, const BufferView& view);
  /// A temporary, or an input that the caller does not read again.
  bool may_be_taken(const Buffer& buffer) const {
    return buffer.kind == BufferKind::kTemporary ||
           (buffer.kind == BufferKind::kInput && options_.mutable_inputs.contains(buffer.index));
  }
  /// The buffer of a temporary of this scope that dies with this node and that output `o` may take over; -1: none.
  int reusable(const Node& node, size_t o, std::span<const BufferView> inputs) const;
  /// By an earlier output of the node that is being placed?
  bool is_taken(int buffer) const;

  // ---- nodes
  void plan(const Node& node);
  void place_constant(const Node& node);
  /// Gives the outputs that are views their locations. Is nothing left that code would have to compute?
  bool place_views(const Node& node);
  void place_step(const Node& node);
  /// The node's inputs as its code can read them.
  std::vector<BufferView> placed_inputs(const Node& node, bool calls_back);
  /// Where output `o` goes: where it is wanted, over an input that dies, or into a temporary.
  BufferView location_of(const Node& node, size_t o, std::span<const BufferView> inputs);
  /// The node's code; its workspaces are added to the operands.
  LoweredNode lowered(const Node& node, const Placement& at, std::vector<BufferView>& operands);
  void emit(const Node& node, LoweredNode lowered, std::vector<BufferView> operands);

  // ---- copies
  /// Elements of one view into another, as a step of its own.
  void copy(const BufferView& from, const BufferView& to, std::string why, const Origin& origin);
  /// The same at the location `begin` of the region: before the steps of the scope.
  void copy_first(const BufferView& from, const BufferView& to, std::string why, const Origin& origin, size_t begin);
  /// The value in row-major order: a copy where it lies otherwise.
  BufferView materialized(const Expr& e);
  /// The region in which a copy of the value can be made: the innermost, but for what a loop does not change.
  Region* home_of(const Expr& e) const;
  void finish_outputs(std::span<const BufferView> locations, size_t begin);
  void finish_updates(size_t begin);

  // ---- loops and branches (region_planner.cpp)
  void place_region(const Node& node);
  std::shared_ptr<Region> new_region();
  void in_region(Region& region, const std::function<void()>& build);

  PlanOptions options_;
  Lowering lowering_;
  Program program_;
  PlanScope* scope_ = nullptr;
  Region* region_;
  size_t regions_ = 0, loops_ = 0;
  std::vector<int> taken_;  // buffers, by outputs of the node that is being placed
  std::set<int>
      of_updates_;  // buffers that an update reads, which may be launched with later ones: they stay as they are
};

}  // namespace thtrain
