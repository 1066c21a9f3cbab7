#include "compiler/ops/linalg/body_epilogue.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

namespace {

size_t location_in(const Graph& body, const Expr& e) {
  for (size_t k = 0; k < body.inputs.size(); ++k)
    if (body.inputs[k].same(e)) return k;
  TH_CHECK(false, "what a product or a convolution reads is no input of its loop's body");
  return 0;
}

// Does it lie as if the axes of the domain from `axis` on were one?
bool is_flat(const Dims& dims, size_t axis, const kernel::Operand& operand) {
  const Dims strides = strides_over(dims, operand);
  std::optional<Dim> step;  // from one element of the axes so far to the next, and what they have in all
  Dim next;
  for (size_t i = dims.size(); i-- > axis;) {
    if (dims[i].is(1)) continue;
    if (step && strides[i] != next) return false;
    if (!step) step = strides[i];
    next = strides[i] * dims[i];
  }
  return true;
}

bool is_read_in(std::span<const Node* const> nodes, const Expr& input) {
  for (const Node* node : nodes)
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (node->inputs[i].same(input) && access_of(*node, i) == Access::kElement) return true;
  return false;
}

}  // namespace

const Node& anchor_of(const Graph& body) {
  const std::vector<const Node*> nodes = topological_order(body.outputs);
  const auto at = std::find_if(nodes.begin(), nodes.end(), [](const Node* node) { return node->op->epilogue; });
  TH_CHECK(at != nodes.end(), "a body without a node that has an epilogue");
  return **at;
}

bool anchor_accepts_layout(const Node& fused, size_t input, const Layout& layout) {
  if (access_of(fused, input) == Access::kElement) return true;
  const Node& anchor = anchor_of(*fused.bodies[0]);
  for (size_t i = 0; i < anchor.inputs.size(); ++i)
    if (anchor.inputs[i].same(fused.bodies[0]->inputs[input]) && !anchor.op->accepts_layout(anchor, i, layout))
      return false;
  return true;
}

BodyEpilogue::BodyEpilogue(StepBuilder& b)
    : BodyEpilogue(b, anchor_of(*b.node().bodies[0]), topological_order(b.node().bodies[0]->outputs)) {}

static std::vector<const Node*> nodes_behind(const Graph& body, const Node& anchor) {
  std::vector<Expr> below = body.inputs;
  below.push_back(anchor[0]);
  return nodes_between(below, body.outputs);
}

BodyEpilogue::BodyEpilogue(StepBuilder& b, const Node& anchor)
    : BodyEpilogue(b, anchor, nodes_behind(*b.node().bodies[0], anchor)) {}

BodyEpilogue::BodyEpilogue(StepBuilder& b, const Node& anchor, std::vector<const Node*> nodes)
    : lanes_(b.lanes_of(anchor.types[0].dtype)),
      b_(b),
      body_(*b.node().bodies[0]),
      anchor_(anchor),
      nodes_(std::move(nodes)) {}

kernel::Operand BodyEpilogue::operand(size_t i) const {
  return b_.input(location_in(body_, anchor_.inputs[i]));
}

std::string BodyEpilogue::name() const {
  return kernel_name(nodes_between(body_.inputs, body_.outputs));
}

std::string BodyEpilogue::comment() const {
  return kernel_comment(nodes_between(body_.inputs, body_.outputs), body_.inputs, body_.outputs);
}

void BodyEpilogue::begin() {
  elements_.emplace(b_, body_, anchor_, anchor_.types[0].dims,
                    [this](const Expr& input) { return is_read_by_element(input); });
}

void BodyEpilogue::write(const Term& results, const std::vector<Term>& index, const Term& count) const {
  BodyValues values = elements_->load(index, lanes_, count);
  elements_->compute(values);  // gemm's c, and what else does not depend on the anchor
  values.set(anchor_[0],
             b_.code().let(identifier(anchor_.name.empty() ? "result" : anchor_.name), anchor_value(results, values)));
  elements_->compute(values);
  for (size_t o = 0; o < body_.outputs.size(); ++o)
    b_.store(b_.output(o), b_.index_of(b_.output(o), index), kernel::splat(values.at(body_.outputs[o]), lanes_), 1,
             count);
}

bool BodyEpilogue::reads_elements() const {
  for (size_t k = 0; k < body_.inputs.size(); ++k)
    if (is_read_by_element(body_.inputs[k]) &&
        has_each_element(anchor_.types[0].dims, strides_over(anchor_.types[0].dims, b_.input(k))))
      return true;
  return false;
}

void BodyEpilogue::prefetch(const std::vector<Term>& index) const {
  elements_->each_whole(index, [&](const kernel::Operand& operand, const Term& at) {
    b_.prefetch(operand, at, kernel::Prefetch::kWrite);
  });
}

bool BodyEpilogue::is_flat_from(size_t axis) const {
  const Dims& dims = anchor_.types[0].dims;
  for (size_t k = 0; k < body_.inputs.size(); ++k)
    if (is_read_by_element(body_.inputs[k]) && !is_flat(dims, axis, b_.input(k))) return false;
  for (size_t o = 0; o < body_.outputs.size(); ++o)
    if (!is_flat(dims, axis, b_.output(o))) return false;
  return true;
}

Term BodyEpilogue::anchor_value(const Term& results, const BodyValues&) const {
  return results;
}

bool BodyEpilogue::is_read_by_element(const Expr& input) const {
  return is_read_in(nodes_, input) ||
         std::any_of(body_.outputs.begin(), body_.outputs.end(), [&](const Expr& e) { return e.same(input); });
}

// ---- before the kernel goes on

BodyValue::BodyValue(StepBuilder& b, const Node& anchor, const Expr& value)
    : b_(b),
      below_{b.node().bodies[0]->inputs, {value}, {}},
      anchor_(anchor),
      lanes_(b.lanes_of(anchor.types[0].dtype)) {}

void BodyValue::begin() {
  elements_.emplace(b_, below_, anchor_, anchor_.types[0].dims,
                    [this](const Expr& input) { return is_read_by_element(input); });
}

Term BodyValue::value(const Term& results, const std::vector<Term>& index, const Term& count) const {
  BodyValues values = elements_->load(index, lanes_, count);
  values.set(anchor_[0], results);
  elements_->compute(values);
  return kernel::splat(values.at(below_.outputs[0]), lanes_);
}

bool BodyValue::is_flat_from(size_t axis) const {
  for (size_t k = 0; k < below_.inputs.size(); ++k)
    if (is_read_by_element(below_.inputs[k]) && !is_flat(anchor_.types[0].dims, axis, b_.input(k))) return false;
  return true;
}

bool BodyValue::is_read_by_element(const Expr& input) const {
  return is_read_in(nodes_between(below_.inputs, below_.outputs), input);
}

}  // namespace thtrain
