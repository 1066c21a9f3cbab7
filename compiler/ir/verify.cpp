#include "compiler/ir/verify.h"

#include <unordered_set>

#include "compiler/ir/effects.h"
#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"

namespace thtrain {

// A token is taken once: by the next effect, or as a root. An effect that is not in order yet gives one to nobody.
static void verify_tokens(const Graph& graph, std::span<const Node* const> order, const std::string& after) {
  auto is_token = [](const Expr& value) { return value.type().kind == TypeKind::kToken; };
  NodeMap<int> taken;
  for (const Node* node : order)
    for (const Expr& input : node->inputs)
      if (is_token(input)) ++taken[&input.node()];
  for (const Expr& root : graph.roots())
    if (is_token(root)) ++taken[&root.node()];
  auto expect_once = [&](const Node& node) {
    const int* count = taken.find(&node);
    TH_CHECK(count && *count == 1, "after ", after, ": ", count ? *count : 0, " take the token of ", node.op->name);
  };
  for (const Expr& input : graph.inputs)
    if (is_token(input)) expect_once(input.node());
  for (const Node* node : order) {
    const bool is_in_order = node->op == &start_token_op() || (!node->inputs.empty() && is_token(node->inputs.back()));
    if (is_in_order && is_token((*node)[node->types.size() - 1])) expect_once(*node);
  }
}

static void verify(const Graph& graph, const std::string& after, bool is_body) {
  TH_CHECK(!is_body || graph.updates.empty(), "after ", after, ": a body has updates");
  for (const Update& update : graph.updates) {
    TH_CHECK(is_shared(update.variable), "after ", after, ": an update of ", update.variable.node().op->name);
    TH_CHECK(update.value.type() == update.variable.type(), "after ", after, ": the update of ", update.variable.name(),
             " has the type ", update.value.type().text(), " for ", update.variable.type().text());
  }
  std::unordered_set<const Node*> inputs;
  for (const Expr& input : graph.inputs) inputs.insert(&input.node());
  const std::vector<const Node*> order = topological_order(graph.roots());
  verify_tokens(graph, order, after);
  for (const Node* node : order) {
    if (node->op == &input_op()) {
      TH_CHECK(inputs.count(node), "after ", after, ": ", node->name, " is no input of its graph");
      continue;
    }
    if (node->op == &shared_op()) {
      TH_CHECK(!is_body, "after ", after, ": a body reads the shared variable ", node->name, " past its inputs");
      continue;
    }
    for (const Alias& alias : node->op->aliases)
      TH_CHECK(alias.output < node->types.size() && alias.input < node->inputs.size() &&
                   (!alias.view || node->types[alias.output].dtype == node->inputs[alias.input].dtype()),
               "after ", after, ": ", node->op->name, " has no output ", alias.output, " that could lie in input ",
               alias.input);
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
