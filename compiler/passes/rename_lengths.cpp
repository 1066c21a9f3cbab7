#include "compiler/passes/rename_lengths.h"

#include <set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/lengths.h"

namespace thtrain {
namespace {

Dim renamed(const Dim& dim, const LengthMap& map) {
  if (dim.is_known()) return dim;
  return dim.substitute([&](const std::string& name) -> std::optional<Dim> {
    auto at = map.find(name);
    return at == map.end() ? std::nullopt : std::optional<Dim>(at->second);
  });
}

Dims renamed(const Dims& dims, const LengthMap& map) {
  Dims out;
  for (const Dim& dim : dims) out.push_back(renamed(dim, map));
  return out;
}

// Nodes whose properties hold lengths are made anew under the new names.
std::shared_ptr<const Node> with_props(const Node& node, const std::vector<Expr>& inputs,
                                       const std::vector<GraphPtr>& bodies, const LengthMap& map) {
  Props props;
  bool changed = false;
  for (const auto& [name, value] : node.props.all()) {
    const Dims* dims = std::get_if<Dims>(&value);
    Dims fresh = dims ? renamed(*dims, map) : Dims{};
    changed |= dims && !(fresh == *dims);
    props.set(name, dims ? PropValue(fresh) : value);
  }
  if (!changed) return nullptr;
  std::shared_ptr<const Node> out = tagged(make_node(*node.op, inputs, std::move(props), bodies), node.recompute);
  if (node.name.empty()) return out;
  return named(Expr(out), node.name).node_ptr();
}

// "#mask~57" -> "#mask~0", and so on: for the lengths that these values define and that have no other name yet.
void number_definitions(std::span<const Expr> values, size_t& defined, LengthMap& map) {
  for (const Expr& value : values) {
    const std::string name = defined_name(value);
    if (name.empty() || map.contains(name)) continue;
    map.emplace(name, Dim::defined(str(name.substr(0, name.rfind('~')), "~", defined++), nullptr));
  }
}

Rebuilder::Rewrite renaming(const LengthMap& map, size_t* defined);

// With `defined`, how many lengths have been numbered, those of each body get numbers of their own.
GraphPtr renamed_body(const GraphPtr& body, const LengthMap& around, size_t* defined) {
  LengthMap map = around;
  if (defined) number_definitions(body->effects, *defined, map);
  Rebuilder rebuilder;
  std::vector<Expr> inputs;
  bool changed = false;
  for (const Expr& input : body->inputs) {
    Type type = input.type();
    type.dims = renamed(type.dims, map);
    inputs.push_back(type == input.type() ? input : leaf_like(input, type, input.node().serial));
    changed |= !inputs.back().same(input);
    rebuilder.replace(input, inputs.back());
  }
  auto out = std::make_shared<Graph>(
      map_roots(*body, [&](const Expr& root) { return rebuilder.rebuild(root, renaming(map, defined)); }));
  out->inputs = std::move(inputs);
  return changed || !same_roots(*out, *body) ? GraphPtr(out) : body;
}

Rebuilder::Rewrite renaming(const LengthMap& map, size_t* defined) {
  return [&map, defined](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.is_leaf()) return {};
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies) bodies.push_back(renamed_body(body, map, defined));
    std::shared_ptr<const Node> fresh = with_props(node, inputs, bodies, map);
    if (!fresh && bodies != node.bodies) fresh = clone_with_inputs(node, inputs, std::move(bodies));
    return fresh ? outputs_of(*fresh) : std::vector<Expr>();
  };
}

// With `defined` as of renamed_body(), and inputs numbered too.
Graph rename(const Graph& graph, const LengthMap& map, size_t* defined,
             std::span<const std::pair<Expr, Expr>> replacements = {}) {
  Rebuilder rebuilder;
  std::vector<Expr> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Expr& input = graph.inputs[i];
    Type type = input.type();
    type.dims = renamed(type.dims, map);
    uint64_t serial = defined ? i : input.node().serial;
    bool same = type == input.type() && serial == input.node().serial;
    inputs.push_back(same ? input : leaf_like(input, type, serial));
    rebuilder.replace(input, inputs.back());
  }
  for (const auto& [from, to] : replacements) rebuilder.replace(from, to);
  Graph out = map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, renaming(map, defined)); });
  out.inputs = std::move(inputs);
  return out;
}

}  // namespace

