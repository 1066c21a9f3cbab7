// Products over chosen axes, by contractions.
#include <algorithm>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/contraction.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

// Axes are named by numbers: those of a from 0 on, those of b behind them, but for the ones that are summed or, with a
// batch, the first.
static Expr tensordot_of(std::string_view name, const Operand& left, const Operand& right,
                         const std::vector<int64_t>& a_axes, const std::vector<int64_t>& b_axes, bool has_batch) {
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> x = resolve({&left, &right});
  Expr &a = x[0], &b = x[1];
  auto fail = [&](std::string what, std::string expected) {
    fail_build(where, str(name, ": ", what), std::move(expected),
               str("left ", value_text(a), ", right ", value_text(b)));
  };
  if (a_axes.size() != b_axes.size())
    fail(str(a_axes.size(), " axes of a and ", b_axes.size(), " of b"), "as many of both");
  if (has_batch && (a.rank() == 0 || b.rank() == 0)) fail("an operand is a scalar", "a first axis of both");
  Labelled first{{}, std::vector<int>(a.rank())}, second{{}, std::vector<int>(b.rank())};
  std::iota(first.labels.begin(), first.labels.end(), 0);
  std::iota(second.labels.begin(), second.labels.end(), static_cast<int>(a.rank()));
  if (has_batch) second.labels[0] = 0;
  std::vector<int> dropped;
  for (size_t i = 0; i < a_axes.size(); ++i) {
    const size_t of_a = axis_of(a_axes[i], a, name, where), of_b = axis_of(b_axes[i], b, name, where);
    if (has_batch && (of_a == 0 || of_b == 0)) fail("the first axis is that of the batch", "other axes");
    const int label = static_cast<int>(of_a);
    if (std::find(dropped.begin(), dropped.end(), label) != dropped.end() ||
        second.labels[of_b] != static_cast<int>(a.rank() + of_b))
      fail("an axis is named twice", "different axes");
    const Dim &m = a.dims()[of_a], &n = b.dims()[of_b];
    if (m.is_known() && n.is_known() && m != n)
      fail(str("axis ", of_a, " of a and axis ", of_b, " of b differ in length"), "pairs of equal length");
    // A length that the call knows is not repeated to that of the other, nor the other to it.
    auto with_one = [](const Expr& value, size_t axis) {
      Dims lengths = value.dims();
      lengths[axis] = 1;
      return reshape(value, lengths);
    };
    if (m.is(1) && !n.is_known()) b = with_one(b, of_b);
    if (n.is(1) && !m.is_known()) a = with_one(a, of_a);
    second.labels[of_b] = label;
    dropped.push_back(label);
  }
  first.value = a;
  second.value = b;
  std::vector<int> kept;
  for (const Labelled* operand : {&first, &second})
    for (int label : operand->labels)
      if (std::find(dropped.begin(), dropped.end(), label) == dropped.end() &&
          std::find(kept.begin(), kept.end(), label) == kept.end())
        kept.push_back(label);
  return contract(first, second, kept).value;
}

Expr tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
               const std::vector<int64_t>& b_axes) {
  return tensordot_of("tensordot", a, b, a_axes, b_axes, false);
}

Expr tensordot(const Operand& a, const Operand& b, int64_t axes) {
  const int64_t rank = static_cast<int64_t>(a.expr().rank()),
                most = std::min<int64_t>(rank, static_cast<int64_t>(b.expr().rank()));
  if (axes < 0 || axes > most)
    fail_build(a.where(), str("tensordot: ", axes, " axes"), str("from 0 to ", most),
               str("left ", value_text(a.expr()), ", right ", value_text(b.expr())));
  std::vector<int64_t> last(static_cast<size_t>(axes)), first(static_cast<size_t>(axes));
  std::iota(last.begin(), last.end(), rank - axes);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(a, b, last, first);
}

Expr batched_tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
                       const std::vector<int64_t>& b_axes) {
  return tensordot_of("batched_tensordot", a, b, a_axes, b_axes, true);
}

Expr kron(const Operand& left, const Operand& right) {
  const Origin origin = Origin::here(left.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> x = resolve({&left, &right});
  const size_t rank = std::max(x[0].rank(), x[1].rank());
  // a[i, 1, j, 1] b[1, k, 1, l], and pairs of axes as one.
  std::vector<Expr> factors;
  Dims lengths(rank, Dim(1));
  for (size_t side = 0; side < 2; ++side) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < rank; ++i) {
      const size_t added = rank - x[side].rank();
      const int64_t axis = i < added ? -1 : static_cast<int64_t>(i - added);
      if (axis >= 0) lengths[i] = lengths[i] * x[side].dims()[static_cast<size_t>(axis)];
      for (size_t part = 0; part < 2; ++part) order.push_back(part == side ? axis : -1);
    }
    factors.push_back(dimshuffle({x[side], left.where()}, order));
  }
  return reshape(mul({factors[0], left.where()}, factors[1]), lengths);
}

}  // namespace thtrain
