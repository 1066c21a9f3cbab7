#include "compiler/plan/schedule.h"

#include <queue>
#include <unordered_map>

#include "compiler/ir/op.h"

namespace thtrain {

Schedule schedule(const Graph& graph) {
  std::vector<Expr> roots = graph.roots();
  std::vector<const Node*> nodes = topological_order(roots);
  std::unordered_map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes.size(); ++i) position[nodes[i]] = i;

  // Who looks at each variable's buffer: its readers, and readers of views of it.
  std::unordered_map<const Node*, std::vector<const Node*>> readers = readers_of(nodes);
  auto readers_of_buffer = [&](const Node* leaf) {
    std::vector<const Node*> out, aliases{leaf};
    for (size_t i = 0; i < aliases.size(); ++i)
      for (const Node* reader : readers[aliases[i]]) {
        out.push_back(reader);
        if (reader->op->view && &reader->inputs[0].node() == aliases[i]) aliases.push_back(reader);
      }
    return out;
  };

  std::vector<std::vector<size_t>> hard(nodes.size()), soft(nodes.size());  // successors
  std::vector<size_t> hard_left(nodes.size(), 0), soft_left(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const Expr& input : nodes[i]->inputs) {
      hard[position[&input.node()]].push_back(i);
      ++hard_left[i];
    }
  for (const Update& update : graph.updates) {
    if (update.value.node().is_leaf()) continue;
    size_t writer = position[&update.value.node()];
    for (const Node* reader : readers_of_buffer(&update.variable.node()))
      if (size_t r = position[reader]; r != writer) {
        soft[r].push_back(writer);
        ++soft_left[writer];
      }
  }

  using Queue = std::priority_queue<size_t, std::vector<size_t>, std::greater<>>;
  Queue ready, waiting;  // waiting: only soft edges hold it back
  std::vector<bool> released(nodes.size(), false), done(nodes.size(), false);
  auto offer = [&](size_t i) {
    if (hard_left[i] == 0 && !done[i]) (soft_left[i] == 0 || released[i] ? ready : waiting).push(i);
  };
  for (size_t i = 0; i < nodes.size(); ++i) offer(i);

  Schedule out;
  std::vector<bool> early(nodes.size(), false);
  while (out.order.size() < nodes.size()) {
    size_t i;
    if (!ready.empty()) {
      i = ready.top();
      ready.pop();
    } else {
      // Every node that could go would overwrite what another still reads: the first goes, and not in place.
      TH_CHECK(!waiting.empty(), "the graph has a cycle");
      i = waiting.top();
      waiting.pop();
      if (done[i]) continue;
      if (soft_left[i] != 0) early[i] = true;
    }
    if (done[i]) continue;
    done[i] = true;
    out.order.push_back(nodes[i]);
    for (size_t next : hard[i]) {
      --hard_left[next];
      offer(next);
    }
    for (size_t next : soft[i])
      if (--soft_left[next] == 0) offer(next);
  }
  for (size_t k = 0; k < graph.updates.size(); ++k) {
    const Node* writer = &graph.updates[k].value.node();
    if (!writer->is_leaf() && !early[position[writer]]) out.late_enough.insert(k);
  }
  return out;
}

}  // namespace thtrain
