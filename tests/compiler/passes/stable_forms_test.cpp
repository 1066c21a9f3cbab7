// Forms for differentiation: what they are, and that each has the derivative of the value that it stands for.
#include "compiler/passes/stable_forms.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/choose_gradients.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

TEST(StableForms, AreWhatStabilizeMakes) {
  Expr x = vector("x");
  const std::optional<std::vector<Expr>> forms = stable_forms({log(1 + exp(x)), 2 * x});
  ASSERT_TRUE(forms);
  EXPECT_EQ(expr_text((*forms)[0]), "softplus(x)");
  EXPECT_EQ(expr_text((*forms)[1]), "mul(2, x)");
}

TEST(StableForms, AreNoneWhereNoRangeChanges) {
  Expr x = vector("x"), y = vector("y");
  EXPECT_FALSE(stable_forms({x + 0 + x}));
  EXPECT_FALSE(stable_forms({log(2 + x) / y}));
  EXPECT_FALSE(stable_forms({sum(log_softmax(x) * y)}));
  // A range changes, but no derivative divides: the plain one is as good.
  EXPECT_FALSE(stable_forms({exp(x) * exp(y)}));
}

TEST(StableForms, LeaveKinksToThePlainForm) {
  Expr x = vector("x"), y = vector("y");
  Expr gradient = grad(sum(log(exp(x) + exp(y))), x);
  const Tensor same = Tensor::vector({1.0, 1.0});
  EXPECT_EQ(evaluate({gradient}, {{x, same}, {y, same}})[0].as_double(0), 0.5);
}

TEST(StableForms, MarksAreTakenOff) {
  Expr x = vector("x"), y = vector("y"), value = log(x * y);
  const std::optional<std::vector<Expr>> forms = stable_forms({value});
  ASSERT_TRUE(forms);
  EXPECT_EQ(expr_text((*forms)[0]), "derived_as(log(mul(x, y)), add(log(x), log(y)))");
  EXPECT_EQ(expr_text(values_of_forms(*forms)[0]), "log(mul(x, y))");
}

TEST(ChooseGradients, FollowsTheLevel) {
  Expr x = vector("x", {3}), y = vector("y", {3}), both = 2 * stable_gradient(x, y);
  for (Level level : {Level::kStrict, Level::kStandard, Level::kFast}) {
    std::vector<Fired> fired;
    const Graph chosen = choose_gradients({{x, y}, {both}, {}}, {.level = level, .fired = &fired});
    const bool strict = level == Level::kStrict;
    EXPECT_EQ(expr_text(chosen.outputs[0]), strict ? "mul(2, x)" : "mul(2, y)");
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].rule, strict ? "plain_gradient" : "stable_gradient");
    EXPECT_EQ(fired[0].safety, strict ? Safety::kExact : Safety::kRangeChanging);
  }
  const Graph none{{x}, {2 * x}, {}};
  EXPECT_TRUE(choose_gradients(none, {}).outputs[0].same(none.outputs[0]));
}

// ---- every rule ----------------------------------------------------------------------------------------------------

// Settles and asks nothing.
class AnyContext : public RuleContext {
 public:
  bool has_at_most_uses(const Expr&, size_t) const override { return true; }
  Expr normalize(const Expr& value) override { return value; }
  Level level() const override { return Level::kStandard; }
};

struct Case {
  Expr value;
  std::vector<Expr> inputs;
};

Case left_side(const Rule& rule) {
  Case out;
  Binding binding;
  for (const Expr& variable : variables_of(rule.from)) {
    Expr input = is_any_number(variable) ? make_constant(Tensor(1.5)) : vector(variable.name(), {200});
    if (!is_any_number(variable)) out.inputs.push_back(input);
    binding.set(variable, input);
  }
  out.value = instantiate(rule.from, binding);
  return out;
}

Case of_example(const RuleExample& example, std::optional<DType> floats = {}) {
  Case out;
  for (Type type : example.inputs) {
    if (floats && is_float(type.dtype)) type.dtype = *floats;
    out.inputs.push_back(make_input(type, "x"));
  }
  out.value = example.build(out.inputs);
  return out;
}

