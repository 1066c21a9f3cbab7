// switch, casts, extrema, logic.
#include <array>

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

// Bits of the mantissa of integers and floats: what a dtype tells apart.
int digits(DType dtype) {
  if (is_bool(dtype)) return 1;
  if (is_float(dtype)) return dtype == DType::kFloat32 ? 24 : 53;
  return static_cast<int>(8 * size_of(dtype)) - (is_signed_int(dtype) ? 1 : 0);
}

// Does `to` hold every value of `from`?
bool holds_all(DType from, DType to) {
  if (from == to) return true;
  if (is_complex(from) || is_complex(to) || is_bool(to)) return false;
  if (is_float(from)) return is_float(to) && digits(to) >= digits(from);
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  return digits(to) >= digits(from);
}

// cast(cast(x, float64), float32) -> x: what is between holds all of x. Not cast(cast(x, float64), int8) of an int16 x:
// floats become the nearest int8, and integers wrap around.
Expr cast_of_cast(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, cast_op())) return {};
  const Expr& x = input_of(inner, 0);
  if (!holds_all(x.dtype(), inner.dtype())) return {};
  const bool is_by_float = is_int(x.dtype()) && is_float(inner.dtype()) && is_int(value.dtype());
  return is_by_float && !holds_all(x.dtype(), value.dtype()) ? Expr() : cast(x, value.dtype());
}

Expr useless_cast(const Expr& value, RuleContext&) {
  return input_of(value, 0).dtype() == value.dtype() ? input_of(value, 0) : Expr();
}

// check(x, true) -> x
Expr check_that_holds(const Expr& value, RuleContext&) {
  const std::optional<double> condition = number_of(input_of(value, 1));
  return condition.value_or(0) != 0 ? input_of(value, 0) : Expr();
}

// switch(true, a, b) -> a, also where a is shorter or narrower than the result.
Expr decided_switch(const Expr& value, RuleContext&) {
  std::optional<double> condition = number_of(input_of(value, 0));
  if (!condition) return {};
  return cast(input_of(value, *condition != 0 ? 1 : 2), value.dtype());
}

Expr all_of(const Expr& value, bool truth) {
  return full(value.dims(), Operand(truth));
}
bool is_of_same(const Expr& value) {
  return input_of(value, 0).same(input_of(value, 1));
}

// x < x is false, of NaN too; x != x only of integers.
Expr order_of_same(const Expr& value, RuleContext&) {
  const unsigned kind = kind_of(input_of(value, 0).dtype());
  if (!is_of_same(value) || kind == kComplexes || (kind == kFloats && is_op(value, neq_op()))) return {};
  return all_of(value, false);
}

// x == x
Expr equal_integers(const Expr& value, RuleContext&) {
  const unsigned kind = kind_of(input_of(value, 0).dtype());
  return is_of_same(value) && (kind & (kBools | kInts)) ? all_of(value, true) : Expr();
}
Expr equal_floats(const Expr& value, RuleContext&) {
  const bool floats = is_float(input_of(value, 0).dtype());
  return is_of_same(value) && floats ? all_of(value, !is_op(value, neq_op())) : Expr();
}

std::vector<RuleExample> cast_examples() {
  using D = DType;
  std::vector<RuleExample> out;
  for (auto [from, middle, to] : {std::array{D::kFloat32, D::kFloat64, D::kFloat32},
                                  {D::kBool, D::kInt8, D::kFloat32},
                                  {D::kInt8, D::kInt64, D::kInt16},
                                  {D::kUInt8, D::kInt32, D::kFloat64},
                                  {D::kInt16, D::kFloat32, D::kInt64},
                                  {D::kInt32, D::kFloat64, D::kFloat32},
                                  {D::kInt32, D::kInt64, D::kUInt8},
                                  {D::kFloat32, D::kFloat64, D::kBool}})
    out.push_back({{{.dtype = from, .dims = {7}}},
                   [middle = middle, to = to](const std::vector<Expr>& in) { return cast(cast(in[0], middle), to); }});
  return out;
}

}  // namespace

