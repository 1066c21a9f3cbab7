#include "compiler/passes/match.h"

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Op variable_kind(std::string name, DType dtype) {
  return {.name = std::move(name),
          .doc = "A variable of a pattern.",
          .infer = [dtype](const TypeArgs&) { return std::vector<Type>{{.dtype = dtype, .dims = {}}}; },
          .foldable = false};
}
const Op& any_value_op() {
  static const Op op = variable_kind("any_value", DType::kFloat64);
  return op;
}
const Op& any_number_op() {
  static const Op op = variable_kind("any_number", DType::kFloat64);
  return op;
}
const Op& any_condition_op() {
  static const Op op = variable_kind("any_condition", DType::kBool);
  return op;
}

Expr variable(const Op& op, const std::string& name) {
  return named(apply(op, {}), name);
}

bool is_variable(const Node& node) {
  return node.op == &any_value_op() || node.op == &any_number_op() || node.op == &any_condition_op();
}

// A number of a pattern as another dtype. As an integer without a sign -1 is the one whose product with x is -x.
Tensor number_as(const Tensor& number, DType dtype) {
  return (is_int(dtype) ? number.cast(DType::kInt64) : number).cast(dtype);
}

// Is the number of the pattern the one of the value, to the value's precision?
bool same_number(const Tensor& pattern, const Tensor& value) {
  return same_bits(number_as(pattern, value.dtype()), value.reshape({}));
}

// The dtypes that an op computes its inputs in.
std::vector<DType> seen_dtypes(const Node& node) {
  std::vector<DType> out;
  for (const Expr& input : node.inputs) out.push_back(input.dtype());
  if (node.op->scalar)
    if (std::optional<Signature> signature = node.op->scalar->signature(out, node.props)) return signature->inputs;
  return out;
}

}  // namespace

// Goals that are left to reach; a commutative op tries its second order where the first leads nowhere.
class Matcher {
 public:
  std::optional<Binding> run(const Expr& pattern, const Expr& value) {
    binding_.root_ = value;
    goals_.push_back({&pattern, &value, value.dtype()});
    if (!solve(0)) return std::nullopt;
    return std::move(binding_);
  }

 private:
  struct Goal {
    const Expr* pattern;
    const Expr* value;
    DType seen;  // the dtype that the operation around the value computes in
  };

  // Reaches the goals from number `at` on, or leaves the binding as it was.
  bool solve(size_t at) {
    if (at == goals_.size()) return true;
    const auto [pattern, value, seen] = goals_[at];
    const Node &wanted = pattern->node(), &given = value->node();
    const size_t bound = binding_.bound_.size();
    if (is_variable(wanted)) {
      if (bind(*pattern, *value, seen) && solve(at + 1)) return true;
      binding_.bound_.resize(bound);
      return false;
    }
    if (const Tensor* number = constant_value(*pattern)) {
      const Tensor* found = number_in(*value);
      return found && same_number(*number, *found) && solve(at + 1);
    }
    if (wanted.op != given.op || wanted.inputs.size() != given.inputs.size() || !(wanted.props == given.props) ||
        value->dtype() != seen || value->output() != pattern->output() ||
        given.recompute != binding_.root_.node().recompute)
      return false;

    const bool swaps = given.op->commutative && given.inputs.size() == 2;
    const size_t goals = goals_.size();
    for (bool swapped : {false, true}) {
      if (swapped && !swaps) break;
      bool possible = true;
      for (size_t i = 0; possible && i < wanted.inputs.size(); ++i)
        possible = plausible(wanted.inputs[i], given.inputs[swapped ? 1 - i : i]);
      if (!possible) continue;
      const std::vector<DType> dtypes = seen_dtypes(given);
      for (size_t i = 0; i < wanted.inputs.size(); ++i) {
        size_t k = swapped ? 1 - i : i;
        goals_.push_back({&wanted.inputs[i], &given.inputs[k], dtypes[k]});
      }
      if (solve(at + 1)) return true;
      goals_.resize(goals);
      binding_.bound_.resize(bound);
    }
    return false;
  }

  // A glance at the op, before anything is tried.
  static bool plausible(const Expr& pattern, const Expr& value) {
    if (is_constant(pattern) || is_any_number(pattern)) return number_in(value) != nullptr;
    return is_variable(pattern.node()) || pattern.node().op == value.node().op;
  }

