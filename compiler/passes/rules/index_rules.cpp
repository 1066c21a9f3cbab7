// An element of each row added to zeros: what gradients of picked elements are made of.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

// inc_picked(0, labels, y): zeros but for one element of each row.
bool is_picked_alone(const Expr& e) {
  return is_op(e, inc_picked_op()) && number_of(input_of(e, 0)) == 0.0;
}

// sum(inc_picked(0, labels, y), 1) -> y
Expr sum_of_picked(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  const Ints& axes = value.node().props.get<Ints>("axes");
  if (!is_picked_alone(x) || axes.empty() || axes.back() != 1 || x.dtype() != value.dtype()) return {};
  const Expr& y = input_of(x, 2);
  return reshape(axes.size() == 2 ? sum(y) : y, value.dims());
}

// x + inc_picked(0, labels, y) -> inc_picked(x, labels, y), which may happen in place.
Expr add_picked(const Expr& value, RuleContext& context) {
  const bool subtracts = is_op(value, sub_op());
  for (size_t i : {1, 0}) {
    const Expr &picked = input_of(value, i), &x = input_of(value, 1 - i);
    if (!is_picked_alone(picked) || !context.read_once(picked)) continue;
    if (!(x.type() == value.type()) || !(picked.type() == value.type())) continue;
    const Expr &labels = input_of(picked, 1), &y = input_of(picked, 2);
    return inc_picked(subtracts && i == 0 ? -x : x, labels, subtracts && i == 1 ? -y : y);
  }
  return {};
}

// s * inc_picked(0, labels, y) -> inc_picked(0, labels, s * y), for a scalar s.
Expr scaled_picked(const Expr& value, RuleContext& context) {
  const bool divides = is_op(value, true_div_op()), negates = is_op(value, neg_op());
  for (size_t i = 0; i < (divides || negates ? 1 : 2); ++i) {
    const Expr& picked = input_of(value, i);
    if (!is_picked_alone(picked) || !context.read_once(picked) || picked.dtype() != value.dtype()) continue;
    const Expr& y = input_of(picked, 2);
    if (negates) return inc_picked(input_of(picked, 0), input_of(picked, 1), -y);
    const Expr& scale = input_of(value, 1 - i);
    if (scale.rank() != 0 || scale.dtype() != value.dtype()) continue;
    return inc_picked(input_of(picked, 0), input_of(picked, 1), divides ? y / scale : scale * y);
  }
  return {};
}

Type f64(Dims dims) {
  return {.dtype = DType::kFloat64, .dims = std::move(dims)};
}
Type i64(Dims dims) {
  return {.dtype = DType::kInt64, .dims = std::move(dims)};
}
Type f32(Dims dims) {
  return {.dtype = DType::kFloat32, .dims = std::move(dims)};
}

}  // namespace

const std::vector<Rule>& index_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kReassociating = Safety::kReassociating;
  auto picked = [](const Expr& labels, const Expr& y) {
    return inc_picked(zeros({y.dims()[0], 5}, y.dtype()), labels, y);
  };
  static const std::vector<Rule> rules{
      {.name = "sum_of_picked",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_picked,
       .roots = {&sum_op()},
       .examples = {{{i64({3}), f64({3})}, [picked](In in) { return sum(picked(in[0], in[1]), 1); }},
                    {{i64({3}), f32({3})}, [picked](In in) { return sum(picked(in[0], in[1]), 1, true); }},
                    {{i64({0}), f64({0})}, [picked](In in) { return sum(picked(in[0], in[1])); }}}},
      {.name = "add_picked",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = add_picked,
       .roots = {&add_op(), &sub_op()},
       .examples = {{{i64({3}), f64({3}), f64({3, 5})}, [picked](In in) { return in[2] + picked(in[0], in[1]); }},
                    {{i64({3}), f32({3}), f32({3, 5})}, [picked](In in) { return in[2] - picked(in[0], in[1]); }},
                    {{i64({3}), f64({3}), f64({3, 5})}, [picked](In in) { return picked(in[0], in[1]) - in[2]; }}}},
      // The zeros are multiplied too.
      {.name = "scaled_picked",
       .safety = Safety::kFiniteMath,
       .kinds = kReals,
       .for_gradients = true,
       .rewrite = scaled_picked,
       .roots = {&mul_op(), &true_div_op(), &neg_op()},
       .examples = {{{i64({3}), f64({3}), f64({})}, [picked](In in) { return in[2] * picked(in[0], in[1]); }},
                    {{i64({3}), f32({3}), f32({})}, [picked](In in) { return picked(in[0], in[1]) / in[2]; }},
                    {{i64({3}), f64({3})}, [picked](In in) { return -picked(in[0], in[1]); }}}},
  };
  return rules;
}

}  // namespace thtrain
