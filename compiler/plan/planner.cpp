// Gives values their buffers, and proves where writing in place is safe. A body of a loop or a branch is planned as the
// program is: by the same code, in a scope of its own (region_planner.cpp).
#include "compiler/plan/planner.h"

#include <algorithm>
#include <set>

#include "compiler/base/escape.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/plan/in_place.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/merge_kernels.h"
#include "compiler/plan/merge_launches.h"
#include "compiler/plan/place_transfers.h"

namespace thtrain {

// Is the value of update u also that of an earlier update, which it is computed into?
static bool is_update_of_another(const Graph& graph, size_t u) {
  for (size_t other = 0; other < u; ++other)
    if (graph.updates[other].value.same(graph.updates[u].value)) return true;
  return false;
}

static bool is_elementwise(const Node& node) {
  return node.op->scalar || node.op->fused;
}

static std::string comment_of(const Node& node) {
  std::string scope = node.origin.scope ? node.origin.scope->path : std::string();
  return str(node.name.empty() ? "" : str(escaped(node.name), " = "), node.op->name,
             scope.empty() ? "" : str("  [", scope, "]"));
}

Planner::Planner(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options)
    : options_(options), lowering_(options_) {
  program_.graph = graph;
  program_.target = options.target;
  program_.checks = std::move(checks);
  region_ = &program_.body;
}

Program Planner::run() {
  const Graph& graph = program_.graph;
  PlanScope scope(graph, nullptr);
  scope_ = &scope;
  const NodeOrder order = schedule(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) bind_leaf(graph.inputs[i], BufferKind::kInput, i);
  for (const Node* node : order.order)
    if (node->op == &shared_op()) add_shared((*node)[0]);
  for (const Update& update : graph.updates) {
    add_shared(update.variable);
    program_.shared_written[shared_index(update.variable)] = true;
  }
  std::vector<BufferView> locations;
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const Expr& out = graph.outputs[k];
    const int buffer = add_buffer({BufferKind::kOutput, out.dtype(), out.type().elements(), k, 0, str("output ", k),
                                   is_data_dependent(out.dims()), 0, options_.internal_outputs.contains(k)});
    locations.push_back({buffer, out.type(), row_major(out.dims())});
  }
  plan_scope(order, locations);
  if (program_.target.is_device()) place_transfers(program_);
  if (options_.merge_launches) merge_launches(program_);
  program_.memory = plan_memory(program_);
  merge_kernels(program_);
  return std::move(program_);
}

// ---- a scope -------------------------------------------------------------------------------------------------------

void Planner::plan_scope(const NodeOrder& order, std::span<const BufferView> locations) {
  PlanScope& scope = *scope_;
  const Graph& graph = scope.graph;
  // What is returned lives to the end; an update's value must be in the variable's buffer then.
  for (size_t p = 0; p < order.order.size(); ++p)
    for (const Expr& input : order.order[p]->inputs) {
      scope.value(input).last_reader = p;
      scope.value(input).is_read = true;
    }
  for (const Expr& root : graph.roots()) {
    PlanScope::Value& value = scope.value(root);
    value.is_read |= value.last_reader == PlanScope::kForever;  // by the copy to a second location
    value.last_reader = PlanScope::kForever;
  }
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const Expr& out = graph.outputs[k];
    if (!out.node().is_leaf() && !is_view(out) && !scope.value(out).wanted) scope.value(out).wanted = locations[k];
  }
  want_at_destinations(order);
  for (size_t u = 0; u < graph.updates.size(); ++u) {
    if (!options_.in_place || is_update_of_another(graph, u)) continue;
    const BufferView variable = scope.view_of(graph.updates[u].variable);
    for (const Expr& link : order.in_place[u]) scope.value(link).wanted = variable;
  }
  const size_t begin = region_->items.size();
  for (scope.position = 0; scope.position < order.order.size(); ++scope.position) plan(*order.order[scope.position]);
  finish_outputs(locations, begin);
  finish_updates(begin);
}