  bool bind(const Expr& variable, const Expr& value, DType seen) {
    if (is_any_number(variable) && !number_in(value)) return false;
    if (value.type().kind != TypeKind::kTensor) return false;
    if (const Binding::Bound* before = binding_.find(variable))
      return before->seen == seen && before->value.same(value);
    binding_.bound_.push_back({&variable.node(), value, seen});
    return true;
  }

  Binding binding_;
  std::vector<Goal> goals_;
};

std::optional<Binding> match(const Expr& pattern, const Expr& value) {
  return Matcher().run(pattern, value);
}

const Binding::Bound* Binding::find(const Expr& variable) const {
  for (const Bound& bound : bound_)
    if (bound.variable == &variable.node()) return &bound;
  return nullptr;
}

void Binding::set(const Expr& variable, const Expr& value) {
  bound_.push_back({&variable.node(), value, value.dtype()});
  if (!root_.has_value()) root_ = value;
}

Expr Binding::value(const Expr& variable) const {
  const Bound* bound = find(variable);
  TH_CHECK(bound, "the left side of a rule has no variable ", variable.name());
  return cast(bound->value, bound->seen);
}

double Binding::number(const Expr& variable) const {
  const Bound* bound = find(variable);
  TH_CHECK(bound, "the left side of a rule has no number ", variable.name());
  return number_in(bound->value)->cast(bound->seen).as_double();
}

// ---- instantiation -------------------------------------------------------------------------------------------------

// The dtype of the inputs that are no numbers of the pattern: what those take.
static DType dtype_of_operands(const Expr& pattern, const std::vector<Expr>& inputs, DType otherwise) {
  std::optional<DType> common;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].has_value() || (is_op(pattern, switch_op()) && i == 0)) continue;
    common = common ? promote(*common, inputs[i].dtype()) : inputs[i].dtype();
  }
  return common.value_or(otherwise);
}

static Expr instantiated(const Expr& pattern, const Binding& binding) {
  const Node& node = pattern.node();
  if (is_variable(node)) return binding.value(pattern);
  std::vector<Expr> inputs;
  for (const Expr& input : node.inputs) inputs.push_back(is_constant(input) ? Expr() : instantiated(input, binding));
  DType dtype = dtype_of_operands(pattern, inputs, binding.root().dtype());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].has_value()) inputs[i] = make_constant(number_as(*constant_value(node.inputs[i]), dtype));
  return Expr(make_node(*node.op, std::move(inputs), node.props), pattern.output());
}

Expr instantiate(const Expr& pattern, const Binding& binding) {
  const Tensor* number = constant_value(pattern);
  return number ? make_constant(number_as(*number, binding.root().dtype())) : instantiated(pattern, binding);
}

Expr broadcast_to_type(const Expr& result, const Type& type) {
  if (!result.has_value() || result.type() == type) return result;
  if (result.type().kind != TypeKind::kTensor || result.dtype() != type.dtype || result.rank() > type.rank()) return {};
  const size_t added = type.rank() - result.rank();
  for (size_t i = 0; i < result.rank(); ++i)
    if (!result.dims()[i].is(1) && !(result.dims()[i] == type.dims[added + i])) return {};
  return broadcast_to(result, type.dims);
}

// ---- numbers and variables -----------------------------------------------------------------------------------------

const Tensor* number_in(const Expr& value) {
  const Node* node = &value.node();
  while (node->op == &broadcast_to_op() || node->op == &dimshuffle_op() || node->op == &reshape_op())
    node = &node->inputs[0].node();
  if (node->op != &constant_op()) return nullptr;
  const Tensor& tensor = node->props.get<Tensor>("value");
  return tensor.size() == 1 ? &tensor : nullptr;
}

std::optional<double> number_of(const Expr& value) {
  const Tensor* tensor = number_in(value);
  if (!tensor || is_complex(tensor->dtype())) return std::nullopt;
  return tensor->as_double();
}

Expr any_value(const std::string& name) {
  return variable(any_value_op(), name);
}
Expr any_number(const std::string& name) {
  return variable(any_number_op(), name);
}
Expr any_condition(const std::string& name) {
  return variable(any_condition_op(), name);
}
bool is_any_number(const Expr& pattern) {
  return is_op(pattern, any_number_op());
}
bool is_any_condition(const Expr& pattern) {
  return is_op(pattern, any_condition_op());
}

std::vector<Expr> variables_of(const Expr& pattern) {
  std::vector<Expr> out;
  for (const Node* node : topological_order(std::vector{pattern}))
    if (is_variable(*node)) out.push_back((*node)[0]);
  return out;
}

}  // namespace thtrain
