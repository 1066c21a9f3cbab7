// Every rule of the tables, on hard values of every dtype that it is for, held to what its class of safety promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/print.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_bound.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

constexpr double kNumbers[] = {2, 0.5, -1, -0.5, 3, -3, 0.25, -8, 10, 0.1, 1, 0, 1e30};

// Shapes of the variables of a pattern, in turn.
const std::vector<std::vector<Shape>> kShapes{{{211}},       {{0, 3}},   {{}},       {{5, 1}, {7}},
                                              {{7}, {5, 1}}, {{}, {37}}, {{37}, {}}, {{2, 0}, {1}}};

bool fits(double number, DType dtype) {
  if (is_float(dtype) || is_complex(dtype)) return true;
  return number == std::floor(number) && std::abs(number) < 100 && (number >= 0 || is_signed_int(dtype));
}

// Numbers for the number variables of a pattern, every combination; one empty combination for a pattern without any.
std::vector<std::vector<double>> number_choices(size_t count, DType dtype) {
  std::vector<std::vector<double>> out{{}};
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& chosen : out)
      for (double number : kNumbers)
        if (fits(number, dtype)) {
          longer.push_back(chosen);
          longer.back().push_back(number);
        }
    out = longer;
  }
  return out;
}

struct Case {
  Expr value;
  Bindings inputs;
};

// The left side of a rule on new inputs of these shapes and numbers.
Case left_side(const Rule& rule, DType dtype, const std::vector<Shape>& shapes, const std::vector<double>& numbers,
               std::mt19937_64& random) {
  Case out;
  Binding binding;
  size_t next_shape = 0, next_number = 0;
  for (const Expr& variable : variables_of(rule.from)) {
    if (is_any_number(variable)) {
      binding.set(variable, make_constant(Tensor(numbers[next_number++]).cast(dtype)));
      continue;
    }
    const Shape& shape = shapes[next_shape++ % shapes.size()];
    const DType seen = is_any_condition(variable) ? DType::kBool : dtype;
    Expr input = make_input({.dtype = seen, .dims = Dims(shape.begin(), shape.end())}, variable.name());
    out.inputs.emplace_back(input, hard_values(seen, shape, random));
    binding.set(variable, input);
  }
  out.value = instantiate(rule.from, binding);
  return out;
}

bool is_for(const Rule& rule, DType dtype) {
  return (rule.kinds & kind_of(dtype)) != 0;
}

class EveryRule : public ::testing::TestWithParam<const Rule*> {};

TEST_P(EveryRule, KeepsItsPromiseOnHardValues) {
  const Rule& rule = *GetParam();
  if (rule.rewrite) return;  // by its examples, below
  std::mt19937_64 random(20240521);
  unsigned fired = 0;  // for which kinds
  for (DType dtype : kAllDTypes) {
    if (!is_for(rule, dtype)) continue;
    const size_t numbers = static_cast<size_t>(std::ranges::count_if(variables_of(rule.from), is_any_number));
    for (const std::vector<Shape>& shapes : kShapes)
      for (const std::vector<double>& chosen : number_choices(numbers, dtype)) {
        Case c = left_side(rule, dtype, shapes, chosen, random);
        if (!(c.value.dtype() == dtype) && !is_bool(c.value.dtype())) continue;  // a bool that counts as an integer
        Rewritten r = rewritten_by(rule, c.value);
        if (!r.has(rule.name)) continue;
        fired |= kind_of(dtype);
        for (int repeat = 0; repeat < 3; ++repeat) {
          std::string broken = broken_promise(rule.safety, c.value, r.value, c.inputs, Values::kHard);
          ASSERT_EQ(broken, "") << rule.name << " of " << name_of(dtype);
          for (auto& [input, value] : c.inputs) value = hard_values(value.dtype(), value.shape(), random);
        }
      }
  }
  EXPECT_EQ(fired, rule.kinds) << rule.name << " never fires for some of its kinds";
}

