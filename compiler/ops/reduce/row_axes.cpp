#include "compiler/ops/reduce/row_axes.h"

#include <algorithm>

#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool is_dropped(const RowDomain& domain, const Expr& e) {
  return e.rank() < domain.dims.size() && e.dims() == domain.dropped();
}

// Is an input read as a number of each row whose axis was dropped? Otherwise it is aligned to the domain.
bool reads_dropped(const RowDomain& domain, std::span<const Node* const> nodes, const Expr& input) {
  for (const Node* node : nodes)
    for (const Expr& e : node->inputs)
      if (e.same(input) && (is_dropped(domain, (*node)[0]) || node->op == &dimshuffle_op()) && !reduction_of(*node->op))
        return true;
  return false;
}

// Strides of what has a number for each row, over the domain.
Dims around_reduced(const RowDomain& domain, const Dims& over) {
  Dims out(domain.dims.size(), Dim(0));
  for (size_t i = 0, next = 0; i < out.size(); ++i)
    if (!domain.reduces(i)) out[i] = over[next++];
  return out;
}

}  // namespace

RowAxes row_axes(const RowDomain& domain, const Graph& body, std::span<const Node* const> nodes,
                 std::span<const kernel::Operand> operands, std::span<const Gather> gathers) {
  std::vector<Dims> strides;
  for (size_t k = 0; k < operands.size(); ++k) {
    bool is_input = k < body.inputs.size();
    bool dropped = is_input ? reads_dropped(domain, nodes, body.inputs[k])
                            : is_dropped(domain, body.outputs[k - body.inputs.size()]);
    if (is_input && reads(gathers, body.inputs[k]))
      strides.push_back(Dims(domain.dims.size(), Dim(0)));
    else if (dropped)
      strides.push_back(around_reduced(domain, strides_over(domain.dropped(), operands[k])));
    else
      strides.push_back(strides_over(domain.dims, operands[k]));
  }
  for (const Gather& gather : gathers)
    for (const Dims& s : gather.strides())
      strides.push_back(is_dropped(domain, gather.node()[0]) ? around_reduced(domain, s) : s);

  RowAxes out;
  for (size_t i = 0; i < domain.dims.size(); ++i) {
    LoopAxis axis{domain.dims[i], {}};
    for (const Dims& s : strides) axis.strides.push_back(s[i]);
    (domain.reduces(i) ? out.reduced : out.kept).push_back(std::move(axis));
  }
  out.kept = collapse(out.kept);
  out.reduced = collapse(out.reduced);
  if (out.reduced.empty()) out.reduced.push_back({1, Dims(strides.size(), Dim(0))});
  for (const LoopAxis& axis : out.reduced) out.count = out.count * axis.length;
  for (size_t k = 0; k < strides.size(); ++k)
    out.varies.push_back(std::any_of(out.reduced.begin(), out.reduced.end(),
                                     [&](const LoopAxis& axis) { return !axis.strides[k].is(0); }));
  return out;
}

}  // namespace thtrain