// One loop nest of elementwise operations stores its results in any layout.
static bool stores_any_layout(const Node& node) {
  if (node.op->scalar) return has_scalar_code(node);
  if (!node.op->fused) return false;
  const std::vector<const Node*> inner = topological_order(node.bodies[0]->outputs);
  return std::all_of(inner.begin(), inner.end(), [](const Node* n) {
    return n->is_leaf() || n->op == &constant_op() || n->op->scalar || n->op->gather;
  });
}

// Rows whose elements lie side by side, so that vectors of them are stored.
static bool has_whole_rows(const Dims& dims, const Layout& layout) {
  size_t axis = dims.size();
  while (axis > 0 && dims[axis - 1].is(1)) --axis;
  return axis == 0 || layout.strides[axis - 1].is(1);
}

// Readers first: a part may itself consist of parts.
void Planner::want_at_destinations(const NodeOrder& order) {
  if (!options_.in_place) return;
  std::set<std::pair<const Node*, size_t>> updates;
  for (const std::vector<Expr>& links : order.in_place)
    for (const Expr& link : links) updates.emplace(&link.node(), link.output());
  auto is_update = [&](const Expr& value) { return updates.contains({&value.node(), value.output()}); };
  for (size_t p = order.order.size(); p-- > 0;) {
    const Node& node = *order.order[p];
    if (!node.op->destinations || is_update(node[0]) || is_data_dependent(node.types[0].dims)) continue;
    std::optional<BufferView>& wanted = scope_->value(node[0]).wanted;
    if (!wanted) wanted = new_location(node.types[0], node.op->name);
    const BufferView out = *wanted;
    const std::vector<Layout> there = node.op->destinations(node, out.layout);
    for (size_t i = 0; i < there.size(); ++i) {
      const Expr& part = node.inputs[i];
      PlanScope::Value& value = scope_->value(part);
      // A value that is joined twice has the first location only.
      if (value.last_reader != p || value.wanted || is_update(part)) continue;
      const bool is_computed = !part.node().is_leaf() && part.node().op != &constant_op() && !is_view(part);
      if (is_computed && (is_row_major(part.dims(), there[i]) ||
                          (stores_any_layout(part.node()) && has_whole_rows(part.dims(), there[i]))))
        value.wanted = BufferView{out.buffer, part.type(), there[i]};
    }
  }
}

int Planner::add_buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size()) - 1;
}

int Planner::add_temporary(const Type& type, std::string name) {
  require_fits(type);
  return add_buffer(
      {BufferKind::kTemporary, type.dtype, type.elements(), 0, 0, std::move(name), false, region_->number});
}

BufferView Planner::new_location(const Type& type, std::string name) {
  if (type.kind == TypeKind::kToken) return {-1, type, {}};
  return {add_temporary(type, std::move(name)), type, row_major(type.dims)};
}

void Planner::bind_leaf(const Expr& leaf, BufferKind kind, size_t index) {
  int buffer = add_buffer({kind, leaf.dtype(), leaf.type().elements(), index, 0, leaf.name()});
  scope_->set(leaf, BufferView{buffer, leaf.type(), row_major(leaf.dims())});
}

void Planner::add_shared(const Expr& leaf) {
  if (scope_->value(leaf).view) return;
  bind_leaf(leaf, BufferKind::kShared, program_.shared.size());
  program_.shared.push_back(leaf);
  program_.shared_written.push_back(false);
}

// ---- what may be overwritten ---------------------------------------------------------------------------------------

bool Planner::is_old_value(const Expr& e) {
  const Node* root = root_of(e);
  const int buffer = view_of(e).buffer;
  if (!root->is_leaf() || buffer < 0) return false;
  if (root->op == &shared_op()) return buffer == view_of((*root)[0]).buffer;
  const std::vector<Update>& updates = scope_->graph.updates;
  return std::any_of(updates.begin(), updates.end(), [&](const Update& update) {
    return &update.variable.node() == root && view_of(update.variable).buffer == buffer;
  });
}

