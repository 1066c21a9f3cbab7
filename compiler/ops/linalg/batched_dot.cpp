// The products of two batches of matrices, and NumPy's matmul on top of it.
#include <algorithm>
#include <tuple>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/linalg/batch.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::vector<Type> infer_batched(const TypeArgs& args) {
  const Type &a = args.type(0), &b = args.type(1);
  args.require(a.rank() >= 3 && a.rank() == b.rank(), "operands must have one rank, of 3 or more");
  args.require(a.dtype == b.dtype, "operands have different dtypes", "a cast of one of them");
  for (size_t i = 0; i + 2 < a.rank(); ++i)
    args.require_equal(a.dims[i], b.dims[i], str("the lengths of axis ", i, " of the batch differ"));
  args.require_equal(a.dims.back(), b.dims[b.rank() - 2], "inner lengths differ");
  Type out = a;
  out.dims.back() = b.dims.back();
  return {out};
}

std::vector<Tensor> reference_batched(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  const size_t last = a.rank() - 1;
  int64_t count = 1;
  for (size_t i = 0; i + 1 < last; ++i) count *= a.dim(i);
  reference_products(a, b, count, a.dim(last - 1), a.dim(last), b.dim(last), out);
  return {out};
}

Expr batch_product(const Expr& a, const Expr& b) {
  return apply(batched_dot_op(), {a, b});
}

std::vector<Expr> gradient_of_batch(const GradientArgs& args) {
  const Expr &a = args.input(0), &b = args.input(1), &d = args.cotangent();
  if (!is_float(a.dtype()) && !is_complex(a.dtype())) return {Expr(), Expr()};
  return {batch_product(d, matrix_transpose(b)), batch_product(matrix_transpose(a), d)};
}

std::vector<OpCase> cases_of_batches() {
  auto plain = [](const std::vector<Expr>& x) { return std::vector{batch_product(x[0], x[1])}; };
  auto of = [](DType dtype, Dims dims) { return Type{.dtype = dtype, .dims = std::move(dims)}; };
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, const Dims& a, const Dims& b, auto build) {
    out.push_back({.name = std::move(name), .inputs = {of(dtype, a), of(dtype, b)}, .build = build, .bound = 64});
  };
  constexpr DType f32 = DType::kFloat32, f64 = DType::kFloat64;
  add("matrices", f64, {4, 3, 5}, {4, 5, 2}, plain);
  add("matrices_f32", f32, {3, 7, 33}, {3, 33, 18}, plain);
  add("small", f32, {37, 4, 4}, {37, 4, 4}, plain);
  add("two_axes", f64, {2, 3, 4, 5}, {2, 3, 5, 6}, plain);
  add("transposed", f64, {3, 5, 4}, {3, 6, 5}, [](const std::vector<Expr>& x) {
    return std::vector{batch_product(matrix_transpose(x[0]), matrix_transpose(x[1]))};
  });
  add("heads", f32, {2, 5, 3, 4}, {2, 7, 3, 4}, [](const std::vector<Expr>& x) {  // axes of the batch that lie apart
    return std::vector{batch_product(transpose(x[0], {0, 2, 1, 3}), transpose(x[1], {0, 2, 3, 1}))};
  });
  add("three_axes_apart", f64, {2, 3, 2, 5, 4}, {2, 3, 2, 4, 2}, [](const std::vector<Expr>& x) {
    return std::vector{batch_product(transpose(x[0], {1, 0, 2, 3, 4}), transpose(x[1], {1, 0, 2, 3, 4}))};
  });
  add("repeated", f64, {3, 4}, {2, 4, 5}, [](const std::vector<Expr>& x) {
    return std::vector{batch_product(broadcast_to(x[0], {2, 3, 4}), x[1])};
  });
  add("no_matrices", f64, {0, 3, 5}, {0, 5, 2}, plain);
  add("empty_inner", f64, {2, 3, 0}, {2, 0, 2}, plain);
  add("one", f32, {1, 1, 1}, {1, 1, 1}, plain);
  add("row_and_column", f64, {3, 1, 5}, {3, 5, 1}, plain);
  add("integers", DType::kInt32, {2, 3, 4}, {2, 4, 2}, plain);
  add("bools", DType::kBool, {2, 5, 2}, {2, 2, 4}, plain);
  add("complex", DType::kComplex128, {2, 3, 4}, {2, 4, 5}, plain);
  add("complex_f32", DType::kComplex64, {2, 3, 4}, {2, 4, 5}, plain);
  return out;
}

}  // namespace

