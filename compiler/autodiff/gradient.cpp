#include "compiler/autodiff/gradient.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/autodiff/cut_paths.h"
#include "compiler/autodiff/differentiation.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// The values that have a derivative with respect to some of wrt: only these need cotangents.
ValueSet values_from(std::span<const Node* const> order, std::span<const Expr> wrt, const ValueSet& constants) {
  ValueSet out(wrt);
  for (const Node* node : order) {
    if (std::none_of(node->inputs.begin(), node->inputs.end(), [&](const Expr& e) { return out.contains(e); }))
      continue;
    const Connections connected(*node);
    for (size_t o = 0; o < node->types.size(); ++o)
      for (size_t i = 0; i < node->inputs.size() && !constants.contains(*node, o); ++i)
        if (out.contains(node->inputs[i]) && connected(i, o)) {
          out.insert((*node)[o]);
          break;
        }
  }
  return out;
}

// Of each input of the node: does it need a cotangent, being connected to an output that has one?
std::vector<bool> inputs_that_need(const Node& node, const ValueSet& on_the_way, std::span<const Expr> cotangents) {
  std::vector<bool> out(node.inputs.size());
  const Connections connected(node);
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t o = 0; o < cotangents.size() && on_the_way.contains(node.inputs[i]) && !out[i]; ++o)
      out[i] = cotangents[o].has_value() && connected(i, o);
  return out;
}

// What an output would have by way of an op without a rule, the inputs that it is connected to would have too.
void spread_without_rule(const Node& node, const ValueSet& on_the_way, const ValueSet& constants,
                         ValueSet& without_rule) {
  for (size_t o = 0; o < node.types.size(); ++o) {
    if (!without_rule.contains(node, o) || constants.contains(node, o)) continue;
    const Connections connected(node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (on_the_way.contains(node.inputs[i]) && connected(i, o)) without_rule.insert(node.inputs[i]);
  }
}

}  // namespace

static void check_cotangents(std::span<const Expr> outputs, std::span<const Expr> cotangents) {
  if (outputs.size() != cotangents.size())
    throw UserError({.what = "vector_jacobian: each output has a cotangent, which may be empty",
                     .expected = str(outputs.size()),
                     .got = str(cotangents.size())});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type &type = outputs[i].type(), &given = cotangents[i].has_value() ? cotangents[i].type() : type;
    if (given.dtype != type.dtype || given.rank() != type.rank())
      throw UserError({.what = "vector_jacobian: a cotangent has another type than its output",
                       .expected = described(outputs[i]),
                       .got = described(cotangents[i]),
                       .node = cotangents[i].node().origin.text()});
  }
}

