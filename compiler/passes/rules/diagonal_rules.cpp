// Sums and products of diagonals: traces of products, logarithms of determinants.
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

// The matrices whose diagonals the value has as [n, ...], as diagonal() reads them; empty for other values.
Expr matrices_of_diagonal(const Expr& value) {
  if (!is_op(value, gather_op()) || value.node().inputs.size() != 3 || value.rank() == 0) return {};
  if (value.node().props.get<Ints>("axes") != Ints{0, 1}) return {};
  const Expr &x = input_of(value, 0), &i = input_of(value, 1);
  if (&i.node() != &input_of(value, 2).node() || !is_op(i, arange_op()) || x.rank() != value.rank() + 1) return {};
  const Props& props = i.node().props;
  if (i.dtype() != DType::kInt64 || props.get<int64_t>("step") != 1 || !props.get<Dims>("first")[0].is(0) ||
      x.dims()[0] != x.dims()[1] || i.dims()[0] != x.dims()[0])
    return {};
  if (x.rank() == 2) return x;
  if (!is_op(x, dimshuffle_op())) return {};
  Ints order(x.rank());
  std::iota(order.begin() + 2, order.end(), 0);
  order[0] = static_cast<int64_t>(x.rank()) - 2;
  order[1] = order[0] + 1;
  return x.node().props.get<Ints>("order") == order ? input_of(x, 0) : Expr();
}

// sum(diagonal(dot(a, b))) -> sum(a * transpose(b)): of all products of rows and columns only n are needed.
Expr trace_of_dot(const Expr& value, RuleContext& context) {
  Expr diagonals = input_of(value, 0);
  Ints axes = value.node().props.get<Ints>("axes");
  if (is_op(diagonals, dimshuffle_op())) {  // n behind the others
    const Ints order = diagonals.node().props.get<Ints>("order");
    for (int64_t& axis : axes) axis = order[static_cast<size_t>(axis)];
    if (diagonals.rank() != input_of(diagonals, 0).rank()) return {};
    diagonals = input_of(diagonals, 0);
  }
  if (axes != Ints{0} || value.rank() + 1 != diagonals.rank()) return {};
  const Expr product = matrices_of_diagonal(diagonals);
  if (!product.has_value() || !context.has_one_use(product)) return {};
  if (!is_op(product, dot_op()) && !is_op(product, batched_dot_op())) return {};
  const Expr &a = input_of(product, 0), &b = input_of(product, 1);
  if (a.rank() != product.rank() || b.rank() != product.rank()) return {};
  const auto last = static_cast<int64_t>(product.rank()) - 1;
  return sum(a * matrix_transpose(b), std::vector<int64_t>{last - 1, last});
}

// x of x * x, however it is spelled; empty for other values.
Expr square_root_in(const Expr& x) {
  if (is_op(x, sqr_op())) return input_of(x, 0);
  return is_op(x, mul_op()) && input_of(x, 0).same(input_of(x, 1)) ? input_of(x, 0) : Expr();
}

// Never negative by what computes it: squares, absolute values, the diagonals of Cholesky's factors.
bool is_not_negative(const Expr& x) {
  if (square_root_in(x).has_value() || is_op(x, abs_op())) return true;
  if (is_op(x, dimshuffle_op()) || is_op(x, reshape_op())) return is_not_negative(input_of(x, 0));
  const Expr matrices = matrices_of_diagonal(x);
  return matrices.has_value() && is_op(matrices, cholesky_op());
}

// The sign of the rows that lu exchanged: 1 or -1.
bool is_sign_of_rows(const Expr& x) {
  if (!is_op(x, cast_op())) return false;
  const Expr& of = input_of(x, 0);
  return is_op(of, lu_op()) && of.output() == 2;
}

// log|prod(x) * sign| -> sum(log|x|), and without | | where x is never negative: x^2, and what det makes of a positive
// definite matrix.
Expr log_of_known_prod(const Expr& value, RuleContext&) {
  const Expr& argument = input_of(value, 0);
  const bool is_absolute = is_op(argument, abs_op());
  const Expr& product = is_absolute ? input_of(argument, 0) : argument;
  if (product.dtype() != value.dtype()) return {};
  Expr total;
  for (const Factor& factor : factors_of(product, nullptr).factors) {
    const Expr& base = factor.base;
    if (is_absolute && is_sign_of_rows(base)) continue;
    if (!is_op(base, prod_op()) || factor.below != 0 || base.dtype() != value.dtype()) return {};
    const Expr& x = input_of(base, 0);
    if (x.dtype() != value.dtype()) return {};
    const bool is_known = is_not_negative(x);
    if (!is_known && !is_absolute && factor.above % 2 != 0) return {};
    const bool is_square = square_root_in(x).has_value();
    const Expr root = is_square ? square_root_in(x) : x;
    Expr part = apply(sum_op(), {log(is_not_negative(root) ? root : abs(root))}, base.node().props);
    const int times = factor.above * (is_square ? 2 : 1);
    if (times != 1) part = static_cast<double>(times) * part;
    total = total.has_value() ? total + part : part;
  }
  const Product all = factors_of(product, nullptr);
  return all.numbers_above.empty() && all.numbers_below.empty() && (is_absolute || !all.negative) ? total : Expr();
}

}  // namespace

const std::vector<Rule>& trace_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
      {.name = "trace_of_dot",
       .safety = Safety::kReassociating,
       .rewrite = trace_of_dot,
       .roots = {&sum_op()},
       .examples = {{{f64({4, 3}), f64({3, 4})}, [](In in) { return trace(dot(in[0], in[1])); }},
                    {{f32({5, 5}), f32({5, 5})}, [](In in) { return trace(dot(transpose(in[0]), in[1])); }},
                    {{f64({2, 3, 4}), f64({2, 4, 3})}, [](In in) { return trace(matmul(in[0], in[1]), 0, -2, -1); }}}},
  };
  return rules;
}

const std::vector<Rule>& log_determinant_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
      {.name = "log_of_prod",
       .safety = Safety::kRangeChanging,
       .values_only = true,
       .rewrite = log_of_known_prod,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return log(abs(prod(in[0], 1))); }},
                    {{f32({4})}, [](In in) { return log(prod(sqr(in[0]))); }},
                    {{f64({3, 4})}, [](In in) { return log(sqr(prod(in[0], 0))); }},
                    {{f64({3, 2})}, [](In in) { return log(prod(abs(in[0]), 0)); }},
                    {{f64({4, 4})}, [](In in) { return log(abs(det(in[0]))); }}}},
  };
  return rules;
}

}  // namespace thtrain
