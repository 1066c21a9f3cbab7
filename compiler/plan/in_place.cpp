#include "compiler/plan/in_place.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/linalg/fused_product.h"

namespace thtrain {

bool may_overwrite(const Node& node, size_t output, size_t input) {
  if (!(node.types[output] == node.inputs[input].type())) return false;
  if (node.op->scalar) return true;
  if (node.op->overwrites) return node.op->overwrites(node, output, input);
  if (node.op->fused && node.op->may_overwrite.empty()) return !is_gathered(node, input) && !is_multiplied(node, input);
  return output == 0 && std::count(node.op->may_overwrite.begin(), node.op->may_overwrite.end(), input) != 0;
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
  auto is_computed = [](const Expr& value) { return !value.node().is_leaf() && !value.node().op->view; };
  // Nobody but `reader` looks at the value, and it does so once.
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