const Op& batched_dot_op() {
  static const Op op{
      .name = "batched_dot",
      .doc =
          "Matrix products, for each element of the leading axes.\n"
          "Shapes: [..., m, k] . [..., k, n] -> [..., m, n].\n"
          "dtypes: any, both the same.\n"
          "Gradient: that of dot, for each: da = dy . b^T, db = a^T . dy.\n"
          "Edge cases: zeros where k is 0.\n"
          "Example: [[[1, 2]], [[3, 4]]] . [[[1], [1]], [[1], [1]]]: [[[3]], [[7]]]",
      .called = [](const Props&) { return std::string("matmul"); },
      .infer = infer_batched,
      .reference = reference_batched,
      .error =
          [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[0].shape().back()) + 2); },
      .gradient = gradient_of_batch,
      .jvp = multilinear_jvp,
      .lower = lower_matrix_product,
      .iterations = &kSameOpOfIterations,
      .epilogue = &product_epilogue(),
      .accepts_layout =
          [](const Node& node, size_t i, const Layout& layout) {
            return !is_float(node.types[0].dtype) || matrix_layout(node.inputs[i].dims(), layout).has_value();
          },
      .cost =
          [](const Node& node) {
            const Dim size(static_cast<int64_t>(size_of(node.types[0].dtype)));
            return Cost{Dim(2) * node.types[0].elements() * node.inputs[0].dims().back(),
                        size * (node.inputs[0].type().elements() + node.inputs[1].type().elements() +
                                node.types[0].elements())};
          },
      .cases = cases_of_batches,
  };
  return op;
}

// Of one row or column a product is a sum of elements side by side, which a kernel of its own computes with what is
// around it. (An inner length of 1 would be repeated there, and must be that of both.)
static Expr product_of_batches(const Expr& a, const Expr& b, const Dims& batch, const std::source_location& where) {
  const int64_t rank = static_cast<int64_t>(batch.size()) + 2;
  const bool is_single = a.dims().back().is(1), agree = is_single == b.dims()[b.rank() - 2].is(1);
  if (agree && is_single) return mul({a, where}, b);
  // A sum of small integers is int64, a product is of their own dtype.
  if (agree && a.dims()[a.rank() - 2].is(1))
    return cast(sum(mul({matrix_transpose(a), where}, b), rank - 2, true), a.dtype());
  if (agree && b.dims().back().is(1)) return cast(sum(mul({a, where}, matrix_transpose(b)), rank - 1, true), a.dtype());
  auto repeated = [&](const Expr& x) {
    Dims lengths = batch;
    lengths.insert(lengths.end(), x.dims().end() - 2, x.dims().end());
    return broadcast_for(x, lengths, "matmul");
  };
  return apply(batched_dot_op(), {repeated(a), repeated(b)}, {}, where);
}

Dims batch_of(const Expr& a, const Expr& b, std::string_view builder, const std::source_location& where) {
  const size_t left = a.rank() - 2, right = b.rank() - 2, rank = std::max(left, right);
  Dims out;
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = i + left < rank ? Dim(1) : a.dims()[i + left - rank],
              y = i + right < rank ? Dim(1) : b.dims()[i + right - rank];
    if (x.is_known() && y.is_known() && !x.is(1) && !y.is(1) && x != y)
      fail_build(where, str(builder, ": the lengths of axis ", i, " of the batch differ"), "equal lengths, or 1",
                 str("left ", value_text(a), ", right ", value_text(b)));
    out.push_back(x.is(1) ? y : x);
  }
  return out;
}

Expr matmul(const Operand& left, const Operand& right) {
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> x = resolve({&left, &right});
  const std::optional<DType> dtype = promote(x[0].dtype(), x[1].dtype());
  for (Expr& e : x) {
    if (e.rank() == 0)
      fail_build(where, "matmul: an operand is a scalar", "vectors, matrices, or batches of matrices", value_text(e),
                 "write a * b");
    if (dtype && e.dtype() != *dtype) e = cast({e, where}, *dtype);
  }
  const auto& [a, b] = std::tie(x[0], x[1]);
  // One matrix or vector on the right is one product with all rows, and of a vector on the left NumPy's dot is the
  // same.
  if (b.rank() <= 2 || a.rank() == 1) return dot({a, where}, b);
  const Dims batch = batch_of(a, b, "matmul", where);
  return product_of_batches(a, b, batch, where);
}

Expr batched_dot(const Operand& left, const Operand& right) {
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr a = left.expr(), b = right.expr();
  for (const Expr& x : {a, b})
    if (x.rank() < 2 || x.rank() > 3)
      fail_build(where, "batched_dot: an operand has another rank than 2 or 3", "[batch, k] or [batch, m, k]",
                 value_text(x));
  const Expr rows = a.rank() == 3 ? a : expand_dims(a, {1}), columns = b.rank() == 3 ? b : expand_dims(b, {2});
  Expr out = matmul({rows, where}, columns);
  if (b.rank() == 2) out = squeeze(out, {2});
  return a.rank() == 2 ? squeeze(out, {1}) : out;
}

Expr matrix_transpose(const Operand& x) {
  const size_t rank = x.expr().rank();
  if (rank < 2) fail_build(x.where(), "matrix_transpose: no matrix", "2 axes or more", value_text(x.expr()));
  std::vector<int64_t> order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  std::swap(order[rank - 2], order[rank - 1]);
  return transpose(x, order);
}

}  // namespace thtrain
