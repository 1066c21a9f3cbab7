#include "compiler/autodiff/differentiation.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/escape.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/passes/stable_forms.h"

namespace thtrain {

std::string described(const Expr& value) {
  std::string name = value.name().empty() ? value.node().op->name : escaped(value.name());
  return readable(str(name, " ", value.type().text()));
}

std::string with_call(std::string node, const std::string& name, const std::source_location& where) {
  return with_call(std::move(node), name, Origin::here(where));
}

std::string with_call(std::string node, const std::string& name, const Origin& call) {
  const std::string text = str(name, " is called at ", call.file, ":", call.line);
  if (call.line == 0 || node.ends_with(text)) return node;  // the call that tells of it may be on the same line
  return str(node, node.empty() ? "" : "; ", text);
}

Expr of_type_of(const Expr& value, const Expr& derivative, const DerivativeCall& called, const std::string& what) {
  const Type &given = derivative.type(), &type = value.type();
  bool fits = given.kind == type.kind && given.dtype == type.dtype && given.rank() == type.rank();
  for (size_t i = 0; fits && i < type.rank(); ++i)
    fits = given.dims[i] == type.dims[i] || !given.dims[i].is_known() || !type.dims[i].is_known();
  if (!fits)
    throw UserError({.what = called.what(str(what, " must have the type of its value")),
                     .expected = described(value),
                     .got = described(derivative),
                     .node = called.node(derivative),
                     .config = derivative.node().origin.config()});
  return specify_lengths(Operand(derivative, called.where), type.dims);
}

ValueSet::ValueSet(std::span<const Expr> values) {
  for (const Expr& value : values) insert(value);
}

void ValueSet::insert(const Expr& value) {
  std::vector<bool>& outputs = outputs_[&value.node()];
  outputs.resize(value.node().types.size());
  outputs[value.output()] = true;
}

bool ValueSet::contains(const Node& node, size_t output) const {
  auto at = outputs_.find(&node);
  return at != outputs_.end() && at->second[output];
}

void fail_without_rule(const Node& node, const DerivativeCall& called, const std::string& what) {
  throw UserError({.what = called.what(str("the op ", node.op->name, " has ", what)),
                   .got = str(described(node[0]), ", on which the derivative depends"),
                   .node = called.node(node[0]),
                   .config = node.origin.config(),
                   .hint = "give the op a gradient, or a connection that is false where a result has no derivative; "
                           "stop_gradient(x) takes x as constant"});
}

// Keeps a value apart from what it is computed from, so that no rewrite merges the two: derivatives are taken with
// respect to it, or start or stop there. In graphs only while grad or jvp runs.
static const Op& held_op() {
  static const Op op{.name = "held",
                     .doc = "x, apart from what computes it.",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .gradient = [](const GradientArgs& a) { return std::vector<Expr>{a.cotangent()}; },
                     .jvp = passed_jvp,
                     .foldable = false};
  return op;
}

std::optional<std::vector<Expr>> derivatives_of_stable_forms(const Differentiation& plain,
                                                             const std::vector<Expr>& kept) {
  std::vector<Expr> held_values;
  std::unordered_map<const Node*, std::vector<std::pair<size_t, size_t>>> held_of;  // output, number
  for (const Expr& value : kept)
    if (!value.node().is_leaf()) {
      held_of[&value.node()].emplace_back(value.output(), held_values.size());
      held_values.push_back(value);
    }
  std::vector<Expr> roots = plain.outputs;
  if (!held_values.empty()) {
    Rebuilder rebuilder;
    roots = rebuilder.rebuild(plain.outputs, [&](const Node& node, const std::vector<Expr>& inputs) {
      auto at = held_of.find(&node);
      if (at == held_of.end()) return std::vector<Expr>();
      std::vector<Expr> out = outputs_of(*clone_with_inputs(node, inputs, node.bodies));
      for (auto [output, number] : at->second)
        out[output] = apply(held_op(), {out[output]}, {{"number", static_cast<int64_t>(number)}});
      return out;
    });
  }
  const std::optional<std::vector<Expr>> forms = stable_forms(roots);
  if (!forms) return std::nullopt;

  // A rewritten node with an effect would be a second effect: then there are no stable forms.
  std::unordered_set<const Node*> effects;
  for (const Node* node : topological_order(plain.outputs))
    if (has_effect(*node)) effects.insert(node);
  std::vector<std::pair<Expr, Expr>> released;
  std::vector<Expr> held(held_values.size());
  for (const Node* node : topological_order(*forms)) {
    if (has_effect(*node) && !effects.count(node)) return std::nullopt;
    if (node->op != &held_op()) continue;
    const size_t number = static_cast<size_t>(node->props.get<int64_t>("number"));
    held[number] = (*node)[0];
    released.emplace_back(held[number], held_values[number]);
  }
  // A value that is kept twice is held by two nodes; the outer one stands for it.
  auto where_it_is_now = [&](const Expr& value) {
    Expr now = value;
    if (auto at = held_of.find(&value.node()); at != held_of.end())
      for (auto [output, number] : at->second)
        if (output == value.output() && held[number].has_value()) now = held[number];
    return now;
  };
  Differentiation stable{*forms, {}, {}, plain.rule};
  for (const Expr& value : plain.wrt) stable.wrt.push_back(where_it_is_now(value));
  for (const Expr& value : plain.constants) stable.constants.push_back(where_it_is_now(value));
  std::vector<Expr> out = stable.derivatives();
  std::vector<Expr> connected;
  std::ranges::copy_if(out, std::back_inserter(connected),
                       [](const Expr& derivative) { return derivative.has_value(); });
  if (!released.empty()) connected = substitute(connected, released);
  std::vector<Expr> own = values_of_forms(connected);
  for (size_t i = out.size(); i-- > 0;)
    if (out[i].has_value()) {
      out[i] = own.back();
      own.pop_back();
    }
  return out;
}

}  // namespace thtrain
