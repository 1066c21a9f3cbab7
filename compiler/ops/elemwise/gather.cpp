#include "compiler/ops/elemwise/gather.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

bool may_be_gathered(const Node& node) {
  constexpr int64_t kMaxSingle = 4096;  // 60 labels gain half, 10,000 lose a tenth
  const GatherRule* rule = node.op->gather;
  if (!rule || is_complex(node.types[0].dtype)) return false;
  const Expr& index = node.inputs[rule->indices];
  if (is_constant(index) && index.rank() == 0) return false;
  const Dim elements = node.types[0].elements();
  return rule->reads_rows(node) || !elements.is_known() || elements.value() <= kMaxSingle;
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
      rule_(*node.op->gather),
      source_(place_in(inputs, node.inputs[rule_.source])),
      index_(place_in(inputs, node.inputs[rule_.indices])) {
  GatherSteps steps = rule_.steps(node, builder.input(source_), builder.input(index_));
  named_ = steps.axis;
  check_ = std::move(steps.check);
  reports_row_ = steps.reports_row;
  const Dims& dims = node.types[0].dims;
  strides_ = {std::move(steps.source), std::move(steps.indices), Dims(dims.size(), Dim(0))};
  if (reports_row_) strides_[kReported][0] = 1;
  for (Dims& strides : strides_)
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].is(1)) strides[i] = 0;
}

void Gather::check_before_loops() {
  const Dims& dims = node_->types[0].dims;
  bool all_met = true;
  for (size_t i = 0; i < dims.size(); ++i) all_met = all_met && (!strides_[kIndex][i].is(0) || dims[i].is_at_least(1));
  if (all_met && !builder_.writes_variable()) return;
  check_kernel(builder_, *node_, index_, check_, source_dims()[named_], reports_row_);
  is_checked_ = true;
}

Term Gather::position(const Steps& at) const {
  Term index = builder_.load(builder_.input(index_), at[kIndex]);
  return checked_position(builder_, *node_, check_, index, builder_.length(source_dims()[named_]), !is_checked_,
                          reports_row_ ? at[kReported] : Term());
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
    if (node->op->gather) out.emplace_back(*node, inputs, builder);
  return out;
}

bool reads(std::span<const Gather> gathers, const Expr& input) {
  return std::any_of(gathers.begin(), gathers.end(), [&](const Gather& gather) {
    const Node& node = gather.node();
    return node.inputs[node.op->gather->source].same(input) || node.inputs[node.op->gather->indices].same(input);
  });
}

}  // namespace thtrain
