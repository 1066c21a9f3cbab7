#include "compiler/ir/default_updates.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

bool is_generator(const Expr& value) {
  return is_shared(value) && value.node().shared->is_generator;
}

// Is the input the first value of a state of a loop, whose iterations move it on?
bool is_carried(const Node& node, size_t input) {
  for (size_t o = 0; node.op->overwrites && o < node.types.size(); ++o)
    if (node.op->overwrites(node, o, input)) return true;
  return false;
}

}  // namespace

void give_default_updates(const Expr& variable) {
  TH_CHECK(is_shared(variable), "default updates of something that is no shared variable");
  variable.node().shared->is_generator = true;
}

std::vector<Update> default_updates(const Graph& graph) {
  std::unordered_set<const Node*> updated;
  for (const Update& update : graph.updates) updated.insert(&update.variable.node());
  std::vector<Update> out;
  std::unordered_map<const Node*, size_t> index;
  auto entry_of = [&](const Expr& generator) -> Update& {
    auto [at, fresh] = index.try_emplace(&generator.node(), out.size());
    if (fresh) out.push_back({generator, {}});
    return out[at->second];
  };
  for (const Node* node : topological_order(graph.roots())) {
    const std::optional<Advance>& advance = node->op->advances;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Expr& input = node->inputs[i];
      if (!is_generator(input) || updated.count(&input.node())) continue;
      if (advance && advance->input == i) {
        Update& update = entry_of(input);
        if (!update.value.has_value() || node->serial < update.value.node().serial)
          update.value = (*node)[advance->output];
      } else if (!node->bodies.empty() && !is_carried(*node, i)) {
        entry_of(input);
      }
    }
  }
  return out;
}

}  // namespace thtrain
