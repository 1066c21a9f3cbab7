#include "compiler/autodiff/forward.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_map>

#include "compiler/autodiff/cut_paths.h"
#include "compiler/autodiff/differentiation.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

// The outputs of a node that are among these values and no constants.
std::vector<size_t> outputs_that_move(const Node& node, const ValueSet& values, const ValueSet& constants) {
  std::vector<size_t> out;
  for (size_t o = 0; o < node.types.size(); ++o)
    if (values.contains(node, o) && !constants.contains(node, o)) out.push_back(o);
  return out;
}

// The values that some of the outputs have a derivative with respect to.
ValueSet values_towards(std::span<const Node* const> order, std::span<const Expr> outputs, const ValueSet& constants) {
  ValueSet out;
  for (const Expr& output : outputs)
    if (differentiable(output.type())) out.insert(output);
  for (size_t k = order.size(); k-- > 0;) {
    const Node& node = *order[k];
    const std::vector<size_t> moved = outputs_that_move(node, out, constants);
    if (moved.empty()) continue;
    const Connections connected(node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (std::any_of(moved.begin(), moved.end(), [&](size_t o) { return connected(i, o); }))
        out.insert(node.inputs[i]);
  }
  return out;
}

// ---- an op without a rule ------------------------------------------------------------------------------------------

// A copy of the node on new leaves, so that differentiation ends at its inputs. Constants stay, and so do integers,
// which types may depend on.
std::shared_ptr<const Node> on_leaves(const Node& node, std::vector<std::pair<Expr, Expr>>& replacements) {
  std::vector<Expr> inputs;
  for (const Expr& input : node.inputs) {
    const bool decides_lengths = input.type().is_scalar() && is_int(input.dtype());
    if (is_constant(input) || decides_lengths || input.type().kind != TypeKind::kTensor) {
      inputs.push_back(input);
      continue;
    }
    inputs.push_back(make_input(input.type(), "x"));
    replacements.emplace_back(inputs.back(), input);
  }
  return clone_with_inputs(node, std::move(inputs), node.bodies);
}

std::vector<Expr> differentiate_body_backwards(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                               std::span<const Expr> wrt) {
  return vector_jacobian(outputs, cotangents, wrt);
}

// By two reverse passes: J^T u, and the gradient of <J^T u, tangents> by u. J^T u is linear in u, so that the result
// does not depend on u. Where the expressions do not show that, u is set to 0.
std::vector<Expr> derived_jvp(const Node& node, std::span<const Expr> tangents) {
  std::vector<std::pair<Expr, Expr>> replacements;
  const std::shared_ptr<const Node> alone = on_leaves(node, replacements);
  std::vector<Expr> own, cotangents, seeds;
  for (size_t o = 0; o < alone->types.size(); ++o) {
    own.push_back(Expr(alone, o));
    replacements.emplace_back(own.back(), node[o]);
    cotangents.push_back(differentiable(alone->types[o]) ? make_input(alone->types[o], "u") : Expr());
    if (!cotangents.back().has_value()) continue;
    seeds.push_back(cotangents.back());
    replacements.emplace_back(seeds.back(), zeros_like(seeds.back()));
  }
  const std::function<std::vector<Expr>(std::span<const Expr>, std::span<const Expr>, std::span<const Expr>)>
      backwards = differentiate_body_backwards;
  const std::vector<Expr> products = node.op->gradient({*alone, own, cotangents, backwards});
  std::vector<Expr> connected, directions;
  for (size_t i = 0; i < products.size(); ++i)
    if (products[i].has_value() && tangents[i].has_value()) {
      connected.push_back(products[i]);
      directions.push_back(tangents[i]);
    }
  std::vector<Expr> by_seed = vector_jacobian(connected, directions, seeds);

  std::vector<Expr> present, out(node.types.size());
  std::ranges::copy_if(by_seed, std::back_inserter(present), [](const Expr& value) { return value.has_value(); });
  present = substitute(present, replacements);
  for (size_t o = out.size(), k = seeds.size(), next = present.size(); o-- > 0;)
    if (cotangents[o].has_value() && by_seed[--k].has_value()) out[o] = present[--next];
  return out;
}

std::vector<Expr> jacobian_vector_for(const DerivativeCall& called, std::span<const Expr> outputs,
                                      std::span<const Expr> wrt, std::span<const Expr> tangents,
                                      std::span<const Expr> consider_constant);

// The tangents of a node's outputs, each of its output's type or empty.
std::vector<Expr> tangents_of_node(const DerivativeCall& called, const Node& node, std::span<const Expr> tangents) {
  const Origin of_gradient = node.origin.of_gradient();
  InheritOrigin origin(of_gradient);
  std::vector<Expr> out;
  if (node.op->jvp) {
    const std::function<std::vector<Expr>(std::span<const Expr>, std::span<const Expr>, std::span<const Expr>)> body =
        [&](std::span<const Expr> outputs, std::span<const Expr> wrt, std::span<const Expr> directions) {
          return jacobian_vector_for(called, outputs, wrt, directions, {});
        };
    out = node.op->jvp({node, outputs_of(node), tangents, body});
  } else {
    if (!node.op->gradient) fail_without_rule(node, called, "neither a rule of forward mode nor one for its gradient");
    out = derived_jvp(node, tangents);
  }
  TH_CHECK(out.size() == node.types.size(), "the jvp of ", node.op->name, " gives ", out.size(), " tangents");
  for (size_t o = 0; o < out.size(); ++o) {
    if (!out[o].has_value()) continue;
    const Type& type = node.types[o];
    TH_CHECK(out[o].dtype() == type.dtype && out[o].rank() == type.rank(), "the tangent of ", node.op->name,
             " has the type ", out[o].type().text(), " for ", type.text());
    if (out[o].dims() != type.dims) out[o] = specify_lengths(out[o], type.dims);  // another name for an equal length
  }
  return out;
}

std::vector<Expr> jacobian_vector_for(const DerivativeCall& called, std::span<const Expr> outputs,
                                      std::span<const Expr> wrt, std::span<const Expr> tangents,
                                      std::span<const Expr> consider_constant) {
  const std::vector<const Node*> order = topological_order(outputs);
  const ValueSet constants(consider_constant), needed = values_towards(order, outputs, constants);

  std::unordered_map<const Node*, std::vector<Expr>> tangents_of;  // one for each output; empty ones are zero
  auto accumulate = [&](const Expr& value, const Expr& tangent) {
    if (!needed.contains(value) || !tangent.has_value()) return;
    std::vector<Expr>& list = tangents_of[&value.node()];
    list.resize(value.node().types.size());
    Expr& sum = list[value.output()];
    sum = sum.has_value() ? add(sum, tangent) : tangent;
  };
  auto tangent_of = [&](const Expr& value) {
    auto at = tangents_of.find(&value.node());
    return at == tangents_of.end() ? Expr() : at->second[value.output()];
  };
  for (size_t i = 0; i < wrt.size(); ++i) accumulate(wrt[i], tangents[i]);
  for (const Node* node : order) {
    const std::vector<size_t> moved = outputs_that_move(*node, needed, constants);
    if (moved.empty() || node->inputs.empty()) continue;
    std::vector<Expr> given(node->inputs.size());
    bool any = false;
    const Connections connected(*node);
    for (size_t i = 0; i < given.size(); ++i) {
      if (std::any_of(moved.begin(), moved.end(), [&](size_t o) { return connected(i, o); }))
        given[i] = tangent_of(node->inputs[i]);
      any = any || given[i].has_value();
    }
    if (!any) continue;
    const std::vector<Expr> results = tangents_of_node(called, *node, given);
    for (size_t o : moved) accumulate((*node)[o], results[o]);
  }
  std::vector<Expr> out;
  for (const Expr& output : outputs) out.push_back(tangent_of(output));
  return out;
}

DerivativeCall call_of_jvp(const std::source_location& where) {
  return {"jvp", "no output depends on", "the outputs", where};
}

}  // namespace