// Where it is given, `without_rule` takes the values whose derivative would pass an op without a rule, which then does
// not pass it.
static std::vector<Expr> vector_jacobian(const DerivativeCall& called, std::span<const Expr> outputs,
                                         std::span<const Expr> cotangents, std::span<const Expr> wrt,
                                         std::span<const Expr> consider_constant, ValueSet* without_rule = nullptr) {
  check_cotangents(outputs, cotangents);
  std::vector<const Node*> order = topological_order(outputs);
  const ValueSet constants(consider_constant), on_the_way = values_from(order, wrt, constants);

  std::unordered_map<const Node*, std::vector<Expr>> cotangents_of;  // one for each output; empty ones are zero
  auto accumulate = [&](const Expr& value, const Expr& cotangent) {
    TH_CHECK(cotangent.type().dtype == value.dtype() && cotangent.rank() == value.rank(), "the cotangent of ",
             value.node().op->name, " has the type ", cotangent.type().text(), " for ", value.type().text());
    auto& list = cotangents_of[&value.node()];
    list.resize(value.node().types.size());
    Expr& sum = list[value.output()];
    sum = sum.has_value() ? add(sum, cotangent) : cotangent;
  };
  for (size_t i = 0; i < outputs.size(); ++i)
    if (cotangents[i].has_value() && differentiable(outputs[i].type())) accumulate(outputs[i], cotangents[i]);

  std::function<std::vector<Expr>(std::span<const Expr>, std::span<const Expr>, std::span<const Expr>)> differentiate =
      [&](std::span<const Expr> inner, std::span<const Expr> inner_cotangents, std::span<const Expr> inner_wrt) {
        return vector_jacobian(called, inner, inner_cotangents, inner_wrt, {});
      };

  std::unordered_set<const Node*> is_wrt;
  for (const Expr& value : wrt) is_wrt.insert(&value.node());
  for (size_t i = order.size(); i-- > 0;) {
    const Node* node = order[i];
    if (without_rule) spread_without_rule(*node, on_the_way, constants, *without_rule);
    auto at = cotangents_of.find(node);
    if (at == cotangents_of.end()) continue;
    std::vector<Expr> given = at->second;
    for (size_t o = 0; o < given.size(); ++o)
      if (constants.contains(*node, o)) given[o] = Expr();
    const std::vector<bool> needs = inputs_that_need(*node, on_the_way, given);
    if (std::find(needs.begin(), needs.end(), true) == needs.end()) continue;
    if (!node->op->gradient) {
      if (!without_rule) fail_without_rule(*node, called, "no rule for its gradient");
      for (size_t k = 0; k < needs.size(); ++k)
        if (needs[k]) without_rule->insert(node->inputs[k]);
      continue;
    }
    const Origin of_gradient = node->origin.of_gradient();
    InheritOrigin origin(of_gradient);
    std::vector<Expr> own;
    for (size_t o = 0; o < node->types.size(); ++o) own.push_back((*node)[o]);
    std::vector<Expr> results = node->op->gradient({*node, own, given, differentiate});
    TH_CHECK(results.size() == node->inputs.size(), "the gradient of ", node->op->name, " gives ", results.size(),
             " cotangents");
    for (size_t k = 0; k < results.size(); ++k)
      if (results[k].has_value() && needs[k]) accumulate(node->inputs[k], results[k]);
    if (!is_wrt.count(node)) cotangents_of.erase(node);
  }
  std::vector<Expr> out;
  for (const Expr& value : wrt) {
    auto at = cotangents_of.find(&value.node());
    out.push_back(at == cotangents_of.end() ? Expr() : at->second[value.output()]);
  }
  return out;
}

static DerivativeCall call_of_grad(const std::source_location& where) {
  return {"grad", "the cost does not depend on", "the cost", where};
}

std::vector<Expr> vector_jacobian(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                  std::span<const Expr> wrt, std::span<const Expr> consider_constant) {
  return vector_jacobian(call_of_grad({}), outputs, cotangents, wrt, consider_constant);
}

// Derivatives with respect to some of `wrt` (at these positions), as written and of the stable forms.
static void add_stable_forms(Differentiation plain, const std::vector<size_t>& indices, std::vector<Expr> kept,
                             std::vector<Expr>& gradients) {
  std::vector<Expr> wrt;
  for (size_t i : indices) wrt.push_back(plain.wrt[i]);
  plain.wrt = wrt;
  kept.insert(kept.end(), wrt.begin(), wrt.end());
  const std::optional<std::vector<Expr>> stable = derivatives_of_stable_forms(plain, kept);
  if (!stable) return;
  for (size_t i = 0; i < indices.size(); ++i) {
    Expr& gradient = gradients[indices[i]];
    if (!gradient.has_value()) continue;
    const Origin of_gradient = gradient.node().origin.of_gradient();
    InheritOrigin origin(of_gradient);
    const Expr other = (*stable)[i].has_value() ? (*stable)[i] : zeros_like(wrt[i]);
    if (other.type() == gradient.type()) gradient = stable_gradient(gradient, other);
  }
}

// Each gradient as a stable_gradient: as written, and that of the stable form, where there is one.
static std::vector<Expr> in_both_forms(const Differentiation& plain) {
  std::vector<Expr> out = plain.derivatives();
  // Inner values may be rewritten where only derivatives with respect to leaves are asked for.
  std::vector<size_t> leaves, inner;
  for (size_t i = 0; i < plain.wrt.size(); ++i)
    if (out[i].has_value()) (plain.wrt[i].node().is_leaf() ? leaves : inner).push_back(i);
  std::vector<Expr> kept = plain.constants;
  for (const Expr& output : plain.outputs)
    if (!output.type().is_scalar() || plain.outputs.size() > 1) kept.push_back(output);
  if (!leaves.empty()) add_stable_forms(plain, leaves, kept, out);
  if (!inner.empty()) add_stable_forms(plain, inner, kept, out);
  return out;
}

