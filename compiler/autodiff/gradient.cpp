#include "compiler/autodiff/gradient.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/escape.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/stable_forms.h"

namespace thtrain {
namespace {

bool differentiable(const Type& type) {
  return type.kind == TypeKind::kTensor && (is_float(type.dtype) || is_complex(type.dtype));
}

std::string described(const Expr& value) {
  std::string name = value.name().empty() ? value.node().op->name : escaped(value.name());
  return readable(str(name, " ", value.type().text()));
}

// The nodes between wrt and outputs: only these need cotangents.
std::unordered_set<const Node*> on_the_way(std::span<const Node* const> order, std::span<const Expr> wrt,
                                           const std::unordered_set<const Node*>& constants) {
  std::unordered_set<const Node*> out;
  for (const Expr& value : wrt) out.insert(&value.node());
  for (const Node* node : order) {
    if (constants.count(node) || out.count(node)) continue;
    for (const Expr& input : node->inputs)
      if (out.count(&input.node())) {
        out.insert(node);
        break;
      }
  }
  return out;
}

}  // namespace

std::vector<Expr> vector_jacobian(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                  std::span<const Expr> wrt, std::span<const Expr> consider_constant) {
  std::vector<const Node*> order = topological_order(outputs);
  std::unordered_set<const Node*> constants;
  for (const Expr& value : consider_constant) constants.insert(&value.node());
  std::unordered_set<const Node*> needed = on_the_way(order, wrt, constants);

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
      [](std::span<const Expr> inner, std::span<const Expr> inner_cotangents, std::span<const Expr> inner_wrt) {
        return vector_jacobian(inner, inner_cotangents, inner_wrt);
      };

  std::unordered_set<const Node*> is_wrt;
  for (const Expr& value : wrt) is_wrt.insert(&value.node());
  for (size_t i = order.size(); i-- > 0;) {
    const Node* node = order[i];
    auto at = cotangents_of.find(node);
    if (at == cotangents_of.end() || !needed.count(node) || constants.count(node) || node->inputs.empty()) continue;
    if (!node->op->gradient) continue;
    InheritOrigin origin(node->origin);
    std::vector<Expr> own;
    for (size_t o = 0; o < node->types.size(); ++o) own.push_back((*node)[o]);
    std::vector<Expr> given = at->second;
    std::vector<Expr> results = node->op->gradient({*node, own, given, differentiate});
    TH_CHECK(results.size() == node->inputs.size(), "the gradient of ", node->op->name, " gives ", results.size(),
             " cotangents");
    for (size_t k = 0; k < results.size(); ++k)
      if (results[k].has_value() && needed.count(&node->inputs[k].node()) && differentiable(node->inputs[k].type()))
        accumulate(node->inputs[k], results[k]);
    if (!is_wrt.count(node)) cotangents_of.erase(node);
  }
  std::vector<Expr> out;
  for (const Expr& value : wrt) {
    auto at = cotangents_of.find(&value.node());
    out.push_back(at == cotangents_of.end() || constants.count(&value.node()) ? Expr() : at->second[value.output()]);
  }
  return out;
}

// What grad needs, whichever form the values have.
struct Differentiation {
  std::vector<Expr> outputs, cotangents, wrt, constants;

  std::vector<Expr> run() const { return vector_jacobian(outputs, cotangents, wrt, constants); }
};

// ---- gradients of the stable forms ---------------------------------------------------------------------------------

// A value that a rewrite must leave a value of its own, so that derivatives can be taken with respect to it, begin at
// it or end at it. Lives while grad does.
static const Op& held_op() {
  static const Op op{.name = "held",
                     .doc = "x, apart from what computes it.",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .gradient = [](const GradientArgs& a) { return std::vector<Expr>{a.cotangent()}; },
                     .foldable = false};
  return op;
}

static bool has_effect(const Node* node) {
  return node->op->has_effect;
}

// The same derivatives of the stable forms; nothing where no form differs. Values in `kept` keep their identity.
static std::optional<std::vector<Expr>> of_stable_forms(const Differentiation& plain, const std::vector<Expr>& kept) {
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
      std::vector<Expr> out;
      auto at = held_of.find(&node);
      if (at == held_of.end()) return out;
      const std::shared_ptr<const Node> made = clone_with_inputs(node, inputs, node.bodies);
      for (size_t o = 0; o < node.types.size(); ++o) out.emplace_back(made, o);
      for (auto [output, number] : at->second)
        out[output] = apply(held_op(), {out[output]}, {{"number", static_cast<int64_t>(number)}});
      return out;
    });
  }
  const std::optional<std::vector<Expr>> forms = stable_forms(roots);
  if (!forms) return std::nullopt;

  // An effect takes place once: where rewriting has touched one, it would be a second.
  std::unordered_set<const Node*> effects;
  for (const Node* node : topological_order(plain.outputs))
    if (has_effect(node)) effects.insert(node);
  std::vector<std::pair<Expr, Expr>> released;
  std::vector<Expr> held(held_values.size());
  for (const Node* node : topological_order(*forms)) {
    if (has_effect(node) && !effects.count(node)) return std::nullopt;
    if (node->op != &held_op()) continue;
    const size_t number = static_cast<size_t>(node->props.get<int64_t>("number"));
    held[number] = (*node)[0];
    released.emplace_back(held[number], held_values[number]);
  }
  // A value that was kept twice is held by two: the outer one.
  auto where_it_is_now = [&](const Expr& value) {
    Expr now = value;
    if (auto at = held_of.find(&value.node()); at != held_of.end())
      for (auto [output, number] : at->second)
        if (output == value.output() && held[number].has_value()) now = held[number];
    return now;
  };
  Differentiation stable{*forms, plain.cotangents, {}, {}};
  for (const Expr& value : plain.wrt) stable.wrt.push_back(where_it_is_now(value));
  for (const Expr& value : plain.constants) stable.constants.push_back(where_it_is_now(value));
  std::vector<Expr> out = stable.run();
  std::vector<Expr> connected;
  std::ranges::copy_if(out, std::back_inserter(connected), [](const Expr& gradient) { return gradient.has_value(); });
  std::vector<Expr> own = values_of_forms(connected);
  if (!released.empty()) own = substitute(own, released);
  for (size_t i = out.size(); i-- > 0;)
    if (out[i].has_value()) {
      out[i] = own.back();
      own.pop_back();
    }
  return out;
}

