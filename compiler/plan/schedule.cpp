#include "compiler/plan/schedule.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/op.h"
#include "compiler/plan/in_place.h"

namespace thtrain {

// For each node, the nodes that must come after it because they name a length that it defines.
static std::vector<std::vector<size_t>> readers_of_lengths(const std::vector<const Node*>& nodes) {
  std::vector<std::vector<size_t>> out(nodes.size());
  std::map<std::string, std::vector<size_t>> definers;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->op->defines)
      for (const DefinedLength& length : nodes[i]->op->defines(*nodes[i])) definers[length.name].push_back(i);
  if (definers.empty()) return out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::set<std::string> names;
    collect_defined_names(*nodes[i], names);
    for (const std::string& name : names)
      if (auto at = definers.find(name); at != definers.end())
        for (size_t definer : at->second)
          if (definer != i) out[definer].push_back(i);
  }
  return out;
}

// Is an output of the reader a view of one of `node`?
static bool views_output_of(const Node& reader, const Node& node) {
  for (size_t o = 0; o < reader.types.size(); ++o)
    if (const Expr value = reader[o]; is_view(value) && &viewed_by(value).node() == &node) return true;
  return false;
}

NodeOrder schedule(const Graph& graph) {
  std::vector<Expr> roots = graph.roots();
  std::vector<const Node*> nodes = topological_order(roots);
  NodeMap<size_t> position;
  position.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) position.try_emplace(nodes[i], i);

  // The nodes that read the variable's buffer: its readers, and the readers of views of it.
  const Readers readers(nodes);
  auto readers_of_buffer = [&](const Node* leaf) {
    std::vector<const Node*> out, aliases{leaf};
    for (size_t i = 0; i < aliases.size(); ++i)
      for (const Node* reader : readers.of(*aliases[i])) {
        out.push_back(reader);
        if (views_output_of(*reader, *aliases[i])) aliases.push_back(reader);
      }
    return out;
  };

  std::vector<std::vector<size_t>> soft(nodes.size());  // writers that come after a node if possible; its readers must
  std::vector<size_t> hard_left(nodes.size(), 0), soft_left(nodes.size(), 0);
  for (const Node* node : nodes)
    for (const Node* reader : readers.of(*node)) ++hard_left[position.at(reader)];
  const std::vector<std::vector<size_t>> named = readers_of_lengths(nodes);
  for (const std::vector<size_t>& after : named)
    for (size_t reader : after) ++hard_left[reader];
  std::unordered_set<const Node*> returned;
  for (const Expr& root : roots) returned.insert(&root.node());
  // An update runs as soon as the last reader of the old value has run, whose data is still in the caches. Leaves and
  // views cost nothing, so they come before updates.
  std::vector<bool> urgent(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) urgent[i] = nodes[i]->is_leaf() || is_view((*nodes[i])[0]);
  std::vector<std::vector<Expr>> chains;
  for (const Update& update : graph.updates) {
    std::vector<Expr>& chain = chains.emplace_back(values_in_place(update, readers, returned));
    std::vector<const Node*> old_readers = readers_of_buffer(&update.variable.node());
    // A value that a reader of the old value is computed from comes before that reader: it cannot be in the buffer.
    for (size_t n = 1; n < chain.size(); ++n)
      if (std::count(old_readers.begin(), old_readers.end(), &chain[n - 1].node())) chain.resize(n);
    for (size_t n = 0; n < chain.size(); ++n) {
      size_t writer = position.at(&chain[n].node());
      urgent[writer] = true;
      auto goes_after = [&](const Node* node) {
        if (size_t first = position.at(node); first != writer) {
          soft[first].push_back(writer);
          ++soft_left[writer];
        }
      };
      for (const Node* reader : old_readers) goes_after(reader);
      // A value in the buffer is computed as late as possible: until then the variable keeps its old value.
      if (n > 0)
        for (const Expr& operand : chain[n - 1].node().inputs) goes_after(&operand.node());
    }
  }

  using Location = std::pair<bool, size_t>;  // the urgent first, then by index
  using Queue = std::priority_queue<Location, std::vector<Location>, std::greater<>>;
  Queue ready, waiting;  // waiting: only soft edges hold it back
  std::vector<bool> done(nodes.size(), false);
  auto offer = [&](size_t i) {
    if (hard_left[i] == 0 && !done[i]) (soft_left[i] == 0 ? ready : waiting).push({!urgent[i], i});
  };
  for (size_t i = 0; i < nodes.size(); ++i) offer(i);

  NodeOrder out;
  std::vector<bool> early(nodes.size(), false);
  while (out.order.size() < nodes.size()) {
    size_t i;
    if (!ready.empty()) {
      i = ready.top().second;
      ready.pop();
    } else {
      // Every node that could run would overwrite a value that is still to be read: the first one runs, not in place.
      TH_CHECK(!waiting.empty(), "the graph has a cycle");
      i = waiting.top().second;
      waiting.pop();
      if (done[i]) continue;
      if (soft_left[i] != 0) early[i] = true;
    }
    if (done[i]) continue;
    done[i] = true;
    out.order.push_back(nodes[i]);
    for (const Node* reader : readers.of(*nodes[i])) {
      const size_t next = position.at(reader);
      --hard_left[next];
      offer(next);
    }
    for (size_t next : named[i]) {
      --hard_left[next];
      offer(next);
    }
    for (size_t next : soft[i])
      if (--soft_left[next] == 0) offer(next);
  }
  for (size_t u = 0; u < graph.updates.size(); ++u) {
    std::vector<Expr>& chain = chains[u];
    size_t n = 0;
    while (n < chain.size() && !early[position.at(&chain[n].node())] &&
           can_update_in_place(chain[n].node(), chain[n].output(), graph.updates[u].variable.node()))
      ++n;
    chain.resize(n);
  }
  out.in_place = std::move(chains);
  return out;
}

}  // namespace thtrain
