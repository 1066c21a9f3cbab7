#include "compiler/ops/elemwise/gather.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

bool may_be_gathered(const Node& node, const kernel::FusionLimits& limits) {
  const GatherRule* rule = node.op->gather;
  if (!rule || is_complex(node.types[0].dtype)) return false;
  const Expr& index = node.inputs[rule->indices];
  if (is_constant(index) && index.rank() == 0) return false;
  const Dim elements = node.types[0].elements();
  return rule->reads_rows(node) || !elements.is_known() || elements.value() <= limits.single_loads;
}

static size_t place_in(std::span<const Expr> inputs, const Expr& e) {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].same(e)) return k;
  TH_CHECK(false, "a gather of what is no input of its loop");
  return 0;
}

bool reads_through_index(std::span<const Node* const> nodes, const Expr& input) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    const GatherRule* rule = node->op->gather;
    return rule && (node->inputs[rule->source].same(input) || node->inputs[rule->indices].same(input));
  });
}

// What a node reads, over the axes of its result: the source without the axis that the positions are along, and those.
namespace {
struct GatherParts {
  kernel::Operand source, indices;
  GatherSteps steps;
  Dim length;  // of the axis
  bool is_checked;
};
}  // namespace

// `last_may_be_empty`: the positions are computed outside the loop over the last axis, where they do not vary along it.
static GatherParts parts_of_gather(StepBuilder& b, const Node& node, size_t source, size_t indices,
                                   bool last_may_be_empty) {
  const GatherRule& rule = *node.op->gather;
  GatherParts out{b.input(source), b.input(indices), rule.steps(node, b.input(source), b.input(indices)),
                  node.inputs[rule.source].dims()[0], false};
  out.length = node.inputs[rule.source].dims()[out.steps.axis];
  const Dims& dims = node.types[0].dims;
  bool all_met = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_met = !out.steps.indices[i].is(0) || dims[i].is_at_least(1);
    all_met =
        all_met && (is_met || (last_may_be_empty && i > 0 && i + 1 == dims.size() && !out.steps.indices[i - 1].is(0)));
    if (!dims[i].is(1)) continue;
    out.steps.source[i] = 0;
    out.steps.indices[i] = 0;
  }
  out.is_checked = !all_met || b.writes_variable();
  if (out.is_checked) check_kernel(b, node, indices, out.steps.check, out.length, out.steps.reports_row);
  return out;
}

Term gathered(StepBuilder& b, kernel::Nest& nest, const Node& node, std::span<const Expr> inputs,
              const std::function<Dims(const Dims&)>& onto) {
  const GatherRule& rule = *node.op->gather;
  GatherParts parts = parts_of_gather(b, node, place_in(inputs, node.inputs[rule.source]),
                                      place_in(inputs, node.inputs[rule.indices]), false);
  nest.operation(0, size_of(node.types[0].dtype));
  Dims reported;
  if (parts.steps.reports_row) {
    reported.assign(node.types[0].rank(), Dim(0));
    reported[0] = node.types[0].dims[0].is(1) ? 0 : 1;
    reported = onto(reported);
  }
  const Dim step = parts.source.layout.strides[parts.steps.axis];
  const Term position = nest.position(index_at(node, parts.steps.check, {parts.indices, onto(parts.steps.indices)},
                                               parts.length, !parts.is_checked, std::move(reported)));
  kernel::Place from{parts.source, onto(parts.steps.source)};
  return nest.load(identifier(node.name.empty() ? node.op->name : node.name), from.at(position, step));
}

void lower_gather(StepBuilder& b, const std::string& comment) {
  const Node& node = b.node();
  const GatherRule& rule = *node.op->gather;
  GatherParts parts = parts_of_gather(b, node, rule.source, rule.indices, true);
  const kernel::Operand out = bits_of(b.output()), source = bits_of(parts.source);
  Dims reported;
  if (parts.steps.reports_row) {
    reported.assign(out.type.rank(), Dim(0));
    reported[0] = 1;
  }
  if (out.type.rank() > node.types[0].rank()) {
    for (Dim& stride : parts.steps.source) stride = stride * 2;
    parts.steps.source.emplace_back(1);
    parts.steps.indices.emplace_back(0);
  }
  kernel::Nest nest(out.type.dims);
  const Term position = nest.position(index_at(node, parts.steps.check, {parts.indices, parts.steps.indices},
                                               parts.length, !parts.is_checked, std::move(reported)));
  const kernel::Place from{source, parts.steps.source};
  nest.store(kernel::placed(out), nest.load("x", from.at(position, source.layout.strides[parts.steps.axis])));
  nest.work = kMoveWork;
  kernel::schedule(b, nest, node.op->name, comment);
}

}  // namespace thtrain
