// The nest of a row-wise reduction: which loops over a row it becomes is the schedule's matter.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/reduce/row_axes.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

using kernel::StepBuilder;

void lower_rows(StepBuilder& b, const Graph& body, EmptyRows empty) {
  const RowDomain domain = domain_of(body);
  const std::vector<const Node*> nodes = nodes_between(body.inputs, body.outputs);
  std::vector<kernel::NestAxis> axes;
  for (size_t i = 0; i < domain.dims.size(); ++i)
    axes.push_back({domain.dims[i], domain.reduces(i) ? kernel::AxisKind::kReduce : kernel::AxisKind::kParallel});
  kernel::Nest nest(std::move(axes));
  BodyValues values;
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    const Expr& input = body.inputs[k];
    if (!reads_through_index(nodes, input))
      values.set(input, load_value(nest, name_of_input(input, k), location_of_input(domain, nodes, input, b.input(k))));
  }
  nest.work = 1;
  for (const Node* node : nodes) {
    const Expr result = (*node)[0];
    nest.work += node->op->scalar ? weight_of(*node) : 1;
    if (node->op->gather) {
      values.set(result, gathered(b, nest, *node, body.inputs, [&](const Dims& strides) {
                   return is_dropped(domain, result) ? around_reduced(domain, strides) : strides;
                 }));
    } else if (const Reduction* record = reduction_of(*node->op)) {
      nest.operation(0, size_of(accumulation_of(*record, node->inputs[0].dtype()).dtype));
      std::optional<kernel::RuntimeCheck> check;
      if (!record->empty_allowed && empty == EmptyRows::kCheck) check = no_elements_check(*node);
      values.set(result, reduced(nest, identifier(node->name.empty() ? node->op->name : node->name), *record,
                                 values.parts(node->inputs[0]), node->inputs[0].dtype(), std::move(check)));
    } else if (node->op == &dimshuffle_op()) {
      nest.operation(0, size_of(real_dtype(node->types[0].dtype)));
      values.set(result, values.parts(node->inputs[0]));
    } else {
      add_nodes(nest, std::span(&node, 1), values);
    }
  }
  for (size_t o = 0; o < body.outputs.size(); ++o)
    store_value(nest, location_of_output(domain, body.outputs[o], b.output(o)), values.parts(body.outputs[o]));
  kernel::schedule(b, nest, kernel_name(nodes), kernel_comment(nodes, body.inputs, body.outputs));
}

}  // namespace thtrain
