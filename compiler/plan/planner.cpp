// Gives values their buffers, and proves where writing in place is safe.
#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/plan/in_place.h"
#include "compiler/plan/lowering.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/program.h"
#include "compiler/plan/schedule.h"

namespace thtrain {
namespace {

constexpr size_t kForever = static_cast<size_t>(-1);

// What is known of a value while its graph is placed.
struct Value {
  std::optional<BufferView> view = {};  // once it is computed
  size_t last_reader = 0;               // position in the order
  bool is_read = false;                 // by a step
  int wanted = -1;                      // the buffer that it should be computed into
  int copy = -1;                        // of a row-major one, where a reader needed that
};

class Planner {
 public:
  Planner(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options)
      : options_(options), lowering_(options_) {
    program_.graph = graph;
    program_.checks = std::move(checks);
    region_ = &program_.body;
  }

  Program run() {
    const Graph& graph = program_.graph;
    Schedule order = schedule(graph);
    for (size_t i = 0; i < graph.inputs.size(); ++i) bind_leaf(graph.inputs[i], BufferKind::kInput, i);
    for (const Node* node : order.order)
      if (node->op == &shared_op()) add_shared((*node)[0]);
    for (const Update& update : graph.updates) {
      add_shared(update.variable);
      program_.shared_written[shared_index(update.variable)] = true;
    }

    // What is returned lives to the end; an update's value must be in the variable's buffer then.
    for (size_t p = 0; p < order.order.size(); ++p)
      for (const Expr& input : order.order[p]->inputs) {
        value(input).last_reader = p;
        value(input).is_read = true;
      }
    for (const Expr& root : graph.roots()) {
      value(root).is_read |= value(root).last_reader == kForever;  // by the copy to a second place
      value(root).last_reader = kForever;
    }

    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      const Expr& out = graph.outputs[k];
      add_buffer({BufferKind::kOutput, out.dtype(), out.type().elements(), k, 0, str("output ", k)});
      output_buffers_.push_back(static_cast<int>(program_.buffers.size()) - 1);
      if (!out.node().is_leaf() && !out.node().op->view && value(out).wanted < 0)
        value(out).wanted = output_buffers_.back();
    }
    std::vector<bool> in_place(graph.updates.size(), false);
    for (size_t u = 0; u < graph.updates.size(); ++u) {
      if (!options_.in_place || is_update_of_another(graph, u)) continue;
      for (const Expr& link : order.in_place[u]) {
        value(link).wanted = view_of(graph.updates[u].variable).buffer;
        in_place[u] = true;
      }
    }

    for (position_ = 0; position_ < order.order.size(); ++position_) place(*order.order[position_]);
    finish_outputs();
    finish_updates(in_place);
    program_.memory = plan_memory(program_);
    return std::move(program_);
  }

 private:
  // Numbers of values count the outputs of nodes, in the order in which they are first asked for.
  size_t number_of(const Expr& e) {
    auto [first, fresh] = first_.try_emplace(&e.node(), values_.size());
    if (fresh) values_.resize(values_.size() + e.node().types.size());
    return first + e.output();
  }
  Value& value(const Expr& e) { return values_[number_of(e)]; }  // holds until another value is first asked for
  const BufferView& view_of(const Expr& e) {
    const Value& v = value(e);
    TH_CHECK(v.view, "a value is read before it is computed: ", e.node().op->name);
    return *v.view;
  }

