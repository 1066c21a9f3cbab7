#include "compiler/autodiff/cut_paths.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"

namespace thtrain {
namespace {

class Paths {
 public:
  Paths(std::span<const Expr> outputs, const Expr& value, std::span<const Expr> constants)
      : constants_(constants), reached_(std::span(&value, 1)), passed_(std::span(&value, 1)) {
    for (const Node* node : topological_order(outputs)) follow(*node);
  }

  bool is_reached(const Expr& value) const { return reached_.contains(value); }
  bool is_constant(const Expr& value) const { return constants_.contains(value); }
  /// Does a derivative pass from the value to here?
  bool is_passed(const Expr& value) const { return passed_.contains(value); }

 private:
  void follow(const Node& node) {
    const auto any = [&](const auto& is) { return std::any_of(node.inputs.begin(), node.inputs.end(), is); };
    if (!any([&](const Expr& input) { return is_reached(input); })) return;
    const Connections connected(node);
    for (size_t o = 0; o < node.types.size(); ++o) {
      reached_.insert(node[o]);
      for (size_t i = 0; i < node.inputs.size() && !constants_.contains(node, o); ++i)
        if (is_passed(node.inputs[i]) && connected(i, o)) passed_.insert(node[o]);
    }
  }

  ValueSet constants_, reached_, passed_;
};

// The values nearest to the outputs that a path reaches and no derivative passes, though one reaches their inputs.
std::vector<Expr> cuts(std::span<const Expr> outputs, const Paths& paths) {
  std::vector<Expr> out, open;
  std::unordered_map<const Node*, std::vector<size_t>> seen;
  auto visit = [&](const Expr& value) {
    std::vector<size_t>& before = seen[&value.node()];
    const bool is_new = std::find(before.begin(), before.end(), value.output()) == before.end();
    if (!is_new || !paths.is_reached(value) || paths.is_passed(value)) return;
    before.push_back(value.output());
    open.push_back(value);
  };
  for (const Expr& output : outputs) visit(output);
  for (size_t next = 0; next < open.size(); ++next) {
    const Expr value = open[next];
    const std::vector<Expr>& inputs = value.node().inputs;
    if (paths.is_constant(value) ||
        std::any_of(inputs.begin(), inputs.end(), [&](const Expr& input) { return paths.is_passed(input); }))
      out.push_back(value);
    else
      for (const Expr& input : inputs) visit(input);
  }
  return out;
}

std::string cut_text(const Expr& value, const Paths& paths) {
  constexpr size_t kLength = 60;
  const std::string origin = value.node().origin.text();
  const std::string why = paths.is_constant(value)        ? "it is considered constant"
                          : !differentiable(value.type()) ? "such values have no derivative"
                                                          : "no derivative passes it";
  return str(expr_text(value, kLength), " ", readable(value.type().text()), origin.empty() ? "" : ", ", origin, ": ",
             why);
}

}  // namespace

std::string cut_paths_text(std::span<const Expr> outputs, const Expr& value, std::span<const Expr> constants,
                           const std::string& end) {
  constexpr size_t kMost = 3;
  const std::string name = value.name().empty() ? expr_text(value, 60) : escaped(value.name());
  const Paths paths(outputs, value, constants);
  if (std::none_of(outputs.begin(), outputs.end(), [&](const Expr& e) { return paths.is_reached(e); }))
    return str("no path of the graph leads from ", name, " to ", end);
  std::vector<Expr> at = cuts(outputs, paths);
  if (at.empty()) return "";
  const size_t others = at.size() - std::min(at.size(), kMost);
  at.resize(at.size() - others);
  return str(at.size() + others == 1 ? "the path" : "all paths", " from ", name,
             at.size() == 1 ? " ends at " : " end at ",
             join(at, "\nand at ", [&](const Expr& e) { return cut_text(e, paths); }),
             others > 0 ? str("\nand at ", others, " others") : "");
}

}  // namespace thtrain
