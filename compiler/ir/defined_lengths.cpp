#include "compiler/ir/defined_lengths.h"

#include <functional>
#include <map>
#include <unordered_set>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

void for_each_length(const Node& node, const std::function<void(const Dim&)>& visit) {
  for (const Type& type : node.types)
    for (const Dim& dim : type.dims) visit(dim);
  for (const auto& [name, value] : node.props.all())
    if (const Dims* dims = std::get_if<Dims>(&value))
      for (const Dim& dim : *dims) visit(dim);
  for (const GraphPtr& body : node.bodies)
    for (const Node* inner : topological_order(body->outputs)) for_each_length(*inner, visit);
}

class Definitions {
 public:
  explicit Definitions(const std::vector<Expr>& roots) { search(roots); }

  std::vector<Expr> in_order() {
    for (const auto& [name, value] : by_name_) emit(name);
    return std::move(order_);
  }

 private:
  // The nodes above these roots define first, then those that lengths know.
  void search(const std::vector<Expr>& roots) {
    std::vector<std::shared_ptr<const Node>> known;
    for (const Node* node : topological_order(roots)) {
      if (!seen_.insert(node).second) continue;
      add(*node);
      for_each_length(*node, [&](const Dim& dim) { dim.collect_definers(known); });
    }
    for (const std::shared_ptr<const Node>& definer : known)
      for (const DefinedLength& length : definer->op->defines(*definer))
        if (!by_name_.count(length.name)) search({Expr(definer, length.output)});
  }

  void add(const Node& node) {
    if (node.op->defines)
      for (const DefinedLength& length : node.op->defines(node)) by_name_.try_emplace(length.name, node[length.output]);
  }

  void emit(const std::string& name) {
    if (!emitted_.insert(name).second) return;
    const Expr value = by_name_.at(name);
    std::set<std::string> needed;
    for (const Node* node : topological_order(std::vector{value})) collect_defined_names(*node, needed);
    for (const std::string& other : needed)
      if (by_name_.count(other)) emit(other);
    order_.push_back(value);
  }

  std::map<std::string, Expr> by_name_;
  std::unordered_set<const Node*> seen_;
  std::set<std::string> emitted_;
  std::vector<Expr> order_;
};

}  // namespace

void collect_defined_names(const Node& node, std::set<std::string>& names) {
  for_each_length(node, [&](const Dim& dim) {
    if (!is_data_dependent(dim)) return;
    std::set<std::string> all;
    dim.collect_names(all);
    for (const std::string& name : all)
      if (name[0] == '#') names.insert(name);
  });
}

std::vector<Expr> definitions_of(const std::vector<Expr>& roots) {
  return Definitions(roots).in_order();
}

}  // namespace thtrain