  int add_buffer(Buffer buffer) {
    program_.buffers.push_back(std::move(buffer));
    users_.emplace_back();
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  int add_temporary(const Type& type, std::string name) {
    return add_buffer({BufferKind::kTemporary, type.dtype, type.elements(), 0, 0, std::move(name)});
  }

  void bind_leaf(const Expr& leaf, BufferKind kind, size_t index) {
    int buffer = add_buffer({kind, leaf.dtype(), leaf.type().elements(), index, 0, leaf.name()});
    value(leaf).view = BufferView{buffer, leaf.type(), row_major(leaf.dims())};
  }

  void add_shared(const Expr& leaf) {
    if (value(leaf).view) return;
    bind_leaf(leaf, BufferKind::kShared, program_.shared.size());
    program_.shared.push_back(leaf);
    program_.shared_written.push_back(false);
  }

  size_t shared_index(const Expr& leaf) { return buffer_of(leaf).index; }
  const Buffer& buffer_of(const Expr& e) { return program_.buffers[static_cast<size_t>(view_of(e).buffer)]; }

  // ---- safety ------------------------------------------------------------------------------------------------------

  // Is the value of update u also that of another update or of an output that is computed into its own buffer first?
  static bool is_update_of_another(const Graph& graph, size_t u) {
    for (size_t other = 0; other < u; ++other)
      if (graph.updates[other].value.same(graph.updates[u].value)) return true;
    return false;
  }

  // Does the value lie in the buffer of a variable whose old value it is? (A view that had to be copied does not.)
  bool is_leaf_alias(const Expr& e) {
    return root_of(e)->op == &shared_op() && buffer_of(e).kind == BufferKind::kShared;
  }

  static bool is_elementwise(const Node& node) { return node.op->scalar || node.op->fused; }

  // Is the value computed where the caller will find it, and by nobody read before?
  bool goes_to_caller(const Expr& e, const BufferView& view) {
    return view.buffer >= 0 && program_.buffers[static_cast<size_t>(view.buffer)].kind == BufferKind::kOutput &&
           !value(e).is_read;
  }

  // The buffer of a temporary that dies with this node and that output `o` may take over; -1 if there is none.
  int reusable(const Node& node, size_t o, std::span<const BufferView> inputs) const {
    if (!options_.in_place) return -1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const BufferView& in = inputs[i];
      if (in.buffer < 0 || !may_overwrite(node, o, i) || is_taken(in.buffer)) continue;
      if (program_.buffers[static_cast<size_t>(in.buffer)].kind != BufferKind::kTemporary || depth_ > 0) continue;
      if (!(program_.buffers[static_cast<size_t>(in.buffer)].elements == in.type.elements())) continue;
      if (!in.layout.offset.is(0) || !is_row_major(in.type.dims, in.layout)) continue;
      bool alone = true;
      for (size_t k = 0; k < inputs.size(); ++k)  // nobody else of this node looks at it in another order
        if (k != i && inputs[k].buffer == in.buffer &&
            !(is_elementwise(node) && may_overwrite(node, o, k) && inputs[k].layout.strides == in.layout.strides &&
              inputs[k].layout.offset.is(0) && inputs[k].type == in.type))
          alone = false;
      for (size_t user : users_[static_cast<size_t>(in.buffer)])
        alone = alone && values_[user].last_reader <= position_;  // kForever is larger
      if (alone) return in.buffer;
    }
    return -1;
  }

  // By an earlier output of the node that is being placed?
  bool is_taken(int buffer) const { return std::find(taken_.begin(), taken_.end(), buffer) != taken_.end(); }

  // ---- placing -----------------------------------------------------------------------------------------------------

  void place(const Node& node) {
    if (node.is_leaf()) return;
    if (node.op == &constant_op()) {
      const Tensor& value = node.props.get<Tensor>("value");
      int buffer =
          add_buffer({BufferKind::kConstant, value.dtype(), value.size(), program_.constants.size(), 0, "constant"});
      program_.constants.push_back(value.contiguous());
      set(node[0], {buffer, node.types[0], row_major(node.types[0].dims)});
      return;
    }
    if (node.op == &start_token_op()) return set(node[0], {-1, node.types[0], {}});
    if (node.op->view) {
      BufferView source = view_of(node.inputs[0]);
      if (std::optional<Layout> layout = node.op->view({node, source.layout})) {
        set(node[0], {source.buffer, node.types[0], std::move(*layout)});
        return;
      }
      if (!node.op->lower) {  // a view of the row-major copy
        source = materialized(node.inputs[0]);
        std::optional<Layout> of_copy = node.op->view({node, source.layout});
        TH_CHECK(of_copy, node.op->name, " has no view of a row-major value");
        set(node[0], {source.buffer, node.types[0], std::move(*of_copy)});
        return;
      }
    }
    if (node.op->lower_region) {
      place_region(node);
      return;
    }

    bool calls_back = node.op->calls_reference || (node.op->scalar && !has_scalar_code(node)) ||
                      (!node.op->lower && !node.op->scalar);
    std::vector<BufferView> operands;  // inputs, then outputs
    operands.reserve(node.inputs.size() + node.types.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const BufferView& view = view_of(node.inputs[i]);
      bool fits = view.buffer < 0 || ((!node.op->accepts_layout || node.op->accepts_layout(node, i, view.layout)) &&
                                      (!calls_back || is_row_major(view.type.dims, view.layout)));
      operands.push_back(fits ? view : materialized(node.inputs[i]));
    }
    Placement at{.inputs = {operands.data(), node.inputs.size()}};  // nothing below moves them
    taken_.clear();
    for (size_t o = 0; o < node.types.size(); ++o) {
      const Type& type = node.types[o];
      if (type.kind == TypeKind::kToken) {
        operands.push_back({-1, type, {}});
        continue;
      }
      const int wanted = value(node[o]).wanted;
      int buffer = wanted >= 0 && depth_ == 0 ? wanted : calls_back ? -1 : reusable(node, o, at.inputs);
      if (buffer < 0) buffer = add_temporary(type, node.name.empty() ? node.op->name : node.name);
      taken_.push_back(buffer);
      for (size_t i = 0; o == 0 && i < at.inputs.size(); ++i)
        if (at.inputs[i].buffer == buffer) at.overwrites = static_cast<int>(i);
      at.writes_variable |= program_.buffers[static_cast<size_t>(buffer)].kind == BufferKind::kShared;
      operands.push_back({buffer, type, row_major(type.dims)});
    }
    at.outputs = std::span<const BufferView>(operands).subspan(node.inputs.size());
    at.is_unread = at.overwrites < 0;
    for (size_t o = 0; o < at.outputs.size(); ++o)
      at.is_unread = at.is_unread && goes_to_caller(node[o], at.outputs[o]);
    for (size_t o = 0; o < at.outputs.size(); ++o) set(node[o], at.outputs[o]);
    std::vector<kernel::StepCode> code;
    if (calls_back)
      code.emplace_back(kernel::ReferenceCall{});
    else
      code = lowering_.lower(node, at);
    emit(node, std::move(code), std::move(operands));
  }