bool Planner::goes_to_caller(const Expr& e, const BufferView& view) {
  return view.buffer >= 0 && buffer_of(view).kind == BufferKind::kOutput && !scope_->value(e).is_read && !scope_->outer;
}

int Planner::reusable(const Node& node, size_t o, std::span<const BufferView> inputs) const {
  if (!options_.in_place) return -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferView& in = inputs[i];
    if (in.buffer < 0 || !may_overwrite(node, o, i) || is_taken(in.buffer) || of_updates_.contains(in.buffer)) continue;
    const Buffer& buffer = buffer_of(in);
    if (!may_be_taken(buffer) || buffer.region != region_->number) continue;
    if (!(buffer.elements == in.type.elements())) continue;
    if (!in.layout.offset.is(0) || !is_row_major(in.type.dims, in.layout)) continue;
    bool alone = true;
    for (size_t k = 0; k < inputs.size(); ++k)  // nobody else of this node looks at it in another order
      if (k != i && inputs[k].buffer == in.buffer &&
          !(is_elementwise(node) && may_overwrite(node, o, k) && inputs[k].layout.strides == in.layout.strides &&
            inputs[k].layout.offset.is(0) && inputs[k].type == in.type))
        alone = false;
    if (alone && scope_->is_dead(in.buffer)) return in.buffer;
  }
  return -1;
}

