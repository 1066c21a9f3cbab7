// Some elements added to zeros: what gradients of parts and of picked elements are made of.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/rules/examples.h"

namespace thtrain {
namespace {

// scatter_add_rows(0, labels, y) and the like: zeros but for some elements.
bool is_sparse_increment(const Expr& e) {
  return (is_op(e, scatter_op()) || is_op(e, inc_subtensor_op())) && !e.node().props.get<bool>("set") &&
         number_of(input_of(e, 0)) == 0.0;
}

// Is what is increased one element of each of these axes, for all others?
bool names_axes(const Node& scatter, const Ints& axes) {
  const IndexedAxes form = indexed_axes_of(scatter);
  return std::all_of(form.axes.begin(), form.axes.end(), [](const auto& axis) { return axis.of_x.has_value(); }) &&
         axes == scatter.props.get<Ints>("axes");
}

// The same elements of x, increased by y.
Expr increased(const Expr& like, const Expr& x, const Expr& y) {
  std::vector<Expr> inputs = like.node().inputs;
  inputs[0] = x;
  inputs[kScattered] = y;
  return Expr(make_node(*like.node().op, std::move(inputs), like.node().props));
}

// sum(scatter_add_rows(0, labels, y), 1) -> y; the sum of all is sum(y) for every kind of increment.
Expr sum_of_increment(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  const Ints& axes = value.node().props.get<Ints>("axes");
  if (!is_sparse_increment(x) || x.dtype() != value.dtype()) return {};
  const Expr& y = input_of(x, kScattered);
  if (axes.size() == x.rank()) return reshape(sum(y), value.dims());
  return is_op(x, scatter_op()) && names_axes(x.node(), axes) ? reshape(y, value.dims()) : Expr();
}

// x + scatter_add_rows(0, labels, y) -> scatter_add_rows(x, labels, y), which may happen in place. A part that others
// read too is added to other parts alone: together they may be all of them, and then need no zeros.
Expr add_of_increment(const Expr& value, RuleContext& context) {
  const bool subtracts = is_op(value, sub_op());
  for (size_t i : {1, 0}) {
    const Expr &picked = input_of(value, i), &x = input_of(value, 1 - i);
    if (!is_sparse_increment(picked)) continue;
    if (!context.has_one_use(picked) && !(is_op(picked, inc_subtensor_op()) && is_op(x, inc_subtensor_op()))) continue;
    if (!(x.type() == value.type()) || !(picked.type() == value.type())) continue;
    const Expr& y = input_of(picked, kScattered);
    return increased(picked, subtracts && i == 0 ? -x : x, subtracts && i == 1 ? -y : y);
  }
  return {};
}

// s * scatter_add_rows(0, labels, y) -> scatter_add_rows(0, labels, s * y), for a scalar s.
Expr scaled_increment(const Expr& value, RuleContext& context) {
  const bool divides = is_op(value, true_div_op()), negates = is_op(value, neg_op());
  for (size_t i = 0; i < (divides || negates ? 1 : 2); ++i) {
    const Expr& picked = input_of(value, i);
    if (!is_sparse_increment(picked) || !context.has_one_use(picked) || picked.dtype() != value.dtype()) continue;
    const Expr &zeros = input_of(picked, 0), &y = input_of(picked, kScattered);
    if (negates) return increased(picked, zeros, -y);
    const Expr& scale = input_of(value, 1 - i);
    if (scale.rank() != 0 || scale.dtype() != value.dtype()) continue;
    return increased(picked, zeros, divides ? y / scale : scale * y);
  }
  return {};
}

// Zeros whose second row is y.
Expr part_alone(const Expr& y, const Dims& dims) {
  return inc_subtensor(subtensor(zeros(dims, y.dtype()), {1}), y);
}

}  // namespace

const std::vector<Rule>& index_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kReassociating = Safety::kReassociating;
  auto picked = [](const Expr& labels, const Expr& y) {
    return scatter_add_rows(zeros({y.dims()[0], 5}, y.dtype()), labels, y);
  };
  static const std::vector<Rule> rules{
      {.name = "sum_of_increment",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_increment,
       .roots = {&sum_op()},
       .examples = {{{i64({60}), f64({60})}, [picked](In in) { return sum(picked(in[0], in[1]), 1); }},
                    {{i64({3}), f32({3})}, [picked](In in) { return sum(picked(in[0], in[1]), 1, true); }},
                    {{f64({3})},
                     [](In in) {
                       return sum(part_alone(in[0], {5, 3}));
                     }},
                    {{i64({0}), f64({0})}, [picked](In in) { return sum(picked(in[0], in[1])); }}}},
      {.name = "add_of_increment",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = add_of_increment,
       .roots = {&add_op(), &sub_op()},
       .examples = {{{i64({3}), f64({3}), f64({3, 5})}, [picked](In in) { return in[2] + picked(in[0], in[1]); }},
                    {{i64({3}), f32({3}), f32({3, 5})}, [picked](In in) { return in[2] - picked(in[0], in[1]); }},
                    {{f64({3}), f64({5, 3})},
                     [](In in) {
                       return in[1] + part_alone(in[0], {5, 3});
                     }},
                    {{i64({2}), f64({2, 3}), f64({5, 3})},
                     [](In in) {
                       return scatter_add(zeros({5, 3}, DType::kFloat64), in[0], in[1]) - in[2];
                     }},
                    {{i64({3}), f64({3}), f64({3, 5})}, [picked](In in) { return picked(in[0], in[1]) - in[2]; }}}},
      // The zeros are multiplied too.
      {.name = "scaled_increment",
       .safety = Safety::kFiniteMath,
       .kinds = kReals,
       .for_gradients = true,
       .rewrite = scaled_increment,
       .roots = {&mul_op(), &true_div_op(), &neg_op()},
       .examples = {{{i64({3}), f64({3}), f64({})}, [picked](In in) { return in[2] * picked(in[0], in[1]); }},
                    {{i64({3}), f32({3}), f32({})}, [picked](In in) { return picked(in[0], in[1]) / in[2]; }},
                    {{f64({3}), f64({})},
                     [](In in) {
                       return part_alone(in[0], {5, 3}) * in[1];
                     }},
                    {{i64({3}), f64({3})}, [picked](In in) { return -picked(in[0], in[1]); }}}},
  };
  return rules;
}

}  // namespace thtrain