  void set(const Expr& e, BufferView view) {
    const size_t number = number_of(e);
    if (view.buffer >= 0) users_[static_cast<size_t>(view.buffer)].push_back(number);
    values_[number].view = std::move(view);
  }

  void emit(const Node& node, std::vector<kernel::StepCode> code, std::vector<BufferView> operands) {
    const std::string comment = comment_of(node);
    for (size_t k = 0; k + 1 < code.size(); ++k)
      region_->items.push_back(Step{&node, comment, operands, node.inputs.size(), std::move(code[k]), node.origin});
    region_->items.push_back(
        Step{&node, comment, std::move(operands), node.inputs.size(), std::move(code.back()), node.origin});
  }

  static std::string comment_of(const Node& node) {
    std::string scope = node.origin.scope ? node.origin.scope->path : std::string();
    return str(node.name.empty() ? "" : str(escaped(node.name), " = "), node.op->name,
               scope.empty() ? "" : str("  [", scope, "]"));
  }

  // Elements of one view into another, as a step of its own.
  void copy(const BufferView& from, const BufferView& to, std::string why, const Origin& origin) {
    for (kernel::StepCode& code : lowering_.copy(from, to))
      region_->items.push_back(Step{nullptr, why, {from, to}, 1, std::move(code), origin});
  }

  BufferView materialized(const Expr& e) {
    const BufferView source = view_of(e);
    if (is_row_major(source.type.dims, source.layout)) return source;
    int& known = value(e).copy;
    if (known >= 0 && depth_ == 0) return {known, e.type(), row_major(e.dims())};
    BufferView dense{add_temporary(e.type(), "copy"), e.type(), row_major(e.dims())};
    copy(source, dense, "row-major copy", e.node().origin);
    if (depth_ == 0) {
      known = dense.buffer;
      users_[static_cast<size_t>(dense.buffer)].push_back(number_of(e));  // other readers will read the copy
    }
    return dense;
  }

  // ---- ends --------------------------------------------------------------------------------------------------------

  BufferView output_view(size_t k) const {
    const Expr& out = program_.graph.outputs[k];
    return {output_buffers_[k], out.type(), row_major(out.dims())};
  }

  void finish_outputs() {
    for (size_t k = 0; k < program_.graph.outputs.size(); ++k) {
      const Expr& out = program_.graph.outputs[k];
      if (out.type().kind == TypeKind::kToken) continue;
      const BufferView& value = view_of(out);
      if (value.buffer == output_buffers_[k]) continue;
      if (is_leaf_alias(out)) {
        // Before the first step: the variable may be overwritten later.
        Region first;
        std::swap(*region_, first);
        copy(value, output_view(k), str("output ", k), out.node().origin);
        for (auto& item : first.items) region_->items.push_back(std::move(item));
      } else {
        copy(value, output_view(k), str("output ", k), out.node().origin);
      }
    }
  }