bool Planner::is_taken(int buffer) const {
  return std::find(taken_.begin(), taken_.end(), buffer) != taken_.end();
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

void Planner::plan(const Node& node) {
  if (node.is_leaf()) return;
  if (node.op == &constant_op()) return place_constant(node);
  if (node.op == &start_token_op()) return scope_->set(node[0], {-1, node.types[0], {}});
  const bool on_host = program_.target.is_device() && scope_->note_place(node);
  try {
    if (place_views(node)) return;
    if (node.op->lower_region && !on_host) return place_region(node);
    place_step(node);
  } catch (const UserError& error) {
    Message message = error.messages()[0];
    if (!message.node.empty()) throw;
    message.what = str(node.op->name, ": ", message.what);
    message.node = node.origin.text();
    message.config = node.origin.config();
    throw UserError(std::move(message));
  }
}

void Planner::place_constant(const Node& node) {
  const Tensor& value = node.props.get<Tensor>("value");
  int buffer =
      add_buffer({BufferKind::kConstant, value.dtype(), value.size(), program_.constants.size(), 0, "constant"});
  program_.constants.push_back(value.contiguous());
  scope_->set(node[0], {buffer, node.types[0], row_major(node.types[0].dims)});
}

bool Planner::place_views(const Node& node) {
  size_t views = 0;
  for (size_t o = 0; o < node.types.size(); ++o) views += is_view(node[o]);
  const bool only_views = views == node.types.size();
  for (size_t o = 0; views > 0 && o < node.types.size(); ++o) {
    const Alias* rule = view_rule(*node.op, o);
    if (!rule) continue;
    const Expr& viewed = node.inputs[rule->input];
    BufferView source = view_of(viewed);
    std::optional<Layout> layout = rule->view({node, source.layout});
    if (!layout && only_views && node.op->lower) return false;
    if (!layout) {  // a view of the row-major copy
      source = materialized(viewed);
      layout = rule->view({node, source.layout});
      TH_CHECK(layout, node.op->name, " has no view of a row-major value");
    }
    scope_->set(node[o], {source.buffer, node.types[o], std::move(*layout)});
  }
  return only_views;
}

std::vector<BufferView> Planner::placed_inputs(const Node& node, bool calls_back) {
  std::vector<BufferView> out;
  out.reserve(node.inputs.size() + node.types.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const BufferView& view = view_of(node.inputs[i]);
    bool fits = view.buffer < 0 || scope_->value(node.inputs[i]).on_host ||
                ((!node.op->accepts_layout || node.op->accepts_layout(node, i, view.layout)) &&
                 (!calls_back || is_row_major(view.type.dims, view.layout)));
    out.push_back(fits ? view : materialized(node.inputs[i]));
  }
  return out;
}

void Planner::place_step(const Node& node) {
  bool calls_back = scope_->value(node[0]).on_host || node.op->calls_reference ||
                    (node.op->scalar && !has_scalar_code(node)) || (!node.op->lower && !node.op->scalar);
  std::vector<BufferView> operands = placed_inputs(node, calls_back);  // then outputs
  Placement at{.inputs = {operands.data(), node.inputs.size()}};       // nothing below moves them
  taken_.clear();
  bool overwrites = false;
  for (size_t o = 0; o < node.types.size(); ++o) {
    if (node.types[o].kind == TypeKind::kToken) {
      operands.push_back({-1, node.types[o], {}});
      continue;
    }
    if (is_view(node[o]) && scope_->value(node[o]).view) {  // the code leaves it alone
      operands.push_back(view_of(node[o]));
      continue;
    }
    BufferView out = calls_back ? location_of(node, o, {}) : location_of(node, o, at.inputs);
    taken_.push_back(out.buffer);
    overwrites = overwrites || std::any_of(at.inputs.begin(), at.inputs.end(),
                                           [&](const BufferView& input) { return is_one_location(input, out); });
    at.writes_variable |= buffer_of(out).kind == BufferKind::kShared;
    operands.push_back(std::move(out));
  }
  if (at.writes_variable && options_.merge_launches)
    for (const BufferView& input : at.inputs) of_updates_.insert(input.buffer);
  at.outputs = std::span<const BufferView>(operands).subspan(node.inputs.size());
  at.is_unread = !overwrites;
  for (size_t o = 0; o < at.outputs.size(); ++o) at.is_unread = at.is_unread && goes_to_caller(node[o], at.outputs[o]);
  for (size_t o = 0; o < at.outputs.size(); ++o)
    if (!scope_->value(node[o]).view) scope_->set(node[o], at.outputs[o]);
  LoweredNode lower;
  if (calls_back)
    lower.code.emplace_back(kernel::ReferenceCall{});
  else
    lower = lowered(node, at, operands);
  emit(node, std::move(lower), std::move(operands));
}

LoweredNode Planner::lowered(const Node& node, const Placement& at, std::vector<BufferView>& operands) {
  Placement with_scope = at;
  with_scope.is_derived = [&](const kernel::Derivation& of) {
    return scope_->derived_from(node.inputs[of.input], of.recipe) != nullptr;
  };
  LoweredNode out = lowering_.lower(node, with_scope);
  for (const kernel::Workspace& workspace : out.workspaces) {
    const Type type{.dtype = workspace.dtype, .dims = {workspace.elements}};
    if (!workspace.holds) {
      operands.push_back(new_location(type, "workspace"));
      continue;
    }
    const Expr& of = node.inputs[workspace.holds->input];
    const BufferView* there = scope_->derived_from(of, workspace.holds->recipe);
    operands.push_back(there ? *there : new_location(type, workspace.holds->recipe));
    TH_CHECK(operands.back().type == type, workspace.holds->recipe, " of ", type.text());
    scope_->set_derived(of, workspace.holds->recipe, operands.back());
  }
  return out;
}

BufferView Planner::location_of(const Node& node, size_t o, std::span<const BufferView> inputs) {
  const Type& type = node.types[o];
  if (type.kind == TypeKind::kToken) return {-1, type, {}};
  if (const std::optional<BufferView>& wanted = scope_->value(node[o]).wanted) return *wanted;
  const std::string& name = node.name.empty() ? node.op->name : node.name;
  if (const int buffer = reusable(node, o, inputs); buffer >= 0) return {buffer, type, row_major(type.dims)};
  return new_location(type, name);
}

void Planner::emit(const Node& node, LoweredNode lowered, std::vector<BufferView> operands) {
  std::vector<kernel::StepCode>& code = lowered.code;
  if (code.empty()) return;  // all was computed where it would have been copied
  Step step{&node, comment_of(node),  std::move(operands),   node.inputs.size(), node.types.size(), {}, node.origin,
            {},    lowered.candidate, lowered.candidate_file};
  for (size_t k = 0; k + 1 < code.size(); ++k) {
    region_->items.push_back(step);
    std::get<Step>(region_->items.back()).code = std::move(code[k]);
  }
  step.code = std::move(code.back());
  if (node.op->defines)
    for (DefinedLength& length : node.op->defines(node))
      step.defines.push_back(
          {std::move(length.name), std::move(length.bound), step.operands[node.inputs.size() + length.output]});
  region_->items.push_back(std::move(step));
}

// ---- copies --------------------------------------------------------------------------------------------------------

void Planner::copy(const BufferView& from, const BufferView& to, std::string why, const Origin& origin) {
  for (kernel::StepCode& code : lowering_.copy(from, to))
    region_->items.push_back(Step{nullptr, why, {from, to}, 1, 1, std::move(code), origin});
}

void Planner::copy_first(const BufferView& from, const BufferView& to, std::string why, const Origin& origin,
                         size_t begin) {
  const size_t end = region_->items.size();
  begin = after_definitions(*region_, begin, from.type.dims);
  copy(from, to, std::move(why), origin);
  const auto at = [&](size_t i) { return region_->items.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(begin), at(end), region_->items.end());
}

BufferView Planner::materialized(const Expr& e) {
  const BufferView source = view_of(e);
  if (is_row_major(source.type.dims, source.layout)) return source;
  if (const int known = scope_->value(e).copy; known >= 0) return {known, e.type(), row_major(e.dims())};
  Region* const here = region_;
  region_ = home_of(e);
  BufferView dense = new_location(e.type(), "copy");
  copy(source, dense, "row-major copy", e.node().origin);
  region_ = here;
  scope_->set_copy(e, dense.buffer);  // other readers will read the copy
  return dense;
}

Region* Planner::home_of(const Expr& e) const {
  const Node* root = root_of(e);
  for (const auto& [leaf, home] : scope_->invariants)
    if (leaf == root) return home;
  return region_;
}

void Planner::finish_outputs(std::span<const BufferView> locations, size_t begin) {
  for (size_t k = 0; k < locations.size(); ++k) {
    const Expr& out = scope_->graph.outputs[k];
    const BufferView& value = view_of(out);
    if (value.buffer < 0 || is_one_location(value, locations[k])) continue;
    const std::string why = scope_->outer ? "result of the body" : str("output ", k);
    if (is_old_value(out))  // before the first step: the variable may be overwritten later
      copy_first(value, locations[k], why, out.node().origin, begin);
    else if (options_.early_outputs && !scope_->outer)
      copy_first(value, locations[k], why, out.node().origin, after_last_write(*region_, begin, value.buffer));
    else
      copy(value, locations[k], why, out.node().origin);
  }
}

void Planner::finish_updates(size_t begin) {
  const Graph& graph = scope_->graph;
  std::vector<std::pair<BufferView, size_t>> late;
  for (size_t u = 0; u < graph.updates.size(); ++u) {
    const Update& update = graph.updates[u];
    BufferView value = view_of(update.value);
    if (value.buffer < 0 || is_one_location(value, view_of(update.variable))) continue;  // in place, or no change
    if (is_old_value(update.value)) {
      BufferView saved = new_location(update.value.type(), "old value");
      copy_first(value, saved, "old value", update.value.node().origin, begin);
      value = saved;
    }
    late.emplace_back(value, u);
  }
  for (const auto& [value, u] : late)
    copy(value, view_of(graph.updates[u].variable),
         str(scope_->outer ? "next value of " : "update of ", escaped(graph.updates[u].variable.name())),
         graph.updates[u].value.node().origin);
}

Program plan(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options) {
  return Planner(graph, std::move(checks), options).run();
}

}  // namespace thtrain
