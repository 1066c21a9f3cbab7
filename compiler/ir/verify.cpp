#include "compiler/ir/verify.h"

#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ir/print.h"

namespace thtrain {

static void verify(const Graph& graph, const std::string& after, bool is_body) {
  TH_CHECK(!is_body || graph.updates.empty(), "after ", after, ": a body has updates");
  for (const Update& update : graph.updates) {
    TH_CHECK(is_shared(update.variable), "after ", after, ": an update of ", update.variable.node().op->name);
    TH_CHECK(update.value.type() == update.variable.type(), "after ", after, ": the update of ", update.variable.name(),
             " has the type ", update.value.type().text(), " for ", update.variable.type().text());
  }
  std::unordered_set<const Node*> inputs;
  for (const Expr& input : graph.inputs) inputs.insert(&input.node());
  for (const Node* node : topological_order(graph.roots())) {
    if (node->op == &input_op()) {
      TH_CHECK(inputs.count(node), "after ", after, ": ", node->name, " is no input of its graph");
      continue;
    }
    if (node->op == &shared_op()) {
      TH_CHECK(!is_body, "after ", after, ": a body reads the shared variable ", node->name, " past its inputs");
      continue;
    }
    std::vector<Type> types =
        node->op->infer({*node->op, node->inputs, node->props, node->bodies, node->origin, nullptr});
    TH_CHECK(types.size() == node->types.size(), "after ", after, ": ", node->op->name, " has ", node->types.size(),
             " outputs");
    for (size_t i = 0; i < types.size(); ++i)
      TH_CHECK(types[i] == node->types[i], "after ", after, ": ", expr_text((*node)[i]), " has the type ",
               node->types[i].text(), ", its rule says ", types[i].text());
    for (const GraphPtr& body : node->bodies) verify(*body, after, true);
  }
}

void verify(const Graph& graph, const std::string& after) {
  verify(graph, after, false);
}

}  // namespace thtrain