std::vector<Expr> jacobian_vector(std::span<const Expr> outputs, std::span<const Expr> wrt,
                                  std::span<const Expr> tangents, std::span<const Expr> consider_constant) {
  return jacobian_vector_for(call_of_jvp({}), outputs, wrt, tangents, consider_constant);
}

// ---- what users call -----------------------------------------------------------------------------------------------

static void require_differentiable(const DerivativeCall& called, const Expr& value, const std::string& what) {
  if (!differentiable(value.type()))
    throw UserError({.what = called.what(what),
                     .got = described(value),
                     .node = called.node(value),
                     .config = value.node().origin.config(),
                     .hint = "cast it to float before it is used"});
}

static void require_as_many(const DerivativeCall& called, size_t values, size_t vectors, const std::string& which) {
  if (values != vectors)
    throw UserError({.what = called.what(str("there must be as many ", which)),
                     .expected = std::to_string(values),
                     .got = std::to_string(vectors),
                     .node = with_call("", called.name, called.origin)});
}

static void report_disconnected(Message message, Disconnected how) {
  if (how == Disconnected::kError) throw UserError(message);
  if (how == Disconnected::kWarn) std::fprintf(stderr, "warning%s\n", message.text().substr(5).c_str());
}

static void check_connections(const DerivativeCall& called, const Differentiation& d, const std::vector<Expr>& tangents,
                              Disconnected how) {
  const ValueSet needed = values_towards(topological_order(d.outputs), d.outputs, ValueSet(d.constants));
  const std::string hint = "ask for zeros with JvpOptions{.disconnected = Disconnected::kZero}";
  for (const Expr& value : d.wrt)
    if (!needed.contains(value))
      report_disconnected({.what = called.what(str(called.dependence, " ", described(value))),
                           .got = cut_paths_text(d.outputs, value, d.constants, called.end),
                           .node = called.node(value),
                           .config = value.node().origin.config(),
                           .hint = "leave it out of wrt, or " + hint},
                          how);
  for (size_t i = 0; i < d.outputs.size(); ++i)
    if (!tangents[i].has_value())
      report_disconnected({.what = called.what(str(described(d.outputs[i]), " depends on nothing in wrt")),
                           .node = called.node(d.outputs[i]),
                           .config = d.outputs[i].node().origin.config(),
                           .hint = "leave it out of the outputs, or " + hint},
                          how);
}

