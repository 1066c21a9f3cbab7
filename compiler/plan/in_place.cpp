#include "compiler/plan/in_place.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

bool may_overwrite(const Node& node, size_t output, size_t input) {
  const Op& op = *node.op;
  if (!(node.types[output] == node.inputs[input].type())) return false;
  if (std::any_of(op.aliases.begin(), op.aliases.end(),
                  [&](const Alias& alias) { return alias.output == output && alias.input == input && !alias.view; }))
    return true;
  if (op.overwrites) return op.overwrites(node, output, input);
  return (op.scalar || op.fused) && access_of(node, input) <= Access::kRow;
}

bool can_update_in_place(const Node& node, size_t output, const Node& variable) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (root_of(node.inputs[i]) != &variable) continue;
    if (&node.inputs[i].node() != &variable || !may_overwrite(node, output, i)) return false;
  }
  return true;
}

std::vector<Expr> values_in_place(const Update& update, const Readers& readers,
                                  const std::unordered_set<const Node*>& returned) {
  auto is_computed = [](const Expr& value) { return !value.node().is_leaf() && !is_view(value); };
  // `reader` is the only reader of the value, and reads it once.
  auto has_single_use = [&](const Expr& value, const Node& reader) {
    return !returned.count(&value.node()) && readers.of(value.node()).size() == 1 &&
           std::count_if(reader.inputs.begin(), reader.inputs.end(), [&](const Expr& e) { return e.same(value); }) == 1;
  };
  std::vector<Expr> out;
  if (!is_computed(update.value)) return out;
  out.push_back(update.value);
  while (true) {
    const Expr value = out.back();
    const Node& node = value.node();
    Expr below;
    for (size_t i = 0; i < node.inputs.size() && !below.has_value(); ++i)
      if (is_computed(node.inputs[i]) && may_overwrite(node, value.output(), i) && has_single_use(node.inputs[i], node))
        below = node.inputs[i];
    if (!below.has_value()) return out;
    out.push_back(below);
  }
}

}  // namespace thtrain