const std::vector<Rule>& selection_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), z = any_value("z"), condition = any_condition("condition");
    const Type f64{.dtype = DType::kFloat64, .dims = {3, 5}}, f32{.dtype = DType::kFloat32, .dims = {5}};
    const Type i64{.dtype = DType::kInt64, .dims = {5}};
    constexpr Safety kExact = Safety::kExact, kFinite = Safety::kFiniteMath;
    const RuleCondition switch_once = operands_have_one_use(switch_op());
    return std::vector<Rule>{
        {.name = "cast_of_cast",
         .kinds = kAll,
         .rewrite = cast_of_cast,
         .roots = {&cast_op()},
         .examples = cast_examples()},
        {.name = "useless_cast",
         .kinds = kAll,
         .rewrite = useless_cast,
         .roots = {&cast_op()},
         .examples = {{{f32},
                       [](In in) {
                         return apply(cast_op(), {in[0]}, {{"dtype", DType::kFloat32}});
                       }}}},
        {.name = "check_that_holds",
         .kinds = kAll,
         .rewrite = check_that_holds,
         .roots = {&check_op()},
         .examples = {{{f64}, [](In in) { return check(in[0], true, "never"); }},
                      {{f32}, [](In in) { return check(in[0], ones({3}, DType::kBool), "never"); }}}},
        {.name = "decided_switch",
         .kinds = kAll,
         .rewrite = decided_switch,
         .roots = {&switch_op()},
         .examples = {{{f64, f32}, [](In in) { return switch_(true, in[0], in[1]); }},
                      {{f64, f32}, [](In in) { return switch_(false, in[0], in[1]); }},
                      {{f64, f64}, [](In in) { return switch_(2, in[0], in[1]); }}}},
        {"switch_in_first", switch_(condition, switch_(condition, x, y), z), switch_(condition, x, z), kExact, kAll},
        {"switch_in_second", switch_(condition, x, switch_(condition, y, z)), switch_(condition, x, z), kExact, kAll},
        {"switch_of_true_false", switch_(condition, true, false), condition, kExact, kBools},
        {"switch_of_false_true", switch_(condition, false, true), logical_not(condition), kExact, kBools},
        // 0 * y, where the condition says 0: what y is there (an infinity, no number) must not matter.
        {"mul_of_switch_zero", switch_(condition, x, 0) * y, switch_(condition, x * y, 0), kFinite, kFloats,
         switch_once, true},
        {"mul_of_switch_zero_first", switch_(condition, 0, x) * y, switch_(condition, 0, x * y), kFinite, kFloats,
         switch_once, true},
        {"div_of_switch_zero", switch_(condition, x, 0) / y, switch_(condition, x / y, 0), kFinite, kFloats,
         switch_once, true},
        {"div_of_switch_zero_first", switch_(condition, 0, x) / y, switch_(condition, 0, x / y), kFinite, kFloats,
         switch_once, true},
        {"switch_of_same", switch_(condition, x, x), x, kExact, kAll},
        {"switch_of_not", switch_(logical_not(condition), x, y), switch_(condition, y, x), kExact, kAll},
        {"not_of_not", logical_not(logical_not(x)), x, kExact, kBools},
        {"and_of_same", logical_and(x, x), x, kExact, kBools},
        {"or_of_same", logical_or(x, x), x, kExact, kBools},
        {"and_with_true", logical_and(x, true), x, kExact, kBools},
        {"and_with_false", logical_and(x, false), Operand(false).expr(), kExact, kBools},
        {"or_with_true", logical_or(x, true), Operand(true).expr(), kExact, kBools},
        {"or_with_false", logical_or(x, false), x, kExact, kBools},
        {"not_of_eq", logical_not(eq(x, y)), neq(x, y), kExact, kBools, operands_have_one_use(eq_op())},
        {"not_of_neq", logical_not(neq(x, y)), eq(x, y), kExact, kBools, operands_have_one_use(neq_op())},
        {.name = "order_of_same",
         .kinds = kBools,
         .rewrite = order_of_same,
         .roots = {&lt_op(), &gt_op(), &neq_op()},
         .examples = {{{f64}, [](In in) { return lt(in[0], in[0]); }},
                      {{f32}, [](In in) { return gt(in[0], in[0]); }},
                      {{i64}, [](In in) { return neq(in[0], in[0]); }}}},
        {.name = "equal_integers",
         .kinds = kBools,
         .rewrite = equal_integers,
         .roots = {&eq_op(), &le_op(), &ge_op()},
         .examples = {{{i64}, [](In in) { return eq(in[0], in[0]); }},
                      {{i64}, [](In in) { return le(in[0], in[0]); }}}},
        {.name = "equal_floats",
         .safety = kFinite,
         .kinds = kBools,
         .compares = true,
         .rewrite = equal_floats,
         .roots = {&eq_op(), &le_op(), &ge_op(), &neq_op()},
         .examples = {{{f64}, [](In in) { return eq(in[0], in[0]); }},
                      {{f32}, [](In in) { return ge(in[0], in[0]); }},
                      {{f64}, [](In in) { return neq(in[0], in[0]); }}}},
        {"maximum_again", maximum(x, maximum(x, y)), maximum(x, y), kExact, kBools | kReals},
        {"minimum_again", minimum(x, minimum(x, y)), minimum(x, y), kExact, kBools | kReals},
        {"neg_of_maximum_of_negs", -maximum(-x, -y), minimum(x, y), kExact, kFloats,
         operands_have_one_use(maximum_op())},
        {"neg_of_minimum_of_negs", -minimum(-x, -y), maximum(x, y), kExact, kFloats,
         operands_have_one_use(minimum_op())},
        {"floor_div_by_one", floor_div(x, 1), x, kExact, kInts},
        {"mod_by_one", x % 1, Operand(0).expr(), kExact, kInts},
        {"maximum_of_same", maximum(x, x), x, kExact, kBools | kReals},
        {"minimum_of_same", minimum(x, x), x, kExact, kBools | kReals},
    };
  }();
  return rules;
}

}  // namespace thtrain