// Each tangent as a stable_gradient: as written, and that of the output's stable form, where there is one.
static void add_stable_forms(const Differentiation& plain, std::vector<Expr>& tangents) {
  std::vector<Expr> kept = plain.constants;
  kept.insert(kept.end(), plain.wrt.begin(), plain.wrt.end());
  const std::optional<std::vector<Expr>> stable = derivatives_of_stable_forms(plain, kept);
  if (!stable) return;
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].has_value()) continue;
    const Origin of_gradient = tangents[i].node().origin.of_gradient();
    InheritOrigin origin(of_gradient);
    const Expr other = (*stable)[i].has_value() ? (*stable)[i] : zeros_like(plain.outputs[i]);
    if (other.type() == tangents[i].type()) tangents[i] = stable_gradient(tangents[i], other);
  }
}

std::vector<Expr> jvp(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt, const std::vector<Expr>& tangents,
                      const JvpOptions& options, std::source_location where) {
  return forward_derivatives(call_of_jvp(where), outputs, wrt, tangents, options);
}

std::vector<Expr> forward_derivatives(const DerivativeCall& called, const std::vector<Expr>& outputs,
                                      const std::vector<Expr>& wrt, const std::vector<Expr>& tangents,
                                      const JvpOptions& options) {
  for (const Expr& value : outputs) require_value(value, called.what("an output"), called.where);
  for (const Expr& value : wrt) require_value(value, called.what("what the derivative is taken to"), called.where);
  for (const Expr& value : tangents) require_value(value, called.what("a tangent"), called.where);
  for (const Expr& value : options.consider_constant) require_value(value, called.what("a constant"), called.where);
  require_as_many(called, wrt.size(), tangents.size(), "tangents as values in wrt");
  for (const Expr& value : outputs) require_differentiable(called, value, "derivatives are taken of floating values");
  for (const Expr& value : wrt)
    require_differentiable(called, value, "derivatives are taken with respect to floating values");
  std::vector<Expr> directions;
  for (size_t i = 0; i < wrt.size(); ++i) directions.push_back(of_type_of(wrt[i], tangents[i], called, "a tangent"));

  const DifferentiationRule forward = [&](const Differentiation& d) {
    return jacobian_vector_for(called, d.outputs, d.wrt, directions, d.constants);
  };
  const Differentiation plain{outputs, wrt, options.consider_constant, forward};
  std::vector<Expr> out = plain.derivatives();
  check_connections(called, plain, out, options.disconnected);
  add_stable_forms(plain, out);
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i].has_value() && options.disconnected != Disconnected::kEmpty)
      out[i] = zeros_like(Operand(outputs[i], called.where));
  return out;
}

Expr jvp(const Expr& output, const Expr& wrt, const Expr& tangent, const JvpOptions& options,
         std::source_location where) {
  return jvp(std::vector<Expr>{output}, std::vector<Expr>{wrt}, std::vector<Expr>{tangent}, options, where)[0];
}

std::vector<Expr> vjp(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                      const std::vector<Expr>& cotangents, const GradOptions& options, std::source_location where) {
  return derivatives_of_cotangents({"vjp", "no output depends on", "the outputs", where}, outputs, wrt, cotangents,
                                   options);
}

std::vector<Expr> derivatives_of_cotangents(const DerivativeCall& called, const std::vector<Expr>& outputs,
                                            const std::vector<Expr>& wrt, const std::vector<Expr>& cotangents,
                                            const GradOptions& options) {
  for (const Expr& value : outputs) require_value(value, called.what("an output"), called.where);
  for (const Expr& value : cotangents) require_value(value, called.what("a cotangent"), called.where);
  require_as_many(called, outputs.size(), cotangents.size(), "cotangents as outputs");
  GradOptions given = options;
  for (size_t i = 0; i < outputs.size(); ++i)
    given.known_grads.emplace_back(outputs[i], of_type_of(outputs[i], cotangents[i], called, "a cotangent"));
  return reverse_derivatives(called, Expr(), wrt, given);
}

Expr vjp(const Expr& output, const Expr& wrt, const Expr& cotangent, const GradOptions& options,
         std::source_location where) {
  return vjp(std::vector<Expr>{output}, std::vector<Expr>{wrt}, std::vector<Expr>{cotangent}, options, where)[0];
}

}  // namespace thtrain