TEST_P(EveryRule, KeepsItsPromiseOnItsExamples) {
  const Rule& rule = *GetParam();
  if (!rule.rewrite) return;
  std::mt19937_64 random(20240522);
  ASSERT_FALSE(rule.examples.empty()) << rule.name << " is a function without examples";
  for (const RuleExample& example : rule.examples) {
    std::vector<Expr> leaves;
    for (const Type& type : example.inputs) leaves.push_back(make_input(type, "x"));
    const Expr value = example.build(leaves);
    EXPECT_TRUE(is_for(rule, value.dtype()));
    Rewritten r = rewritten_by(rule, value);
    ASSERT_TRUE(r.has(rule.name)) << rule.name << " does not rewrite " << expr_text(value, 300);
    for (int repeat = 0; repeat < 20; ++repeat) {
      Bindings inputs;
      for (const Expr& leaf : leaves) {
        const Shape shape = leaf.type().known_shape();
        // Integers beside floats are indices. What compares is exact but for ties, infinities and NaN.
        const bool hard = repeat % 2 && !rule.compares && (is_float(leaf.dtype()) || !is_float(value.dtype()));
        Tensor drawn = hard ? hard_values(leaf.dtype(), shape, random)
                            : plain_values(leaf.dtype(), shape, random, example.int_low, example.int_high);
        // What an infinity makes of a whole slice is not the plain form's affair.
        inputs.emplace_back(leaf, rule.safety == Safety::kRangeChanging ? finite_values(drawn) : drawn);
      }
      ASSERT_EQ(broken_promise(rule.safety, value, r.value, inputs, repeat % 2 ? Values::kHard : Values::kPlain), "")
          << rule.name;
      // NaN in, NaN out, of each input.
      if (rule.safety == Safety::kFiniteMath || repeat % 2) continue;
      for (auto& [leaf, tensor] : inputs) {
        if (!is_float(leaf.dtype())) continue;
        Tensor plain = tensor;
        tensor = Tensor(std::numeric_limits<double>::quiet_NaN())
                     .cast(leaf.dtype())
                     .view(plain.shape(), Shape(plain.rank(), 0), 0)
                     .copy();
        ASSERT_EQ(lost_nan(value, r.value, inputs), "") << rule.name;
        tensor = plain;
      }
    }
  }
}

// Where the plain form of a float32 value overflows, float64 often does not: an oracle for the other form.
TEST_P(EveryRule, RangeChangingAgreesWithAWiderType) {
  const Rule& rule = *GetParam();
  if (rule.rewrite || rule.safety != Safety::kRangeChanging) return;
  std::mt19937_64 random(20240523);
  const size_t numbers = static_cast<size_t>(std::ranges::count_if(variables_of(rule.from), is_any_number));
  for (const std::vector<double>& chosen : number_choices(numbers, DType::kFloat32)) {
    Case narrow = left_side(rule, DType::kFloat32, {{500}}, chosen, random);
    Case wide = left_side(rule, DType::kFloat64, {{500}}, chosen, random);
    for (size_t i = 0; i < narrow.inputs.size(); ++i)
      wide.inputs[i].second = narrow.inputs[i].second.cast(DType::kFloat64);
    Rewritten r = rewritten_by(rule, narrow.value);
    if (!r.has(rule.name)) continue;
    Bounded oracle = evaluate_bounded(wide.value, wide.inputs, Infinities::kKnown);
    Bounded rounded{oracle.value.cast(DType::kFloat32), oracle.error};
    for (int64_t i = 0; i < rounded.value.size(); ++i) {
      double &error = rounded.error.data<double>()[i], exact = oracle.value.as_double(i);
      error += std::abs(exact) * 0x1p-24 + 0x1p-149;
      if (!std::isfinite(rounded.value.as_double(i))) error = std::numeric_limits<double>::infinity();
    }
    Bounded other = evaluate_bounded(r.value, narrow.inputs, Infinities::kKnown);
    EXPECT_EQ(first_beyond_bounds(rounded, other, false), "") << rule.name;
  }
}

// On ordinary values no rule makes anything infinite; and NaN in, NaN out: but for finite-math, no rule drops a value
// that it was given.
TEST_P(EveryRule, KeepsNaN) {
  const Rule& rule = *GetParam();
  if (rule.rewrite) return;
  std::mt19937_64 random(20240524);
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (!is_for(rule, dtype)) continue;
    const size_t numbers = static_cast<size_t>(std::ranges::count_if(variables_of(rule.from), is_any_number));
    for (const std::vector<double>& chosen : number_choices(numbers, dtype)) {
      Case c = left_side(rule, dtype, {{20}}, chosen, random);
      Rewritten r = rewritten_by(rule, c.value);
      if (!r.has(rule.name)) continue;
      for (auto& [leaf, tensor] : c.inputs) tensor = plain_values(leaf.dtype(), tensor.shape(), random);
      EXPECT_EQ(broken_promise(rule.safety, c.value, r.value, c.inputs, Values::kPlain), "") << rule.name;
      if (rule.safety == Safety::kFiniteMath) continue;
      for (auto& [leaf, tensor] : c.inputs) {
        if (!is_float(leaf.dtype())) continue;
        Tensor plain = tensor.copy();
        for (int64_t i = 0; i < tensor.size(); i += 2)
          visit(dtype, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (std::is_floating_point_v<T>) tensor.data<T>()[i] = std::numeric_limits<T>::quiet_NaN();
          });
        EXPECT_EQ(lost_nan(c.value, r.value, c.inputs), "") << rule.name;
        tensor = plain;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, ::testing::ValuesIn(all_rules()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace thtrain
