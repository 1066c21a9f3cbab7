#include "compiler/ops/control/body.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

bool contains(const std::vector<Expr>& values, const Expr& value) {
  return std::any_of(values.begin(), values.end(), [&](const Expr& e) { return e.same(value); });
}

// The values from outside that the roots read, in the order in which a walk meets them.
std::vector<Expr> captures_of(const std::vector<Expr>& roots, const std::vector<Expr>& inputs, uint64_t first_serial) {
  std::unordered_set<const Node*> seen;
  for (const Expr& input : inputs) seen.insert(&input.node());
  auto is_outside = [&](const Node& node) {
    return node.op != &constant_op() && (node.is_leaf() || node.serial < first_serial);
  };
  std::vector<Expr> out, stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const Expr value = stack.back();
    stack.pop_back();
    const Node& node = value.node();
    if (contains(inputs, value)) continue;
    if (is_outside(node)) {
      if (!contains(out, value)) out.push_back(value);
    } else if (seen.insert(&node).second) {
      stack.insert(stack.end(), node.inputs.rbegin(), node.inputs.rend());
    }
  }
  return out;
}

}  // namespace

// Each iteration has a length of its own, and outside nobody could tell it.
static void require_lengths_from_outside(std::span<const Expr> results, std::span<const Expr> defined) {
  for (const Expr& result : results)
    for (const Dim& dim : result.dims()) {
      std::set<std::string> names;
      dim.collect_names(names);
      for (const Expr& length : defined)
        if (const std::string name = defined_name(length); names.contains(name))
          throw UserError({.what = "a result of the body of a loop or a branch has a length that the body defines",
                           .expected = "results whose lengths are known outside the body",
                           .got = str(readable(result.type().text()), "; the length ", readable(name), " is ",
                                      length.node().origin.text()),
                           .node = result.node().origin.text(),
                           .config = result.node().origin.config(),
                           .hint = "reduce it inside the body, as sum(x[mask]) does, or keep the length of x: "
                                   "switch_(mask, x, 0)"});
    }
}

Body make_body(const std::vector<Expr>& inputs, const std::function<std::vector<Expr>()>& build,
               const std::source_location& where) {
  return make_body([&] { return BodyParts{inputs, build()}; }, where);
}

Body make_body(const std::function<BodyParts()>& build, const std::source_location& where) {
  const uint64_t first_serial = next_serial();
  BodyParts parts;
  std::vector<Expr> effects;
  {
    EffectScope scope;
    parts = build();
    effects = scope.effects();
  }
  const std::vector<Expr>& inputs = parts.inputs;
  std::vector<Expr> roots = std::move(parts.outputs);
  for (const Expr& result : roots) require_value(result, "a result of the body", where);
  const auto results = static_cast<std::ptrdiff_t>(roots.size());
  roots.insert(roots.end(), effects.begin(), effects.end());
  std::vector<Expr> defined = definitions_of(roots);
  std::erase_if(defined, [&](const Expr& length) { return length.node().serial < first_serial; });
  require_lengths_from_outside(std::span(roots).first(static_cast<size_t>(results)), defined);
  roots.insert(roots.end(), defined.begin(), defined.end());
  Body out{std::make_shared<Graph>(), captures_of(roots, inputs, first_serial)};
  // What was built outside is captured as it is there, also where it follows from a leaf that is replaced inside.
  std::vector<std::pair<Expr, Expr>> replacements = parts.replaced;
  std::erase_if(out.captures, [&](const Expr& value) {
    return std::any_of(parts.replaced.begin(), parts.replaced.end(),
                       [&](const auto& replaced) { return replaced.first.same(value); });
  });
  out.graph->inputs = inputs;
  for (const Expr& value : out.captures) {
    Expr inside = make_input(value.type(), value.name().empty() ? "capture" : value.name(), where);
    replacements.emplace_back(value, inside);
    out.graph->inputs.push_back(inside);
  }
  roots = substitute(roots, replacements);
  out.graph->outputs.assign(roots.begin(), roots.begin() + results);
  out.graph->effects.assign(roots.begin() + results, roots.end());
  return out;
}

std::optional<Expr> kept_for_effects(const Node& node) {
  if (!has_effect(node)) return std::nullopt;
  return node[0];
}

std::vector<Expr> share_captures(std::span<Body> bodies) {
  std::vector<Expr> all;
  for (const Body& body : bodies)
    for (const Expr& value : body.captures)
      if (!contains(all, value)) all.push_back(value);
  for (Body& body : bodies) {
    std::vector<Expr>& inputs = body.graph->inputs;
    const auto first = inputs.end() - static_cast<std::ptrdiff_t>(body.captures.size());
    std::vector<Expr> ordered(inputs.begin(), first);
    for (const Expr& value : all) {
      auto own = std::find_if(body.captures.begin(), body.captures.end(), [&](const Expr& e) { return e.same(value); });
      ordered.push_back(own != body.captures.end()
                            ? first[own - body.captures.begin()]
                            : make_input(value.type(), value.name().empty() ? "capture" : value.name()));
    }
    inputs = std::move(ordered);
    body.captures = all;
  }
  return all;
}

Expr typed_as(const Expr& value, const Type& type, const std::string& whose, const std::source_location& where) {
  if (!value.has_value() || value.type() == type || value.dtype() != type.dtype || value.rank() != type.rank())
    return value;
  for (size_t i = 0; i < type.rank(); ++i) {
    const Dim &own = value.dims()[i], &wanted = type.dims[i];
    if (own.is_known() && wanted.is_known() && !(own == wanted)) return value;
  }
  return specify_lengths(Operand(value, where), type.dims, whose);
}

}  // namespace thtrain
