// switch, casts, extrema, logic.
#include <array>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
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

// cast(cast(x, float64), float32) -> x: what stands between holds all of x.
Expr cast_of_cast(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, cast_op())) return {};
  const Expr& x = input_of(inner, 0);
  return holds_all(x.dtype(), inner.dtype()) ? cast(x, value.dtype()) : Expr();
}

Expr useless_cast(const Expr& value, RuleContext&) {
  return input_of(value, 0).dtype() == value.dtype() ? input_of(value, 0) : Expr();
}

// switch(true, a, b) -> a, also where a is shorter or narrower than the result.
Expr decided_switch(const Expr& value, RuleContext&) {
  std::optional<double> condition = number_of(input_of(value, 0));
  if (!condition) return {};
  return cast(input_of(value, *condition != 0 ? 1 : 2), value.dtype());
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
    const Expr x = any_value("x"), y = any_value("y"), condition = any_condition("condition");
    const Type f64{.dtype = DType::kFloat64, .dims = {3, 5}}, f32{.dtype = DType::kFloat32, .dims = {5}};
    constexpr Safety kExact = Safety::kExact;
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
        {.name = "decided_switch",
         .kinds = kAll,
         .rewrite = decided_switch,
         .roots = {&switch_op()},
         .examples = {{{f64, f32}, [](In in) { return switch_(true, in[0], in[1]); }},
                      {{f64, f32}, [](In in) { return switch_(false, in[0], in[1]); }},
                      {{f64, f64}, [](In in) { return switch_(2, in[0], in[1]); }}}},
        {"switch_of_same", switch_(condition, x, x), x, kExact, kAll},
        {"switch_of_not", switch_(logical_not(condition), x, y), switch_(condition, y, x), kExact, kAll},
        {"not_of_not", logical_not(logical_not(x)), x, kExact, kBools},
        {"and_of_same", logical_and(x, x), x, kExact, kBools},
        {"or_of_same", logical_or(x, x), x, kExact, kBools},
        {"maximum_of_same", maximum(x, x), x, kExact, kBools | kReals},
        {"minimum_of_same", minimum(x, x), x, kExact, kBools | kReals},
    };
  }();
  return rules;
}

}  // namespace thtrain