Graph rename_lengths(const Graph& graph, const LengthMap& map, std::span<const std::pair<Expr, Expr>> replacements) {
  return rename(graph, map, nullptr, replacements);
}

std::vector<LengthCheck> collect_checks(const Graph& graph) {
  std::vector<LengthCheck> out;
  std::set<std::pair<std::string, std::string>> seen;
  auto keep = [&](std::vector<LengthCheck> found) {
    for (LengthCheck& check : found)
      if (!(check.left == check.right) && seen.emplace(check.left.text(), check.right.text()).second)
        out.push_back(std::move(check));
  };
  for (const Node* node : topological_order(graph.roots())) {
    if (node->is_leaf()) continue;
    std::vector<LengthCheck> found;
    node->op->infer({*node->op, node->inputs, node->props, node->bodies, node->origin, &found});
    keep(std::move(found));
    for (const GraphPtr& body : node->bodies) keep(collect_checks(*body));
  }
  return out;
}

namespace {

std::set<std::string> names_of(const LengthCheck& check) {
  std::set<std::string> names;
  check.left.collect_names(names);
  check.right.collect_names(names);
  return names;
}

// Names "@i~0" and "#mask~0" stand for values that the caller's data decides; all others for lengths of shapes.
bool of_shapes_only(const LengthCheck& check) {
  for (const std::string& name : names_of(check))
    if (name[0] == '@' || name[0] == '#') return false;
  return true;
}

bool is_name(const Dim& dim) {
  std::set<std::string> names;
  dim.collect_names(names);
  return names.size() == 1 && *names.begin() == dim.text();
}

// The equalities between a name and another length, each name solved at most once and expressed in unsolved names.
LengthMap solve(const std::vector<LengthCheck>& checks) {
  LengthMap solved;
  for (const LengthCheck& check : checks) {
    if (!of_shapes_only(check)) continue;
    Dim left = renamed(check.left, solved), right = renamed(check.right, solved);
    if (left == right) continue;
    if (!is_name(left)) std::swap(left, right);
    std::set<std::string> inside;
    right.collect_names(inside);
    if (!is_name(left) || inside.count(left.text())) continue;
    LengthMap one{{left.text(), right}};
    for (auto& entry : solved) entry.second = renamed(entry.second, one);
    solved.emplace(left.text(), right);
  }
  return solved;
}

}  // namespace

CanonicalGraph canonical_lengths(const Graph& graph) {
  CanonicalGraph out;
  LengthMap map;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Expr& input = graph.inputs[i];
    std::set<std::string> names;
    for (const Dim& dim : input.dims()) dim.collect_names(names);
    for (const std::string& name : names) {  // "x~12.0" -> "x~3.0" for input number 3
      size_t mark = name.rfind('~'), dot = name.rfind('.');
      if (mark != std::string::npos && dot != std::string::npos && dot > mark)
        map.emplace(name, Dim::named(str(name.substr(0, mark), "~", i, name.substr(dot))));
    }
    map.emplace(value_name(input.node()), Dim::named(str("@", in_length_name(input.name()), "~", i)));
  }
  size_t defined = 0;
  for (const Node* node : topological_order(graph.roots()))
    if (node->op->defines) number_definitions(outputs_of(*node), defined, map);
  std::vector<LengthCheck> checks = collect_checks(graph);
  LengthMap all = solve(checks);
  for (auto& entry : all) entry.second = renamed(entry.second, map);
  for (const auto& entry : map) all.emplace(entry.first, entry.second);
  out.graph = rename(graph, all, &defined);
  for (LengthCheck& check : checks)
    if (of_shapes_only(check)) out.shape_checks.push_back(std::move(check));
  for (LengthCheck& check : collect_checks(out.graph))
    if (!of_shapes_only(check)) out.value_checks.push_back(std::move(check));
  return out;
}

}  // namespace thtrain
