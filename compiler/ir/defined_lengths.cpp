#include "compiler/ir/defined_lengths.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_set>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

using Names = std::set<std::string>;

void add_defined(const Node& node, Names& names) {
  if (node.op->defines)
    for (const DefinedLength& length : node.op->defines(node)) names.insert(length.name);
}

// The lengths that data decides of the node's types and properties, and of nodes in its bodies. `inside`: the names
// that the bodies around such a node define.
void for_each_length(const Node& node, const std::function<void(const Dim&, const Names& inside)>& visit,
                     const Names& inside = {}) {
  const auto visit_all = [&](const Dims& dims) {
    for (const Dim& dim : dims)
      if (is_data_dependent(dim)) visit(dim, inside);
  };
  for (const Type& type : node.types) visit_all(type.dims);
  for (const auto& [name, value] : node.props.all())
    if (const Dims* dims = std::get_if<Dims>(&value)) visit_all(*dims);
  for (const GraphPtr& body : node.bodies) {
    const std::vector<const Node*> order = topological_order(body->roots());
    Names names = inside;
    for (const Node* inner : order) add_defined(*inner, names);
    for (const Node* inner : order) for_each_length(*inner, visit, names);
  }
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
      for_each_length(*node, [&](const Dim& dim, const Names& inside) {
        std::vector<std::shared_ptr<const Node>> definers;
        dim.collect_definers(definers);
        std::erase_if(definers, [&](const std::shared_ptr<const Node>& definer) {
          Names own;
          add_defined(*definer, own);
          return std::ranges::any_of(own, [&](const std::string& name) { return inside.contains(name); });
        });
        known.insert(known.end(), definers.begin(), definers.end());
      });
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
  for_each_length(node, [&](const Dim& dim, const Names& inside) {
    Names all;
    dim.collect_names(all);
    for (const std::string& name : all)
      if (name[0] == '#' && !inside.contains(name)) names.insert(name);
  });
}

std::string defined_name(const Expr& value) {
  if (value.node().op->defines)
    for (const DefinedLength& length : value.node().op->defines(value.node()))
      if (length.output == value.output()) return length.name;
  return {};
}

size_t number_of_length(const std::string& name) {
  const size_t mark = name.rfind('~');
  TH_CHECK(mark != std::string::npos, "a length without a number: ", name);
  return std::strtoull(name.c_str() + mark + 1, nullptr, 10);
}

std::vector<Expr> definitions_of(const std::vector<Expr>& roots) {
  return Definitions(roots).in_order();
}

std::vector<Expr> needed_definitions(const std::vector<Expr>& roots, const std::vector<Expr>& definitions) {
  if (definitions.empty()) return {};
  std::set<std::string> names;
  std::unordered_set<const Node*> seen;
  const auto read = [&](const std::vector<Expr>& values) {
    for (const Node* node : topological_order(values))
      if (seen.insert(node).second) collect_defined_names(*node, names);
  };
  read(roots);
  std::vector<Expr> out;
  for (size_t i = definitions.size(); i-- > 0;) {  // each needs only lengths of those before it
    if (!names.contains(defined_name(definitions[i]))) continue;
    read({definitions[i]});
    out.insert(out.begin(), definitions[i]);
  }
  return out;
}

}  // namespace thtrain
