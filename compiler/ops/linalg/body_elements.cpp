#include "compiler/ops/linalg/body_elements.h"

#include <algorithm>

namespace thtrain {

using kernel::Term;

BodyElements::BodyElements(kernel::StepBuilder& b, const Graph& body, const Node& anchor, Dims domain,
                           const std::function<bool(const Expr& input)>& is_read)
    : b_(b),
      body_(body),
      domain_(std::move(domain)),
      nodes_(nodes_between(body.inputs, body.outputs)),
      anchor_(anchor) {
  for (size_t i = 0; i < domain_.size(); ++i)
    if (!domain_[i].is(1)) lane_axis_ = i;
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    if (!is_read(body.inputs[k])) continue;
    Read read{k, b.input(k), strides_over(domain_, b.input(k))};
    if (std::any_of(read.strides.begin(), read.strides.end(), [](const Dim& d) { return !d.is(0); })) {
      reads_.push_back(std::move(read));
    } else {
      const std::string& name = body.inputs[k].name();
      known_.set(body.inputs[k],
                 b.code().let(identifier(name.empty() ? str("x", k) : readable(name)), b.load(read.operand, 0)));
    }
  }
  compute(known_);
}

BodyValues BodyElements::load(const std::vector<Term>& index, int lanes, const Term& count) const {
  BodyValues values = known_;
  for (const Read& read : reads_) {
    const Expr& input = body_.inputs[read.input];
    const Term at = location(read.strides, index);
    const bool repeated = lanes == 1 || read.strides[lane_axis_].is(0);
    Term value = repeated ? b_.load(read.operand, at)
                          : b_.load(read.operand, at, lanes, b_.length(read.strides[lane_axis_]), count);
    values.set(input,
               b_.code().let(identifier(input.name().empty() ? str("x", read.input) : readable(input.name())), value));
  }
  return values;
}

void BodyElements::compute(BodyValues& values) const {
  for (const Node* node : nodes_)
    if (node != &anchor_ && !values.has((*node)[0]) &&
        std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Expr& e) { return values.known(e); }))
      write_node(b_.code(), *node, values);
}

void BodyElements::each_whole(const std::vector<Term>& index,
                              const std::function<void(const kernel::Operand&, const Term&)>& visit) const {
  for (const Read& read : reads_)
    if (has_each_element(domain_, read.strides)) visit(read.operand, location(read.strides, index));
}

Term BodyElements::location(const Dims& strides, const std::vector<Term>& index) const {
  Term out = 0;
  for (size_t i = 0; i < index.size(); ++i)
    if (!strides[i].is(0)) out = out + index[i] * b_.length(strides[i]);
  return out;
}

}  // namespace thtrain