std::vector<Expr> grad(const Expr& cost, const std::vector<Expr>& wrt, const GradOptions& options,
                       std::source_location where) {
  const DerivativeCall called = call_of_grad(where);
  if (options.known_grads.empty()) require_value(cost, called.what("the cost"), where);
  return reverse_derivatives(called, cost, wrt, options);
}

std::vector<Expr> reverse_derivatives(const DerivativeCall& called, const Expr& cost, const std::vector<Expr>& wrt,
                                      const GradOptions& options) {
  for (const Expr& value : wrt) require_value(value, called.what("what the derivative is taken to"), called.where);
  for (const Expr& value : options.consider_constant) require_value(value, called.what("a constant"), called.where);
  for (const auto& [value, cotangent] : options.known_grads) {
    require_value(value, called.what("a value with a known gradient"), called.where);
    require_value(cotangent, called.what("a known gradient"), called.where);
  }
  std::vector<Expr> outputs, cotangents;
  if (cost.has_value()) {
    if (!cost.type().is_scalar() || !is_float(cost.dtype()))
      throw UserError({.what = called.what("the cost must be a floating scalar"),
                       .got = described(cost),
                       .node = called.node(cost),
                       .config = cost.node().origin.config(),
                       .hint = "take its sum or mean first"});
    const Origin of_gradient = cost.node().origin.of_gradient();
    InheritOrigin origin(of_gradient);
    outputs.push_back(cost);
    cotangents.push_back(make_constant(Tensor(1.0).cast(cost.dtype())));
  }
  for (const auto& [value, cotangent] : options.known_grads) {
    outputs.push_back(value);
    cotangents.push_back(of_type_of(value, cotangent, called, "a known gradient"));
  }
  for (const Expr& value : wrt)
    if (!differentiable(value.type()))
      throw UserError({.what = called.what("derivatives are taken with respect to floating values"),
                       .got = described(value),
                       .node = called.node(value),
                       .hint = "cast it to float before it is used"});
  const bool passes_ops_without_rule = options.null_gradients != NullGradients::kError;
  ValueSet without_rule;  // of the graph as it is written
  const DifferentiationRule reverse = [&](const Differentiation& d) {
    return vector_jacobian(called, d.outputs, cotangents, d.wrt, d.constants,
                           passes_ops_without_rule ? &without_rule : nullptr);
  };
  std::vector<Expr> out = in_both_forms({outputs, wrt, options.consider_constant, reverse});
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (without_rule.contains(wrt[i])) {
      if (options.null_gradients == NullGradients::kEmpty)
        out[i] = Expr();
      else if (!out[i].has_value())
        out[i] = zeros_like(Operand(wrt[i], called.where));
      continue;
    }
    if (out[i].has_value() || options.disconnected == Disconnected::kEmpty) continue;
    Message message{
        .what = called.what(str(called.dependence, " ", described(wrt[i]))),
        .got = cut_paths_text(outputs, wrt[i], options.consider_constant, called.end),
        .node = called.node(wrt[i]),
        .config = wrt[i].node().origin.config(),
        .hint = "leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}"};
    if (options.disconnected == Disconnected::kError) throw UserError(message);
    if (options.disconnected == Disconnected::kWarn)
      std::fprintf(stderr, "warning%s\n", message.text().substr(5).c_str());
    out[i] = zeros_like(Operand(wrt[i], called.where));
  }
  return out;
}

Expr grad(const Expr& cost, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return grad(cost, std::vector<Expr>{wrt}, options, where)[0];
}

SubgraphGradients subgraph_grad(const std::vector<Expr>& wrt, const std::vector<Expr>& end,
                                const std::vector<std::pair<Expr, Expr>>& start, const Expr& cost,
                                std::source_location where) {
  const DerivativeCall called{"subgraph_grad", "the part does not depend on", "its end", where};
  if (start.empty()) require_value(cost, called.what("without cotangents of the start the cost"), where);
  std::vector<Expr> all = wrt;
  all.insert(all.end(), end.begin(), end.end());
  const std::vector<Expr> gradients = reverse_derivatives(
      called, cost, all, {.consider_constant = end, .known_grads = start, .disconnected = Disconnected::kZero});
  const auto middle = gradients.begin() + static_cast<std::ptrdiff_t>(wrt.size());
  return {{gradients.begin(), middle}, {middle, gradients.end()}};
}

}  // namespace thtrain
