#include "compiler/ops/index/scatter.h"

namespace thtrain {

Elements elements_of_input(kernel::StepBuilder& b, size_t i) {
  const kernel::Operand from = parts_of(b.input(i));
  return {from.type.dims, "", str("in", i), kMoveWork,
          [from](kernel::Nest& nest) { return nest.load("x", kernel::placed(from)); }};
}

static Dim bytes_moved(const Dim& elements, const Node& node, int64_t times) {
  return elements * Dim(times * static_cast<int64_t>(size_of(node.types[0].dtype)));
}

Cost scatter_cost(const Node& node) {
  const Dim elements = node.inputs[2].type().elements();
  return {elements, bytes_moved(elements, node, 3)};
}

Cost gather_cost(const Node& node) {
  return {0, bytes_moved(node.types[0].elements(), node, 2)};
}

bool is_no_index(const Node&, size_t input, size_t) {
  return input != 1;
}

}  // namespace thtrain