// Derivatives with respect to some of `wrt`, at `places`, in both forms.
static void add_stable_forms(Differentiation plain, const std::vector<size_t>& places, std::vector<Expr> kept,
                             std::vector<Expr>& gradients) {
  std::vector<Expr> wrt;
  for (size_t i : places) wrt.push_back(plain.wrt[i]);
  plain.wrt = wrt;
  kept.insert(kept.end(), wrt.begin(), wrt.end());
  const std::optional<std::vector<Expr>> stable = of_stable_forms(plain, kept);
  if (!stable) return;
  for (size_t i = 0; i < places.size(); ++i) {
    Expr& gradient = gradients[places[i]];
    if (!gradient.has_value()) continue;
    InheritOrigin origin(gradient.node().origin);
    const Expr other = (*stable)[i].has_value() ? (*stable)[i] : zeros_like(wrt[i]);
    if (other.type() == gradient.type()) gradient = stable_gradient(gradient, other);
  }
}

// The gradients, each with its other form where there is one.
static std::vector<Expr> in_both_forms(const Differentiation& plain) {
  std::vector<Expr> out = plain.run();
  // What is computed on the way to a leaf need not stay what it is; a value that is asked for must.
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
  if (options.known_grads.empty()) require_value(cost, "grad: the cost", where);
  for (const Expr& value : wrt) require_value(value, "grad: what the derivative is taken to", where);
  for (const Expr& value : options.consider_constant) require_value(value, "grad: a constant", where);
  for (const auto& [value, cotangent] : options.known_grads) {
    require_value(value, "grad: a value with a known gradient", where);
    require_value(cotangent, "grad: a known gradient", where);
  }
  std::vector<Expr> outputs, cotangents;
  if (cost.has_value()) {
    if (!cost.type().is_scalar() || !is_float(cost.dtype()))
      throw UserError({.what = "grad: the cost must be a floating scalar",
                       .got = described(cost),
                       .node = cost.node().origin.text(),
                       .config = cost.node().origin.config(),
                       .hint = "take its sum or mean first"});
    InheritOrigin origin(cost.node().origin);
    outputs.push_back(cost);
    cotangents.push_back(make_constant(Tensor(1.0).cast(cost.dtype())));
  }
  for (const auto& [value, cotangent] : options.known_grads) {
    if (!(cotangent.type() == value.type()))
      throw UserError({.what = "grad: a known gradient must have the type of its value",
                       .expected = described(value),
                       .got = described(cotangent)});
    outputs.push_back(value);
    cotangents.push_back(cotangent);
  }
  for (const Expr& value : wrt)
    if (!differentiable(value.type()))
      throw UserError({.what = "grad: derivatives are taken with respect to floating values",
                       .got = described(value),
                       .node = value.node().origin.text(),
                       .hint = "cast it to float before it is used"});
  std::vector<Expr> out = in_both_forms({outputs, cotangents, wrt, options.consider_constant});
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (out[i].has_value()) continue;
    Message message{
        .what = "grad: the cost does not depend on " + described(wrt[i]),
        .node = wrt[i].node().origin.text(),
        .config = wrt[i].node().origin.config(),
        .hint = "leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}"};
    if (options.disconnected == Disconnected::kError) throw UserError(message);
    if (options.disconnected == Disconnected::kWarn)
      std::fprintf(stderr, "warning%s\n", message.text().substr(5).c_str());
    out[i] = zeros_like(wrt[i]);
  }
  return out;
}

Expr grad(const Expr& cost, const Expr& wrt, const GradOptions& options, std::source_location where) {
  return grad(cost, std::vector<Expr>{wrt}, options, where)[0];
}

}  // namespace thtrain
