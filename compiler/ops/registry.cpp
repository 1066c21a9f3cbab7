#include "compiler/ops/registry.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace thtrain {

#define TH_FAMILY(name)
#define TH_OP(function) const Op& function();
#include "compiler/ops/op_list.inc"
#undef TH_OP
#undef TH_FAMILY

const std::vector<const Op*>& all_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> out;
#define TH_FAMILY(name)
#define TH_OP(function) out.push_back(&function());
#include "compiler/ops/op_list.inc"
#undef TH_OP
#undef TH_FAMILY
    return out;
  }();
  return ops;
}

const Op* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const Op*> by_name = [] {
    std::unordered_map<std::string_view, const Op*> out;
    for (const Op* op : all_ops()) out.emplace(op->name, op);
    return out;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::string_view family_of(const Op& op) {
  static const std::unordered_map<const Op*, std::string_view> families = [] {
    std::unordered_map<const Op*, std::string_view> out;
    std::string_view family;
#define TH_FAMILY(name) family = #name;
#define TH_OP(function) out.emplace(&function(), family);
#include "compiler/ops/op_list.inc"
#undef TH_OP
#undef TH_FAMILY
    return out;
  }();
  auto found = families.find(&op);
  return found == families.end() ? std::string_view() : found->second;
}

namespace {

void collect_user_ops(const Graph& graph, std::unordered_set<const Op*>& listed, UserOps& out) {
  for (const Node* node : topological_order(graph.roots())) {
    for (const GraphPtr& body : node->bodies) collect_user_ops(*body, listed, out);
    if (listed.count(node->op)) continue;
    if (find_op(node->op->name) == node->op) {
      listed.insert(node->op);
      continue;
    }
    if (std::find(out.ops.begin(), out.ops.end(), node->op) == out.ops.end()) out.ops.push_back(node->op);
    out.have_versions = out.have_versions && !node->props.get_or("version", std::string()).empty();
  }
}

}  // namespace

UserOps user_ops_of(const Graph& graph) {
  std::unordered_set<const Op*> listed;  // known to be in the list
  UserOps out;
  collect_user_ops(graph, listed, out);
  return out;
}

}  // namespace thtrain
