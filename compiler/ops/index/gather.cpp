#include "compiler/ops/index/gather.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/pick_rows.h"
#include "compiler/ops/index/take_axes.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

bool reads_through_index(const Node& node) {
  return node.op == &take_op() || node.op == &pick_rows_op();
}

bool may_be_gathered(const Node& node) {
  constexpr int64_t kMaxSingle = 4096;  // 60 labels gain half, 10,000 lose a tenth
  if (!reads_through_index(node) || is_complex(node.types[0].dtype)) return false;
  const Expr &source = node.inputs[0], &index = node.inputs[1];
  if (is_constant(index) && index.rank() == 0) return false;
  bool whole_rows = node.op == &take_op() && node.props.get<int64_t>("axis") + 1 < static_cast<int64_t>(source.rank());
  Dim elements = node.types[0].elements();
  return whole_rows || !elements.is_known() || elements.value() <= kMaxSingle;
}

bool is_gathered(const Node& node, size_t i) {
  const Graph& body = *node.bodies[0];
  for (const Node* inner : topological_order(body.outputs))
    if (reads_through_index(*inner) && std::any_of(inner->inputs.begin(), inner->inputs.end(),
                                                   [&](const Expr& e) { return &e.node() == &body.inputs[i].node(); }))
      return true;
  return false;
}

static size_t place_in(std::span<const Expr> inputs, const Expr& e) {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].same(e)) return k;
  TH_CHECK(false, "a gather of what is no input of its loop");
  return 0;
}

Gather::Gather(const Node& node, std::span<const Expr> inputs, StepBuilder& builder)
    : node_(&node),
      builder_(builder),
      source_(place_in(inputs, node.inputs[0])),
      index_(place_in(inputs, node.inputs[1])) {
  const Dims& dims = node.types[0].dims;
  const kernel::Operand &source = builder.input(source_), &index = builder.input(index_);
  strides_.fill(Dims(dims.size(), Dim(0)));
  auto steps_along = [&](size_t axis, Stepped what, const Dim& stride) {
    if (!dims[axis].is(1)) strides_[what][axis] = stride;
  };
  if (node.op == &pick_rows_op()) {
    named_ = 1;
    check_ = label_check(node);
    reports_row_ = true;
    steps_along(0, kSource, source.layout.strides[0]);
    steps_along(0, kIndex, index.layout.strides[0]);
    steps_along(0, kReported, 1);
    return;
  }
  TakeAxes axes(node);
  named_ = axes.axis;
  check_ = axes.check(node.op->name);
  for (size_t i = 0; i < dims.size(); ++i)
    if (i >= axes.axis && i < axes.end)
      steps_along(i, kIndex, index.layout.strides[i - axes.axis]);
    else
      steps_along(i, kSource, source.layout.strides[i < axes.axis ? i : i - axes.end + axes.axis + 1]);
}

void Gather::check_before_loops() {
  const Dims& dims = node_->types[0].dims;
  bool all_met = true;
  for (size_t i = 0; i < dims.size(); ++i) all_met = all_met && (!strides_[kIndex][i].is(0) || dims[i].is_at_least(1));
  if (all_met && !builder_.writes_variable()) return;
  check_kernel(builder_, *node_, index_, check_, node_->inputs[0].dims()[named_], reports_row_);
  is_checked_ = true;
}

Term Gather::position(const Steps& at) const {
  Term index = builder_.load(builder_.input(index_), at[kIndex]);
  return checked_position(builder_, *node_, check_, index, builder_.length(node_->inputs[0].dims()[named_]),
                          !is_checked_, reports_row_ ? at[kReported] : Term());
}

Term Gather::element(const Term& source, const Term& position) const {
  return source + position * builder_.length(builder_.input(source_).layout.strides[named_]);
}

Term Gather::load(const Steps& at, const Steps& step, int lanes, const Term& count, const Term& known) const {
  const kernel::Operand& source = builder_.input(source_);
  auto is_invariant = [&](Stepped what) { return is_constant(step[what], 0); };
  bool one_position = is_invariant(kIndex) && is_invariant(kReported);
  if (bool(known) || one_position) {
    Term first = element(at[kSource], known ? known : position(at));
    if (lanes == 1 || is_invariant(kSource)) return builder_.load(source, first);
    return builder_.load(source, first, lanes, step[kSource], count);
  }
  if (lanes == 1) return builder_.load(source, element(at[kSource], position(at)));
  // Lane by lane; those that do not exist repeat the first.
  kernel::Code& code = builder_.code();
  const std::string gathered = code.local_array("gathered", {source.type.dtype, 1, 0}, lanes).node().name;
  code.loop("lane", 0, Term(lanes), 1, LoopMark::kSequential, [&](Term lane) {
    Term l = count ? code.let("l", select(lane < count, lane, Term(0))) : lane;
    Steps here;
    for (size_t i = 0; i < kStepped; ++i) here[i] = at[i] + l * step[i];
    code.store(gathered, lane, 1, builder_.load(source, element(here[kSource], position(here))));
  });
  return kernel::load(gathered, source.type.dtype, lanes, 0, 1);
}

std::vector<Gather> gathers_among(std::span<const Node* const> nodes, std::span<const Expr> inputs,
                                  StepBuilder& builder) {
  std::vector<Gather> out;
  for (const Node* node : nodes)
    if (reads_through_index(*node)) out.emplace_back(*node, inputs, builder);
  return out;
}

bool reads(std::span<const Gather> gathers, const Expr& input) {
  return std::any_of(gathers.begin(), gathers.end(), [&](const Gather& gather) {
    return gather.node().inputs[0].same(input) || gather.node().inputs[1].same(input);
  });
}

}  // namespace thtrain