Tensor plain_derivative(const Expr& value, const Expr& input, const Bindings& bound) {
  const Expr made = vector_jacobian(std::vector{value}, std::vector{ones_like(value)}, std::vector{input})[0];
  return evaluate({made.has_value() ? made : zeros_like(input)}, bound)[0];
}

// The plain derivatives of the value and of its form, where both are finite, on ordinary and on extreme values.
void expect_same_derivative(const Rule& rule, const Case& c) {
  AnyContext context;
  const Expr form = apply_rule(rule, c.value, context);
  ASSERT_TRUE(form.has_value()) << rule.name;
  std::mt19937_64 random(11);
  size_t compared = 0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    Bindings bound;
    for (const Expr& input : c.inputs) {
      const Shape shape = input.type().known_shape();
      const Tensor values =
          repeat % 2 ? hard_values(input.dtype(), shape, random) : plain_values(input.dtype(), shape, random);
      bound.emplace_back(input, finite_values(values));
    }
    const Tensor value = evaluate({c.value}, bound)[0];
    for (const Expr& input : c.inputs) {
      const Tensor plain = plain_derivative(c.value, input, bound), other = plain_derivative(form, input, bound);
      for (int64_t i = 0; i < plain.size(); ++i) {
        const double a = plain.as_double(i), b = other.as_double(i);
        // A logarithm of what has overflown, underflown or been rounded to nothing.
        if (repeat % 2 && (value.size() != plain.size() || !(std::abs(value.as_double(i)) <= 700))) continue;
        if (repeat % 2 ? !std::isfinite(a) || !std::isfinite(b) : !std::isfinite(a)) continue;
        // Of hard values the plain form has lost digits: 1 - tanh(x)^2.
        EXPECT_NEAR(a, b, (repeat % 2 ? 0.5 : 1e-6) * std::abs(a) + 1e-12) << rule.name << ", element " << i;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 20u) << rule.name;
}

TEST(DerivativeRules, HaveTheDerivativeOfTheValue) {
  for (const Rule* rule : derivative_rules()) {
    EXPECT_EQ(rule->safety, Safety::kRangeChanging) << rule->name;
    EXPECT_EQ(find_rule(rule->name), nullptr) << rule->name;
    if (rule->from.has_value()) expect_same_derivative(*rule, left_side(*rule));
    for (const RuleExample& example : rule->examples)
      expect_same_derivative(*rule, of_example(example, DType::kFloat64));
  }
}

// Where elements are equal, or at a kink, the plain derivative is one of several: the form that grad differentiates
// must have the same.
void expect_same_derivative_of_ties(const Rule& rule, const Case& c) {
  if (!is_float(c.value.dtype())) return;
  AnyContext context;
  const Expr form = apply_rule(rule, c.value, context);
  if (!form.has_value()) return;
  std::mt19937_64 random(12);
  for (int repeat = 0; repeat < 10; ++repeat) {
    Bindings bound;
    for (const Expr& input : c.inputs)
      bound.emplace_back(input, tied_values(input.dtype(), input.type().known_shape(), random));
    for (const Expr& input : c.inputs) {
      if (!is_float(input.dtype())) continue;
      const Tensor plain = plain_derivative(c.value, input, bound), other = plain_derivative(form, input, bound);
      for (int64_t i = 0; i < plain.size(); ++i) {
        const double a = plain.as_double(i), b = other.as_double(i);
        if (!std::isfinite(a) || !std::isfinite(b)) continue;
        ASSERT_NEAR(a, b, 1e-4 * std::abs(a) + 1e-4) << rule.name << ", element " << i;
      }
    }
  }
}

TEST(StableForms, AreOfRulesThatKeepTheDerivativeOfTies) {
  for (const auto* table : {&canonical_rules(), &stable_rules()})
    for (const Rule* rule : *table) {
      if (rule->values_only) continue;
      if (rule->from.has_value() && rule->kinds & kFloats) expect_same_derivative_of_ties(*rule, left_side(*rule));
      for (const RuleExample& example : rule->examples) expect_same_derivative_of_ties(*rule, of_example(example));
    }
}

}  // namespace
}  // namespace thtrain
