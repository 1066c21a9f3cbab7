#include "compiler/plan/lowering.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/fused.h"

namespace thtrain {
namespace {

// For each output the input that it is written over; -1: none.
std::vector<int> overwritten(const Placement& at) {
  std::vector<int> out(at.outputs.size(), -1);
  for (size_t o = 0; o < at.outputs.size(); ++o)
    for (size_t i = 0; at.outputs[o].buffer >= 0 && i < at.inputs.size(); ++i)
      if (is_one_location(at.inputs[i], at.outputs[o])) out[o] = static_cast<int>(i);
  return out;
}

// For each input: does it lie where the op would copy it?
std::vector<bool> at_destination(const Node& node, const Placement& at) {
  std::vector<bool> out;
  if (!node.op->destinations) return out;
  BufferView there = at.outputs[0];
  for (Layout& layout : node.op->destinations(node, at.outputs[0].layout)) {
    there.layout = std::move(layout);
    out.push_back(is_one_location(at.inputs[out.size()], there));
  }
  return out;
}

// Appends all that Op::lower may depend on, so that nodes with equal keys have equal code.
class Key {
 public:
  Key(const Node& node, const Placement& at) {
    for (int input : overwritten(at)) number(input);
    for (bool is_there : at_destination(node, at)) number(is_there);
    number(at.writes_variable);
    number(at.is_unread);
    this->node(node);
    for (const Expr& input : node.inputs) {
      number(first_equal(node.inputs, input));
      text(identifier(readable(input.name())));
      if (input.type().is_scalar()) constant(input);  // of a matrix product's factors the values are printed
    }
    for (const GraphPtr& body : node.bodies) graph(*body);
    for (const BufferView& view : at.inputs) operand(view);
    for (const BufferView& view : at.outputs) operand(view);
  }
  std::string take() { return std::move(key_); }

 private:
  void number(int64_t value) { key_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    key_ += value;
  }
  void dim(const Dim& dim) {
    if (dim.is_known()) {
      number(dim.value());
    } else {
      number(-1);
      text(dim.text());
    }
  }
  void type(const Type& type) {
    number(static_cast<int64_t>(type.kind) << 8 | static_cast<int64_t>(type.dtype));
    number(static_cast<int64_t>(type.rank()));
    for (const Dim& length : type.dims) dim(length);
  }
  void operand(const BufferView& view) {
    type(view.type);
    for (const Dim& stride : view.layout.strides) dim(stride);
    number(view.buffer < 0);
  }
  void constant(const Expr& value) {
    const Tensor* tensor = constant_value(value);
    number(tensor != nullptr);
    if (tensor) text(prop_text(*tensor));
  }
  void node(const Node& node) {
    number(reinterpret_cast<intptr_t>(node.op));
    // Kernels name their variables after values, without scopes and numbers of layers.
    text(identifier(node.name));
    number(static_cast<int64_t>(node.props.all().size()));
    for (const auto& [name, value] : node.props.all()) {
      text(name);
      number(static_cast<int64_t>(value.index()));
      text(prop_text(value));
    }
  }
  static int64_t first_equal(std::span<const Expr> values, const Expr& value) {
    return std::find_if(values.begin(), values.end(), [&](const Expr& e) { return e.same(value); }) - values.begin();
  }
  void graph(const Graph& graph) {
    const std::vector<const Node*> order = topological_order(graph.outputs);
    NodeMap<int64_t> location;
    location.reserve(order.size() + graph.inputs.size());
    for (const Expr& input : graph.inputs) {
      location.try_emplace(&input.node(), static_cast<int64_t>(location.size()));
      type(input.type());
      text(identifier(readable(input.name())));
    }
    for (const Node* inner : order) {
      if (!location.try_emplace(inner, static_cast<int64_t>(location.size())).second) continue;
      node(*inner);
      for (const Type& t : inner->types) type(t);
      for (const Expr& e : inner->inputs) {
        number(location.at(&e.node()));
        number(static_cast<int64_t>(e.output()));
      }
      for (const GraphPtr& body : inner->bodies) this->graph(*body);
    }
    number(static_cast<int64_t>(order.size()));
    for (const Expr& e : graph.outputs) {
      number(location.at(&e.node()));
      number(static_cast<int64_t>(e.output()));
    }
  }

