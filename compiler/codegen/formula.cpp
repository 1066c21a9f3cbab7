#include "compiler/codegen/formula.h"

#include <unordered_map>

#include "compiler/base/str.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {
namespace {

// Null: written as a call.
const char* symbol_of(const Node& node) {
  return node.op->scalar ? node.op->scalar->symbol : nullptr;
}

std::string cut(std::string text, size_t width) {
  if (text.size() <= width) return text;
  text.resize(width - 3);
  return text + "...";
}

// The formula of one value of a step, written no further than it is shown: shared values would double it at every use.
class FormulaText {
 public:
  /// `inputs`: the texts of the step's inputs.
  FormulaText(const Node& step, const std::vector<std::string>& inputs, size_t width)
      : step_(step), inputs_(inputs), width_(width) {
    if (!is_fused()) return;
    const Graph& body = *step.bodies[0];
    for (size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i) known_.emplace(&body.inputs[i].node(), i);
  }

  size_t outputs() const { return is_fused() ? step_.bodies[0]->outputs.size() : step_.types.size(); }

  std::string of_output(size_t output) {
    text_.clear();
    if (is_fused())
      value(step_.bodies[0]->outputs[output], false);
    else
      application(step_, [&](size_t input, bool) { text_ += inputs_[input]; });
    return cut(text_, width_);
  }

 private:
  bool is_fused() const { return step_.op->fused && !step_.bodies.empty(); }
  bool is_full() const { return text_.size() > width_; }

  // In parentheses where it is an operation that is an operand.
  void value(const Expr& value, bool is_operand) {
    const Node& node = value.node();
    if (is_full()) return;
    if (auto at = known_.find(&node); at != known_.end()) {
      text_ += inputs_[at->second];
      return;
    }
    if (const Tensor* constant = constant_value(value); constant || node.is_leaf() || node.inputs.empty()) {
      text_ += constant ? constant->text(1) : "?";
      return;
    }
    const bool parentheses = is_operand && symbol_of(node);
    if (parentheses) text_ += '(';
    application(node, [&](size_t input, bool is_operand) { this->value(node.inputs[input], is_operand); });
    if (parentheses) text_ += ')';
  }

  template <class Operand>
  void application(const Node& node, Operand operand) {
    const char* symbol = symbol_of(node);
    text_ += !symbol ? str(node.op->name, '(') : node.inputs.size() == 1 ? symbol : "";
    for (size_t i = 0; i < node.inputs.size() && !is_full(); ++i) {
      if (i > 0) text_ += symbol ? str(' ', symbol, ' ') : ", ";
      operand(i, symbol != nullptr);
    }
    if (!symbol) text_ += ')';
  }

  const Node& step_;
  const std::vector<std::string>& inputs_;
  size_t width_;
  std::unordered_map<const Node*, size_t> known_;  // inputs of the body
  std::string text_;
};

}  // namespace

std::string formula(const Node& node, const std::function<std::string(size_t)>& name_of_input,
                    const std::function<std::string(size_t)>& name_of_output, size_t width) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* constant = constant_value(node.inputs[i]);
    inputs.push_back(constant && constant->size() == 1 ? constant->text() : name_of_input(i));
  }
  FormulaText text(node, inputs, width);
  std::string out;
  for (size_t o = 0; o < text.outputs() && out.size() <= width; ++o)
    if (const std::string name = name_of_output(o); !name.empty())
      out += str(out.empty() ? "" : "; ", name, " = ", text.of_output(o));
  return cut(out.empty() ? text.of_output(0) : out, width);
}

std::string describing_name(const Node& node, size_t output) {
  const Node* last = &node;
  while (last->op->fused && !last->bodies.empty() && output < last->bodies[0]->outputs.size()) {
    const Expr& value = last->bodies[0]->outputs[output];
    last = &value.node();
    output = value.output();
  }
  const std::string& name = last->name.empty() || last->is_leaf() ? last->op->name : last->name;
  if (!node.origin.scope || name.find('/') != std::string::npos) return name;
  return str(node.origin.scope->path, "_", name);
}

}  // namespace thtrain
