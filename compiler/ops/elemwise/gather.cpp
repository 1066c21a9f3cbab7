#include "compiler/ops/elemwise/gather.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"

namespace thtrain {

// Does one index name whole rows, whose elements are those of the result's last axis?
static bool reads_rows(const Node& node) {
  const IndexedAxes form = node.op->gather(node);
  if (form.axes.empty()) return false;
  const IndexedAxes::Axis& last = form.axes.back();
  return !last.of_indices && *last.of_x + 1 == node.inputs[0].rank();
}

bool may_be_gathered(const Node& node, const kernel::FusionLimits& limits) {
  if (!node.op->gather || is_complex(node.types[0].dtype)) return false;
  const Expr& index = node.inputs.back();
  if (is_constant(index) && index.rank() == 0) return false;
  const Dim elements = node.types[0].elements();
  return !elements.is_known() || elements.value() <= limits.single_loads || reads_rows(node);
}

bool reads_through_index(std::span<const Node* const> nodes, const Expr& input) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return node->op->gather &&
           std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Expr& read) { return read.same(input); });
  });
}

kernel::Term gathered(kernel::StepBuilder& b, kernel::Nest& nest, const Node& node, std::span<const Expr> inputs,
                      const std::function<Dims(const Dims&)>& onto) {
  std::vector<kernel::Operand> read;
  for (const Expr& e : node.inputs) {
    const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const Expr& input) { return input.same(e); });
    TH_CHECK(at != inputs.end(), "a gather of what is no input of its loop");
    read.push_back(b.input(static_cast<size_t>(at - inputs.begin())));
  }
  const std::span<const kernel::Operand> indices(read.begin() + 1, read.end());
  const IndexedAxes form = node.op->gather(node);
  const Dims& dims = node.types[0].dims;
  const bool checked = !loops_check_indices(b, form, dims, false);
  if (checked) check_indices(b, node, form, indices);
  nest.operation(0, size_of(node.types[0].dtype));
  const kernel::Location from = indexed_location(nest, node, form, dims, read[0], indices, checked, onto);
  return nest.load(identifier(node.name.empty() ? node.op->name : node.name), from);
}

}  // namespace thtrain
