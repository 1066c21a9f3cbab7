// Products of matrices: transposes, factors and signs move out, and chains are computed in the cheapest order.
#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/linalg/contraction.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/rules/examples.h"

namespace thtrain {
namespace {

bool is_transposed(const Expr& e) {
  return is_op(e, dimshuffle_op()) && e.node().props.get<Ints>("order") == Ints{1, 0};
}

// transpose(dot(a, b)) -> dot(transpose(b), transpose(a)): a product reads both as they lie, and writes row by row.
Expr transpose_of_dot(const Expr& value, RuleContext& context) {
  const Expr& product = input_of(value, 0);
  if (!is_transposed(value) || !is_op(product, dot_op()) || !context.has_one_use(product)) return {};
  if (input_of(product, 0).rank() != 2 || input_of(product, 1).rank() != 2) return {};
  return dot(transpose(input_of(product, 1)), transpose(input_of(product, 0)));
}

// dot(s * a, b) -> s * dot(a, b) for a scalar s, where nothing else would be computed in the loop over a: the factor of
// a product costs nothing, or less. Where a is a computed value, its loop multiplies on the way.
Expr dot_of_scaled(const Expr& value, RuleContext& context) {
  for (size_t i : {0, 1}) {
    const Expr &scaled = input_of(value, i), &other = input_of(value, 1 - i);
    if (!context.has_one_use(scaled) || scaled.rank() == 0 || scaled.dtype() != value.dtype()) continue;
    const bool negates = is_op(scaled, neg_op()), divides = is_op(scaled, true_div_op());
    if (!negates && !divides && !is_op(scaled, mul_op())) continue;
    for (size_t k : {0, 1}) {
      if (k == 1 && (negates || divides)) break;
      const Expr& a = input_of(scaled, k);
      if (!(a.type() == scaled.type()) || a.node().op->scalar) continue;
      const Expr scale = negates ? Expr() : input_of(scaled, 1 - k);
      if (scale.has_value() && (scale.rank() != 0 || scale.dtype() != value.dtype())) continue;
      const Expr product = i == 0 ? dot(a, other) : dot(other, a);
      return negates ? -product : divides ? product / scale : scale * product;
    }
  }
  return {};
}

// dot(column [n, 1], row [1, m]) -> column * row
Expr dot_of_single(const Expr& value, RuleContext&) {
  const Expr &a = input_of(value, 0), &b = input_of(value, 1);
  if (a.rank() != 2 || b.rank() != 2 || !a.dims()[1].is(1) || !b.dims()[0].is(1)) return {};
  if (a.dtype() != value.dtype() || b.dtype() != value.dtype()) return {};
  return a * b;
}

// Multiplications of a product of complex matrices, from which on it is one of real ones.
constexpr int64_t kManyMultiplications = 512;

bool is_small(const Expr& a, const Expr& b) {
  const Dim count = a.dims()[a.rank() - 2] * a.dims().back() * b.dims().back();
  return count.is_known() && count.value() < kManyMultiplications;
}

// The real and imaginary part; no imaginary one of a value that was cast from real numbers.
std::pair<Expr, Expr> parts_of(const Expr& x) {
  if (is_op(x, cast_op()) && !is_complex(input_of(x, 0).dtype()))
    return {cast(input_of(x, 0), real_dtype(x.dtype())), Expr()};
  return {real(x), imag(x)};
}

// dot(a, b) of complex matrices, or batches of them, is made of products of their parts, for which there are fast
// implementations. With a vector it is bound by memory, and is a sum.
Expr dot_of_complex(const Expr& value, RuleContext&) {
  const Expr &a = input_of(value, 0), &b = input_of(value, 1);
  if (b.rank() == 1) return sum(a * b, -1);
  if (a.rank() == 1) return sum(expand_dims(a, {1}) * b, 0);
  if (is_small(a, b)) return {};
  const auto [re_a, im_a] = parts_of(a);
  const auto [re_b, im_b] = parts_of(b);
  auto product = [&](const Expr& x, const Expr& y) { return apply(*value.node().op, {x, y}); };
  const Expr re = product(re_a, re_b);
  if (!im_a.has_value() && !im_b.has_value()) return cast(re, value.dtype());
  if (!im_a.has_value()) return complex(re, product(re_a, im_b));
  if (!im_b.has_value()) return complex(re, product(im_a, re_b));
  return complex(re - product(im_a, im_b), product(re_a, im_b) + product(im_a, re_b));
}

// sum(x[:, :, None] * y[None], 1) -> dot(x, y): where each factor has axes of the result to itself, the elements of the
// sum are not computed one by one. The axes of the product have their numbers as names.
Expr product_of_repeated(const Expr& value, RuleContext& context) {
  const Expr& product = input_of(value, 0);
  if (!is_op(product, mul_op()) || !context.has_one_use(product)) return {};
  const Ints& axes = value.node().props.get<Ints>("axes");
  std::vector<int> kept;
  for (size_t axis = 0; axis < product.rank(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end())
      kept.push_back(static_cast<int>(axis));
  Labelled factors[2];
  std::vector<bool> has_own(2), is_of(2 * product.rank());
  for (size_t side : {0, 1}) {
    const Expr& x = input_of(product, side);
    if (x.dtype() != value.dtype()) return {};
    Ints order;
    for (size_t i = 0; i < x.rank(); ++i) {
      const size_t axis = product.rank() - x.rank() + i;
      if (x.dims()[i].is(1)) continue;
      order.push_back(static_cast<int64_t>(i));
      factors[side].labels.push_back(static_cast<int>(axis));
      is_of[2 * axis + side] = true;
    }
    factors[side].value = dimshuffle(x, order);
  }
  bool has_both = false;
  for (int axis : kept)
    for (size_t side : {0, 1})
      if (is_of[2 * static_cast<size_t>(axis) + side] && !is_of[2 * static_cast<size_t>(axis) + 1 - side])
        has_own[side] = true;
  for (int64_t axis : axes)
    has_both = has_both || (is_of[2 * static_cast<size_t>(axis)] && is_of[2 * static_cast<size_t>(axis) + 1]);
  if (!has_both || !has_own[0] || !has_own[1]) return {};
  return reshape(contract(factors[0], factors[1], kept).value, value.dims());
}

// ---- chains --------------------------------------------------------------------------------------------------------

constexpr size_t kLongestChain = 12;

double known(const Dim& dim) {
  return dim.is_known() ? static_cast<double>(dim.value()) : std::nan("");
}

// The matrices of a product of products that nobody else reads, and the multiplications of the order that it has; no
// number where a length is not known.
double collect_chain(const Expr& e, size_t depth, const RuleContext& context, std::vector<Expr>& out) {
  const bool splits =
      is_op(e, dot_op()) && depth + out.size() < kLongestChain && (depth == 0 || context.has_one_use(e));
  if (!splits) {
    out.push_back(e);
    return 0;
  }
  const Expr &a = input_of(e, 0), &b = input_of(e, 1);
  const double before = collect_chain(a, depth + 1, context, out) + collect_chain(b, depth + 1, context, out);
  return before + known(a.dims()[0]) * known(a.dims()[1]) * known(b.dims()[1]);
}

// The cheapest order for every part of a chain: Godbole, "On efficient computation of matrix chain products" (1973).
class ChainOrder {
 public:
  explicit ChainOrder(const std::vector<double>& lengths)
      : n_(lengths.size() - 1), cost_(n_ * n_, 0), split_(n_ * n_, 0) {
    for (size_t span = 1; span < n_; ++span)
      for (size_t i = 0; i + span < n_; ++i) {
        const size_t k = i + span;
        for (size_t at = i; at < k; ++at) {
          double cost = cost_[i * n_ + at] + cost_[(at + 1) * n_ + k] + lengths[i] * lengths[at + 1] * lengths[k + 1];
          if (at > i && cost >= cost_[i * n_ + k]) continue;
          cost_[i * n_ + k] = cost;
          split_[i * n_ + k] = at;
        }
      }
  }
  double cost() const { return cost_[n_ - 1]; }
  Expr build(const std::vector<Expr>& chain, size_t i, size_t k) const {
    if (i == k) return chain[i];
    const size_t at = split_[i * n_ + k];
    return dot(build(chain, i, at), build(chain, at + 1, k));
  }

 private:
  size_t n_;
  std::vector<double> cost_;
  std::vector<size_t> split_;
};

// dot(dot(a, b), v) -> dot(a, dot(b, v)): with a vector always cheaper, else where the lengths are known and say so.
Expr dot_chain(const Expr& value, RuleContext& context) {
  const Expr &a = input_of(value, 0), &b = input_of(value, 1);
  auto splits = [&](const Expr& e) {
    return is_op(e, dot_op()) && context.has_one_use(e) && input_of(e, 0).rank() == 2 && input_of(e, 1).rank() == 2;
  };
  if (b.rank() == 1 && a.rank() == 2 && splits(a)) return dot(input_of(a, 0), dot(input_of(a, 1), b));
  if (a.rank() == 1 && b.rank() == 2 && splits(b)) return dot(dot(a, input_of(b, 0)), input_of(b, 1));
  if (value.rank() != 2) return {};
  std::vector<Expr> chain;
  const double cost = collect_chain(value, 0, context, chain);
  if (chain.size() < 3 || std::isnan(cost)) return {};
  std::vector<double> lengths{known(chain[0].dims()[0])};
  for (const Expr& matrix : chain) lengths.push_back(known(matrix.dims()[1]));
  const ChainOrder order(lengths);
  if (!(order.cost() < cost)) return {};
  return order.build(chain, 0, chain.size() - 1);
}

}  // namespace

const std::vector<Rule>& matrix_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      {.name = "transpose_of_dot",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = transpose_of_dot,
       .roots = {&dimshuffle_op()},
       .examples = {{{f64({3, 4}), f64({4, 2})}, [](In in) { return transpose(dot(in[0], in[1])); }},
                    {{f32({4, 3}), f32({4, 2})}, [](In in) { return transpose(dot(transpose(in[0]), in[1])); }},
                    {{f64({0, 4}), f64({4, 2})}, [](In in) { return transpose(dot(in[0], in[1])); }}}},
      {.name = "dot_of_scaled",
       .safety = kReassociating,
       .rewrite = dot_of_scaled,
       .roots = {&dot_op()},
       .examples = {{{f64({3, 4}), f64({4, 2}), f64({})}, [](In in) { return dot(in[2] * in[0], in[1]); }},
                    {{f32({3, 4}), f32({4}), f32({})}, [](In in) { return dot(in[0], in[1] / in[2]); }},
                    {{f64({4}), f64({4, 2})}, [](In in) { return dot(-in[0], in[1]); }},
                    {{f64({4, 3}), f64({4, 2})}, [](In in) { return dot(0.5 * transpose(in[0]), in[1]); }}}},
      {.name = "dot_of_single",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = dot_of_single,
       .roots = {&dot_op()},
       .examples = {{{f64({3, 1}), f64({1, 2})}, [](In in) { return dot(in[0], in[1]); }},
                    {{f32({3}), f32({2})}, [](In in) { return dot(expand_dims(in[0], {1}), expand_dims(in[1], {0})); }},
                    {{f64({0, 1}), f64({1, 2})}, [](In in) { return dot(in[0], in[1]); }}}},
      {.name = "dot_of_complex",
       .safety = kReassociating,
       .kinds = kComplexes,
       .values_only = true,
       .rewrite = dot_of_complex,
       .roots = {&dot_op(), &batched_dot_op()},
       .examples = {{{c128({9, 8}), c128({8, 10})}, [](In in) { return dot(in[0], in[1]); }},
                    {{c64({9, 8}), c64({10, 8})}, [](In in) { return dot(in[0], transpose(in[1])); }},
                    {{f64({9, 8}), c128({8, 10})}, [](In in) { return dot(in[0], in[1]); }},
                    {{c64({9, 8}), f32({8, 10})}, [](In in) { return dot(in[0], in[1]); }},
                    {{c128({2, 8, 9}), c128({2, 9, 10})}, [](In in) { return matmul(in[0], in[1]); }},
                    {{c128({9, 8}), c128({8})}, [](In in) { return dot(in[0], in[1]); }},
                    {{c64({8}), c64({8, 3})}, [](In in) { return dot(in[0], in[1]); }}}},
      {.name = "product_of_repeated",
       .safety = kReassociating,
       .rewrite = product_of_repeated,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4}), f64({4, 2})},
                     [](In in) { return sum(expand_dims(in[0], {2}) * expand_dims(in[1], {0}), 1); }},
                    {{f32({3, 4}), f32({2, 4})}, [](In in) { return sum(expand_dims(in[0], {1}) * in[1], 2, true); }},
                    {{f64({3, 4, 5}), f64({3, 2, 1, 5})},
                     [](In in) { return sum(expand_dims(in[0], {1}) * in[1], 3); }},
                    {{f64({2, 3, 4}), f64({2, 4, 5})},
                     [](In in) { return sum(expand_dims(in[0], {3}) * expand_dims(in[1], {1}), 2); }}}},
      {.name = "dot_chain",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = dot_chain,
       .roots = {&dot_op()},
       .examples = {{{f64({3, 4}), f64({4, 5}), f64({5})}, [](In in) { return dot(dot(in[0], in[1]), in[2]); }},
                    {{f32({3}), f32({3, 5}), f32({5, 4})}, [](In in) { return dot(in[0], dot(in[1], in[2])); }},
                    {{f64({9, 2}), f64({2, 9}), f64({9, 2})}, [](In in) { return dot(dot(in[0], in[1]), in[2]); }},
                    {{f64({2, 9}), f64({9, 3}), f64({3, 8}), f64({8, 2})},
                     [](In in) { return dot(in[0], dot(dot(in[1], in[2]), in[3])); }}}},
  };
  return rules;
}

}  // namespace thtrain
