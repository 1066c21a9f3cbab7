#include "compiler/codegen/formula.h"

#include <unordered_map>

#include "compiler/base/str.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {
namespace {

struct Formula {
  std::string text;
  bool is_operation = false;  // of operators: in parentheses beside others

  std::string operand() const { return is_operation ? str("(", text, ")") : text; }
};

// Null: written as a call.
const char* operator_of(const std::string& op) {
  static const std::unordered_map<std::string, const char*> operators{
      {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"true_div", " / "}, {"lt", " < "},  {"le", " <= "},
      {"gt", " > "},  {"ge", " >= "}, {"eq", " == "}, {"neq", " != "},     {"and", " & "}, {"or", " | "}};
  auto at = operators.find(op);
  return at == operators.end() ? nullptr : at->second;
}

std::string cut(std::string text, size_t width) {
  if (text.size() <= width) return text;
  text.resize(width - 3);
  return text + "...";
}

// Shared values would double the text at every use: what is too long is cut where it arises.
class Formulas {
 public:
  explicit Formulas(size_t width) : width_(width) {}

  void set(const Expr& value, Formula formula) { known_[&value.node()][value.output()] = std::move(formula); }

  Formula of(const Expr& value) {
    auto at = known_.find(&value.node());
    if (at != known_.end())
      if (auto found = at->second.find(value.output()); found != at->second.end()) return found->second;
    const Tensor* constant = constant_value(value);
    return {constant ? constant->text(1) : "?"};
  }

  Formula application(const Node& node, const std::vector<Formula>& inputs) const {
    if (const char* infix = operator_of(node.op->name); infix && inputs.size() >= 2)
      return cut_to_width({join(inputs, infix, [](const Formula& f) { return f.operand(); }), true});
    if (node.op->name == "neg") return cut_to_width({"-" + inputs[0].operand(), true});
    return cut_to_width({str(node.op->name, "(", join(inputs, ", ", [](const Formula& f) { return f.text; }), ")")});
  }

  void add(const Node& node) {
    std::vector<Formula> inputs;
    for (const Expr& input : node.inputs) inputs.push_back(of(input));
    const Formula value = application(node, inputs);
    for (size_t o = 0; o < node.types.size(); ++o) known_[&node][o] = value;
  }

 private:
  Formula cut_to_width(Formula f) const { return {cut(std::move(f.text), width_), f.is_operation}; }

  size_t width_;
  std::unordered_map<const Node*, std::unordered_map<size_t, Formula>> known_;
};

std::vector<std::string> output_texts(const Node& node, const std::vector<Formula>& inputs, size_t width) {
  Formulas formulas(width);
  if (!node.op->fused || node.bodies.empty()) {
    const std::string text = formulas.application(node, inputs).text;
    return std::vector<std::string>(node.types.size(), text);
  }
  const Graph& body = *node.bodies[0];
  for (size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i) formulas.set(body.inputs[i], inputs[i]);
  for (const Node* inner : topological_order(body.roots()))
    if (!inner->is_leaf() && !inner->inputs.empty()) formulas.add(*inner);
  std::vector<std::string> out;
  for (const Expr& output : body.outputs) out.push_back(formulas.of(output).text);
  return out;
}

}  // namespace

std::string formula(const Node& node, const std::function<std::string(size_t)>& name_of_input,
                    const std::function<std::string(size_t)>& name_of_output, size_t width) {
  std::vector<Formula> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* constant = constant_value(node.inputs[i]);
    inputs.push_back({constant && constant->size() == 1 ? constant->text() : name_of_input(i)});
  }
  const std::vector<std::string> texts = output_texts(node, inputs, width);
  std::string out;
  for (size_t o = 0; o < texts.size(); ++o)
    if (const std::string name = name_of_output(o); !name.empty())
      out += str(out.empty() ? "" : "; ", name, " = ", texts[o]);
  return cut(out.empty() ? texts[0] : out, width);
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
