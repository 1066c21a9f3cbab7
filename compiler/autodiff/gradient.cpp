#include "compiler/autodiff/gradient.h"

#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/escape.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

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
  std::vector<Expr> out = vector_jacobian(outputs, cotangents, wrt, options.consider_constant);
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
