#include "compiler/ops/reduce/row_axes.h"

#include <algorithm>

#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

bool is_dropped(const RowDomain& domain, const Expr& e) {
  return e.rank() < domain.dims.size() && e.dims() == domain.dropped();
}

namespace {

// Is an input read as a per-row scalar whose axis was dropped? Otherwise it is aligned to the domain.
bool reads_dropped(const RowDomain& domain, std::span<const Node* const> nodes, const Expr& input) {
  for (const Node* node : nodes)
    for (const Expr& e : node->inputs)
      if (e.same(input) && (is_dropped(domain, (*node)[0]) || node->op == &dimshuffle_op()) && !reduction_of(*node->op))
        return true;
  return false;
}

}  // namespace

Access access_by_slices(const Node& node, size_t input) {
  const Graph& body = *node.bodies[0];
  const Expr& value = body.inputs[input];
  const std::vector<const Node*> nodes = nodes_between(body.inputs, body.outputs);
  for (const Node* reader : nodes)
    for (size_t i = 0; i < reader->inputs.size(); ++i)
      if (reader->inputs[i].same(value) && access_of(*reader, i) > Access::kRow) return access_of(*reader, i);
  const RowDomain domain = domain_of(body);
  if (reads_dropped(domain, nodes, value)) return Access::kRow;
  const size_t lead = domain.dims.size() - value.rank();
  for (size_t axis = 0; axis < domain.dims.size(); ++axis) {
    const bool is_of_slice = domain.reduces(axis) || domain.dims[axis].is(1);
    if (!is_of_slice && (axis < lead || !(value.dims()[axis - lead] == domain.dims[axis]))) return Access::kWhole;
  }
  return Access::kRow;
}

Dims around_reduced(const RowDomain& domain, const Dims& over) {
  Dims out(domain.dims.size(), Dim(0));
  for (size_t i = 0, next = 0; i < out.size(); ++i)
    if (!domain.reduces(i)) out[i] = over[next++];
  return out;
}

static kernel::Location location_of(const RowDomain& domain, const kernel::Operand& operand, bool dropped) {
  return {operand, dropped ? around_reduced(domain, strides_over(domain.dropped(), operand))
                           : strides_over(domain.dims, operand)};
}

kernel::Location location_of_input(const RowDomain& domain, std::span<const Node* const> nodes, const Expr& input,
                                   const kernel::Operand& operand) {
  return location_of(domain, operand, reads_dropped(domain, nodes, input));
}

kernel::Location location_of_output(const RowDomain& domain, const Expr& output, const kernel::Operand& operand) {
  return location_of(domain, operand, is_dropped(domain, output));
}

}  // namespace thtrain