  void finish_updates(const std::vector<bool>& in_place) {
    const Graph& graph = program_.graph;
    std::vector<std::pair<BufferView, size_t>> late;
    for (size_t u = 0; u < graph.updates.size(); ++u) {
      const Update& update = graph.updates[u];
      BufferView value = view_of(update.value);
      if (in_place[u] && value.buffer == view_of(update.variable).buffer) continue;
      if (is_leaf_alias(update.value)) {
        // The old value of a variable: saved before the first step.
        BufferView saved{add_temporary(update.value.type(), "old value"), update.value.type(),
                         row_major(update.value.dims())};
        Region first;
        std::swap(*region_, first);
        copy(value, saved, "old value", update.value.node().origin);
        for (auto& item : first.items) region_->items.push_back(std::move(item));
        value = saved;
      }
      late.emplace_back(value, u);
    }
    for (const auto& [value, u] : late)
      copy(value, view_of(graph.updates[u].variable), str("update of ", escaped(graph.updates[u].variable.name())),
           graph.updates[u].value.node().origin);
  }

  // ---- regions -----------------------------------------------------------------------------------------------------

  class Builder : public kernel::RegionBuilder {
   public:
    Builder(Planner& planner, const Node& node, std::vector<BufferView> outputs)
        : planner_(planner), node_(node), outputs_(std::move(outputs)) {}
    const Node& node() const override { return node_; }
    kernel::RegionValue input(size_t i) override { return add(planner_.view_of(node_.inputs[i])); }
    kernel::RegionValue output(size_t i) override { return add(outputs_[i]); }
    void copy(kernel::RegionValue from, kernel::RegionValue to) override {
      planner_.copy(views_[static_cast<size_t>(from.id)], views_[static_cast<size_t>(to.id)], "carried value",
                    node_.origin);
    }
    std::vector<kernel::RegionValue> inline_body(const Graph& body,
                                                 std::span<const kernel::RegionValue> inputs) override {
      for (size_t i = 0; i < inputs.size(); ++i)
        planner_.value(body.inputs[i]).view = views_[static_cast<size_t>(inputs[i].id)];
      ++planner_.depth_;
      for (const Node* inner : topological_order(body.outputs)) planner_.place(*inner);
      --planner_.depth_;
      std::vector<kernel::RegionValue> out;
      for (const Expr& e : body.outputs) {
        // A result that is an input's buffer, or another result's, would change under its reader: it gets its own.
        BufferView value = planner_.view_of(e);
        if (e.type().kind == TypeKind::kToken) {
          out.push_back(add(value));
          continue;
        }
        BufferView own{planner_.add_temporary(e.type(), "result"), e.type(), row_major(e.dims())};
        planner_.copy(value, own, "result of the body", e.node().origin);
        out.push_back(add(own));
      }
      return out;
    }
    void loop(const Dim& count, const std::function<void()>& body) override {
      auto region = std::make_shared<Region>();
      Region* outer = planner_.region_;
      planner_.region_ = region.get();
      body();
      planner_.region_ = outer;
      outer->items.push_back(Loop{node_.op->name, count, region});
    }

   private:
    kernel::RegionValue add(BufferView view) {
      views_.push_back(std::move(view));
      return {static_cast<int>(views_.size()) - 1};
    }
    Planner& planner_;
    const Node& node_;
    std::vector<BufferView> outputs_, views_;
  };

  void place_region(const Node& node) {
    std::vector<BufferView> outputs;
    for (size_t o = 0; o < node.types.size(); ++o) {
      if (node.types[o].kind == TypeKind::kToken) {
        outputs.push_back({-1, node.types[o], {}});
        continue;
      }
      const int wanted = value(node[o]).wanted;
      bool own =
          wanted >= 0 && depth_ == 0 && program_.buffers[static_cast<size_t>(wanted)].kind == BufferKind::kOutput;
      outputs.push_back(
          {own ? wanted : add_temporary(node.types[o], node.op->name), node.types[o], row_major(node.types[o].dims)});
    }
    Builder builder(*this, node, outputs);
    node.op->lower_region(builder);
    for (size_t o = 0; o < outputs.size(); ++o) set(node[o], outputs[o]);
  }

  PlanOptions options_;
  Lowering lowering_;
  Program program_;
  Region* region_;
  size_t position_ = 0;
  int depth_ = 0;          // of bodies
  NodeMap<size_t> first_;  // number of a node's first output
  std::vector<Value> values_;
  std::vector<std::vector<size_t>> users_;  // by buffer: the values that live in it
  std::vector<int> taken_;                  // by outputs of the node being placed
  std::vector<int> output_buffers_;
};

}  // namespace

Program plan(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options) {
  return Planner(graph, std::move(checks), options).run();
}

void for_each_step(const Region& region, const std::function<void(const Step&)>& visit) {
  for (const auto& item : region.items) {
    if (const Step* step = std::get_if<Step>(&item))
      visit(*step);
    else
      for_each_step(*std::get<Loop>(item).body, visit);
  }
}

}  // namespace thtrain
