#include "tests/support/rule_promise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/ir/print.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
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

size_t numbers_of(const Rule& rule) {
  return static_cast<size_t>(std::ranges::count_if(variables_of(rule.from), is_any_number));
}

std::string about(const Rule& rule, const std::string& complaint) {
  return complaint.empty() ? "" : str(rule.name, ": ", complaint);
}

enum class Draw { kPlain, kHard, kTied };

// Values for an example's inputs.
Bindings drawn(const Rule& rule, const RuleExample& example, const std::vector<Expr>& leaves, DType dtype, Draw draw,
               std::mt19937_64& random) {
  Bindings out;
  for (const Expr& leaf : leaves) {
    const Shape shape = leaf.type().known_shape();
    // Integers with floats are indices. What compares is exact but for ties, infinities and NaN.
    const bool hard_leaf = draw == Draw::kHard && !rule.compares && (is_float(leaf.dtype()) || !is_float(dtype));
    const auto easy = draw == Draw::kTied ? &tied_values : &plain_values;
    Tensor values = hard_leaf ? hard_values(leaf.dtype(), shape, random)
                              : easy(leaf.dtype(), shape, random, example.int_low, example.int_high);
    // What an infinity makes of a whole slice is not the plain form's affair.
    out.emplace_back(leaf, rule.safety == Safety::kRangeChanging ? finite_values(values) : values);
  }
  return out;
}

// Each input in turn with NaN in every `step`-th element.
std::string nan_lost(const Expr& before, const Expr& after, Bindings& inputs, int64_t step) {
  for (auto& [leaf, tensor] : inputs) {
    if (!is_float(leaf.dtype())) continue;
    const Tensor plain = tensor;
    tensor = tensor.copy();
    for (int64_t i = 0; i < tensor.size(); i += step)
      visit(leaf.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) tensor.data<T>()[i] = std::numeric_limits<T>::quiet_NaN();
      });
    const std::string lost = lost_nan(before, after, inputs);
    tensor = plain;
    if (!lost.empty()) return lost;
  }
  return {};
}

std::string broken_on_example(const Rule& rule, const RuleExample& example, std::mt19937_64& random) {
  std::vector<Expr> leaves;
  for (const Type& type : example.inputs) leaves.push_back(make_input(type, "x"));
  const Expr value = example.build(leaves);
  if (!is_for(rule, value.dtype())) return str("it is not for ", name_of(value.dtype()), ", an example is");
  Rewritten r = rewritten_by(rule, value);
  if (!r.has(rule.name)) return str("it does not rewrite ", expr_text(value, 300));
  for (int repeat = 0; repeat < 30; ++repeat) {
    const Draw draw = std::array{Draw::kPlain, Draw::kHard, Draw::kTied}[static_cast<size_t>(repeat % 3)];
    const bool is_plain = draw == Draw::kPlain;
    Bindings inputs = drawn(rule, example, leaves, value.dtype(), draw, random);
    std::string broken = broken_promise(rule.safety, value, r.value, inputs, is_plain ? Values::kPlain : Values::kHard);
    if (broken.empty() && rule.safety != Safety::kFiniteMath && is_plain) broken = nan_lost(value, r.value, inputs, 1);
    if (!broken.empty()) return broken;
  }
  return {};
}

}  // namespace

bool can_be_of(const Rule& rule, unsigned kind) {
  std::mt19937_64 random(20240520);
  for (DType dtype : kAllDTypes) {
    if (kind_of(dtype) != kind) continue;
    try {
      if (left_side(rule, dtype, {{3}}, number_choices(numbers_of(rule), dtype).at(0), random).value.dtype() == dtype)
        return true;
    } catch (const UserError&) {  // no such op of this dtype
    }
  }
  return false;
}

std::string broken_on_hard_values(const Rule& rule) {
  if (rule.rewrite) return {};
  std::mt19937_64 random(20240521);
  unsigned fired = 0;  // for which kinds
  for (DType dtype : kAllDTypes) {
    if (!is_for(rule, dtype)) continue;
    for (const std::vector<Shape>& shapes : kShapes)
      for (const std::vector<double>& chosen : number_choices(numbers_of(rule), dtype)) {
        Case c = left_side(rule, dtype, shapes, chosen, random);
        if (!(c.value.dtype() == dtype) && !is_bool(c.value.dtype())) continue;  // a bool that counts as an integer
        Rewritten r = rewritten_by(rule, c.value);
        if (!r.has(rule.name)) continue;
        fired |= kind_of(dtype);
        for (int repeat = 0; repeat < 4; ++repeat) {
          std::string broken = broken_promise(rule.safety, c.value, r.value, c.inputs, Values::kHard);
          if (!broken.empty()) return about(rule, str("of ", name_of(dtype), " ", broken));
          for (auto& [input, value] : c.inputs)
            value = repeat == 2 ? tied_values(value.dtype(), value.shape(), random)
                                : hard_values(value.dtype(), value.shape(), random);
        }
      }
  }
  return fired == rule.kinds ? "" : about(rule, "never fires for some of its kinds");
}

std::string broken_on_examples(const Rule& rule) {
  if (!rule.rewrite) return {};
  if (rule.examples.empty()) return about(rule, "is a function without examples");
  std::mt19937_64 random(20240522);
  for (const RuleExample& example : rule.examples)
    if (std::string broken = broken_on_example(rule, example, random); !broken.empty()) return about(rule, broken);
  return {};
}

std::string broken_against_wider_type(const Rule& rule) {
  if (rule.rewrite || rule.safety != Safety::kRangeChanging) return {};
  std::mt19937_64 random(20240523);
  for (const std::vector<double>& chosen : number_choices(numbers_of(rule), DType::kFloat32)) {
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
    if (std::optional<std::string> beyond = beyond_bounds(other, rounded, true)) return about(rule, *beyond);
  }
  return {};
}

std::string broken_by_nan(const Rule& rule) {
  if (rule.rewrite) return {};
  std::mt19937_64 random(20240524);
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (!is_for(rule, dtype)) continue;
    for (const std::vector<double>& chosen : number_choices(numbers_of(rule), dtype)) {
      Case c = left_side(rule, dtype, {{20}}, chosen, random);
      Rewritten r = rewritten_by(rule, c.value);
      if (!r.has(rule.name)) continue;
      for (auto& [leaf, tensor] : c.inputs) tensor = plain_values(leaf.dtype(), tensor.shape(), random);
      std::string broken = broken_promise(rule.safety, c.value, r.value, c.inputs, Values::kPlain);
      if (broken.empty() && rule.safety != Safety::kFiniteMath) broken = nan_lost(c.value, r.value, c.inputs, 2);
      if (!broken.empty()) return about(rule, broken);
    }
  }
  return {};
}

std::string broken_rule(const Rule& rule) {
  for (const auto& check : {broken_on_hard_values, broken_on_examples, broken_against_wider_type, broken_by_nan})
    if (std::string broken = check(rule); !broken.empty()) return broken;
  return {};
}

}  // namespace thtrain