  std::string key_;
};

// Gives the messages of checks the origin of this node.
bool has_check(const kernel::StepCode& code) {
  const auto is_check = [](const auto& argument) { return std::holds_alternative<kernel::RuntimeCheck>(argument); };
  if (const auto* library = std::get_if<kernel::LibraryCall>(&code))
    return library->failure || std::ranges::any_of(library->arguments, is_check);
  const kernel::KernelCall* call = std::get_if<kernel::KernelCall>(&code);
  return call && std::ranges::any_of(call->lengths, is_check);
}

std::vector<kernel::Operand> operands_of(std::span<const BufferView> views, size_t first) {
  std::vector<kernel::Operand> out;
  out.reserve(views.size());
  for (const BufferView& view : views) out.push_back({static_cast<int>(first + out.size()), view.type, view.layout});
  return out;
}

// Keeps the last answer.
class Listener : public kernel::Chooser {
 public:
  Listener(const kernel::Chooser& chooser, const kernel::Target& target) : chooser_(chooser), target_(target) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    last_ = chooser_.choose(key);
    const std::optional<Candidate> candidate = find_candidate(key, last_, target_);
    file_ = candidate ? candidate->file : std::string();
    return last_;
  }
  const std::string& last() const { return last_; }
  const std::string& file() const { return file_; }

 private:
  const kernel::Chooser& chooser_;
  const kernel::Target& target_;
  mutable std::string last_, file_;
};

// A complex number is two floats side by side.
BufferView as_pairs(BufferView view) {
  if (!is_complex(view.type.dtype)) return view;
  view.type.dtype = view.type.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  view.type.dims.push_back(2);
  for (Dim& stride : view.layout.strides) stride = stride * Dim(2);
  view.layout.strides.push_back(1);
  return view;
}

}  // namespace

LoweredNode Lowering::lower(const Node& node, const Placement& at) {
  auto [known, fresh] = known_.try_emplace(Key(node, at).take());
  if (!fresh) return known->second;
  std::optional<Listener> listener;
  if (options_.chooser) listener.emplace(*options_.chooser, options_.target);
  kernel::StepBuilder builder(
      node, operands_of(at.inputs, 0), operands_of(at.outputs, at.inputs.size()), options_.target,
      {.overwrites = overwritten(at),
       .at_destination = at_destination(node, at),
       .writes_variable = at.writes_variable,
       .non_temporal_threshold = at.is_unread ? options_.target.non_temporal_threshold(options_.threads) : 0,
       .chooser = listener ? &*listener : nullptr,
       .is_derived = at.is_derived});
  lower_node(builder);
  LoweredNode out{builder.take(), builder.workspaces()};
  if (listener) {
    out.candidate = listener->last();
    out.candidate_file = listener->file();
  }
  // What is derived depends on the steps before.
  const bool derives = std::any_of(out.workspaces.begin(), out.workspaces.end(),
                                   [](const kernel::Workspace& workspace) { return workspace.holds.has_value(); });
  if (derives || std::any_of(out.code.begin(), out.code.end(), has_check))
    known_.erase(known);
  else
    known->second = out;
  return out;
}

std::vector<kernel::StepCode> Lowering::copy(const BufferView& from, const BufferView& to) {
  // A copy is the elementwise loop nest of the identity, which needs an expression: an input stands for the value.
  const BufferView source = as_pairs(from), target = as_pairs(to);
  const Expr stand_in = make_input(source.type, "x");
  const std::vector<Expr> ends{stand_in};
  kernel::StepBuilder builder(stand_in.node(), operands_of({&source, 1}, 0), operands_of({&target, 1}, 1),
                              options_.target);
  lower_elementwise(builder, ends, ends);
  return builder.take();
}

}  // namespace thtrain
