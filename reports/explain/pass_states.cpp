#include "reports/explain/pass_states.h"

#include <algorithm>

namespace thtrain {
namespace {

bool is_in(const Expr& value, const Graph& graph) {
  const std::vector<Expr> roots = graph.roots();
  const std::vector<const Node*> order = topological_order(roots);
  return std::find(order.begin(), order.end(), &value.node()) != order.end();
}

// Graphs of which equal nodes are the same.
class MergedGraphs {
 public:
  Expr merged(const Expr& value) { return rebuilder_.rebuild(value, keep); }
  Graph merged(const Graph& graph) {
    return map_roots(graph, [&](const Expr& root) { return merged(root); });
  }

 private:
  static std::vector<Expr> keep(const Node&, const std::vector<Expr>&) { return {}; }
  Rebuilder rebuilder_{true};
};

}  // namespace

std::vector<PassState> pass_states(const PassChange& change, const Explanation& explanation) {
  std::vector<PassState> out{{*change.before}};
  MergedGraphs graphs;
  Graph now = graphs.merged(*change.before);
  for (const Fired& fired : explanation.fired) {
    if (fired.pass != change.pass->name || out.size() + 1 >= kMostStates) continue;
    const Expr before = graphs.merged(fired.before), after = graphs.merged(fired.after);
    if (before.same(after) || !is_in(before, now)) continue;
    const std::vector<std::pair<Expr, Expr>> replaced{{before, after}};
    now = graphs.merged(substitute(now, replaced));
    out.push_back({now, str(fired.rule, " (", name_of(fired.safety), "): ", short_text(fired.before, change.numbers),
                            " -> ", short_text(fired.after, change.numbers))});
  }
  const bool is_there = out.size() > 1 && same_roots(now, graphs.merged(change.pass->after));
  if (is_there)
    out.back().graph = change.pass->after;
  else
    out.push_back({change.pass->after, change.rules.empty()
                                           ? "the pass rebuilds parts of the graph as a whole"
                                           : "the rest: constants are computed, nodes that nothing needs are gone"});
  return out;
}

}  // namespace thtrain
