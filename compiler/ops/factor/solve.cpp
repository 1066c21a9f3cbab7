// Linear equations, inverses and determinants, by factorizations.
#include <functional>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr by_lu(const Expr& a, const Expr& b, bool transposed, const std::string& called) {
  const LuFactors f = lu(a);
  const Triangle lower{.lower = true, .transposed = transposed, .unit = true},
      upper{.lower = false, .transposed = transposed};
  if (!transposed)
    return solve_triangle(f.packed, solve_triangle(f.packed, rows_of(b, f.rows), lower, called), upper, called);
  return rows_of(solve_triangle(f.packed, solve_triangle(f.packed, b, upper, called), lower, called), argsort(f.rows));
}

Expr by_cholesky(const Expr& a, const Expr& b, const std::string& called) {
  const Expr l = cholesky(a);
  return solve_triangle(conjugate(l), solve_triangle(l, b, {}, called), {.transposed = true}, called);
}

Expr identities_like(const Expr& x) {
  return broadcast_to(eye(x.dims().back(), {}, 0, x.dtype()), x.dims());
}

// a^-1 . b or a^-T . b, and what its derivatives follow from.
Expr equations(const Expr& a, const Expr& b, bool is_definite, bool transposed, const std::string& called) {
  const Expr x = is_definite ? by_cholesky(a, b, called) : by_lu(a, b, transposed, called);
  return apply(solution_op(), {x, a, b}, {{"definite", is_definite}, {"transposed", transposed}, {"called", called}});
}

// The same with another right-hand side: of a, or of its transpose.
Expr solved_by(const Node& node, const Expr& b, bool is_transposed) {
  const bool is_definite = node.props.get<bool>("definite");
  const Expr& a = node.inputs[1];
  return equations(is_definite && is_transposed ? conjugate(a) : a, b, is_definite,
                   !is_definite && node.props.get<bool>("transposed") != is_transposed,
                   node.props.get<std::string>("called"));
}

// The node of an inverse that nobody else reads, and whether it is transposed.
std::pair<const Node*, bool> inverse_in(const Expr& value, const std::function<bool(const Expr&)>& is_read_once) {
  Expr x = value;
  bool is_transposed = false;
  for (; is_transpose_of_matrices(x) && is_read_once(x); is_transposed = !is_transposed) x = x.node().inputs[0];
  const bool is_inverse = x.node().op == &solution_op() && is_read_once(x) && is_identity(x.node().inputs[2]);
  return {is_inverse ? &x.node() : nullptr, is_transposed};
}

std::vector<Expr> gradient_of_solution(const GradientArgs& args) {
  const Expr &x = args.outputs[0], db = solved_by(args.node, args.cotangent(), true);
  const bool transposed = args.node.props.get<bool>("transposed");
  const Expr da = -(transposed ? matmul(x, matrix_transpose(db)) : matmul(db, matrix_transpose(x)));
  const bool is_definite = args.node.props.get<bool>("definite");
  return {Expr(), is_definite ? half_of_diagonal(da + conjugate(matrix_transpose(da))) : da, db};
}

std::vector<Expr> jvp_of_solution(const JvpArgs& args) {
  Expr right = args.tangent(2), da = args.tangent(1);
  if (da.has_value()) {
    if (args.node.props.get<bool>("definite")) da = tril(da) + conjugate(matrix_transpose(tril(da, -1)));
    if (args.node.props.get<bool>("transposed")) da = matrix_transpose(da);
    const Expr moved = matmul(da, args.outputs[0]);
    right = right.has_value() ? right - moved : -moved;
  }
  return {solved_by(args.node, right, false)};
}

std::vector<OpCase> cases_of_solution() {
  auto definite = [](const Expr& x) {
    return matmul(x, matrix_transpose(x)) + 8.0 * eye(x.dims().back(), {}, 0, x.dtype());
  };
  auto general = [](const Expr& x) { return x + 40.0 * eye(x.dims().back(), {}, 0, x.dtype()); };
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims a, Dims b, auto build) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(a)}, {.dtype = dtype, .dims = std::move(b)}},
                   .build = [build](const std::vector<Expr>& in) { return std::vector{build(in[0], in[1])}; },
                   .bound = 256});
  };
  auto solve_general = [=](const Expr& a, const Expr& b) { return solve(general(a), b); };
  auto solve_definite = [=](const Expr& a, const Expr& b) {
    return solve(definite(a), b, MatrixKind::kPositiveDefinite);
  };
  add("general", DType::kFloat64, {2, 4, 4}, {2, 4, 3}, solve_general);
  add("general_large", DType::kFloat32, {9, 9}, {9}, solve_general);
  add("of_transpose", DType::kFloat64, {5, 5}, {5, 2},
      [=](const Expr& a, const Expr& b) { return solve(transpose(general(a)), b); });
  add("definite", DType::kFloat64, {3, 3}, {3}, solve_definite);
  add("definite_large", DType::kFloat32, {2, 9, 9}, {9, 2}, solve_definite);
  add("complex", DType::kComplex128, {4, 4}, {4, 2}, solve_general);
  add("of_any_length", DType::kFloat64, {"n", "n"}, {"n"}, solve_general);
  add("empty", DType::kFloat64, {0, 0}, {0, 2}, solve_general);
  return out;
}

}  // namespace

const Op& solution_op() {
  static const Op op{
      .name = "solution",
      .doc =
          "x, which solves op(a) . x = b: a view of x, with the derivatives of that.\n"
          "Shapes: a [..., n, n], b and x [..., n, k].\n"
          "dtypes: floats and complex numbers, all the same.\n"
          "Gradient: db = op(a)^-T . dx, da = -db . x^T, of a definite a in its lower triangle; none to x.\n"
          "Edge cases: none.",
      .called = [](const Props& props) { return props.get_or<std::string>("called", "solution"); },
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 1);
            a.require(a.type(2).rank() == a.type(1).rank(), "operands must have one rank");
            a.require_equal(a.type(1).dims.back(), a.type(2).dims[a.type(2).rank() - 2],
                            "the matrix and the right-hand side differ in rows");
            return std::vector{a.type(0)};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector{a.inputs[0]}; },
      .error = passed_error,
      .gradient = gradient_of_solution,
      .jvp = jvp_of_solution,
      .iterations = &kSameOpOfIterations,
      .only_derivatives = true,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .connection = [](const Node&, size_t input, size_t) { return input != 0; },
      .cases = cases_of_solution,
  };
  return op;
}

Expr solution_of_product(const Expr& left, const Expr& right, const std::function<bool(const Expr&)>& is_read_once) {
  const auto column = [](const Expr& x, bool of_row) {
    return x.rank() == 1 ? expand_dims(x, {1}) : of_row ? matrix_transpose(x) : x;
  };
  if (const auto [node, is_transposed] = inverse_in(left, is_read_once); node) {
    const Expr x = solved_by(*node, column(right, false), is_transposed);
    return right.rank() == 1 ? squeeze(x, {1}) : x;
  }
  if (const auto [node, is_transposed] = inverse_in(right, is_read_once); node) {
    const Expr x = solved_by(*node, column(left, true), !is_transposed);
    return left.rank() == 1 ? squeeze(x, {1}) : matrix_transpose(x);
  }
  return {};
}

Expr by_factors_of_transpose(const Node& solution, const std::vector<Expr>& inputs) {
  if (solution.props.get<bool>("definite") || !is_transpose_of_matrices(inputs[1])) return {};
  return equations(inputs[1].node().inputs[0], inputs[2], false, !solution.props.get<bool>("transposed"),
                   solution.props.get<std::string>("called"));
}

Expr solve_triangle(const Expr& a, const Expr& b, const Triangle& t, const std::string& called) {
  Props props{{"lower", t.lower}, {"transposed", t.transposed}, {"unit", t.unit}};
  if (called != "triangular_solve") props.set("called", called);
  return apply(triangular_solve_op(), {a, b}, std::move(props));
}

Expr triangular_solve(const Operand& a, const Operand& b, Triangle triangle) {
  return with_columns(a, b, "triangular_solve", true, [&](const Expr& left, const Expr& right) {
    return solve_triangle(left, right, triangle, "triangular_solve");
  });
}

// What the caller says of x, or else what is known of it.
static MatrixKind kind_of(const Operand& x, MatrixKind said) {
  return said == MatrixKind::kGeneral ? known_kind(x.expr()) : said;
}

Expr solve(const Operand& a, const Operand& b, MatrixKind said) {
  const MatrixKind kind = kind_of(a, said);
  if (kind == MatrixKind::kLower || kind == MatrixKind::kUpper)
    return triangular_solve(a, b, {.lower = kind == MatrixKind::kLower});
  return with_columns(a, b, "solve", true, [&](const Expr& left, const Expr& right) {
    return equations(left, right, kind == MatrixKind::kPositiveDefinite, false, "solve");
  });
}

Expr inverse(const Operand& x, MatrixKind said) {
  const MatrixKind kind = kind_of(x, said);
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const Expr a = square_matrices_of(x, "inverse");
  if (kind == MatrixKind::kLower || kind == MatrixKind::kUpper)
    return solve_triangle(a, identities_like(a), {.lower = kind == MatrixKind::kLower}, "inverse");
  return equations(a, identities_like(a), kind == MatrixKind::kPositiveDefinite, false, "inverse");
}

Expr matrix_power(const Operand& operand, int64_t n) {
  const std::source_location where = operand.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  Expr x = square_matrices_of(operand, "matrix_power");
  if (n < 0) x = inverse({x, where});
  Expr out;
  for (uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left > 0; left /= 2) {
    if (left % 2 == 1) out = out.has_value() ? matmul({out, where}, x) : x;
    if (left > 1) x = matmul({x, where}, x);
  }
  return out.has_value() ? out : identities_like(x);
}

// What the determinant is a product of, and 1 or -1: none where it is 1.
static std::pair<Expr, Expr> factors_of_determinant(const Operand& operand, MatrixKind said, std::string_view builder) {
  const MatrixKind kind = kind_of(operand, said);
  const Expr x = square_matrices_of(operand, builder);
  if (kind == MatrixKind::kLower || kind == MatrixKind::kUpper) return {diagonal(x, 0, -2, -1), Expr()};
  if (kind == MatrixKind::kPositiveDefinite) {
    const Expr root = diagonal(cholesky(x), 0, -2, -1);
    return {root * root, Expr()};
  }
  const LuFactors f = lu(x);
  return {diagonal(f.packed, 0, -2, -1), cast(f.sign, x.dtype())};
}

Expr det(const Operand& x, MatrixKind kind) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const auto [factors, sign] = factors_of_determinant(x, kind, "det");
  const Expr out = prod(factors, -1);
  return sign.has_value() ? out * sign : out;
}

LogDeterminant slogdet(const Operand& x, MatrixKind kind) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const auto [factors, of_rows] = factors_of_determinant(x, kind, "slogdet");
  const Expr of_factors = prod(sign(factors), -1);
  return {of_rows.has_value() ? of_factors * of_rows : of_factors, sum(log(abs(factors)), -1)};
}

Expr trace(const Operand& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return sum(diagonal(x, offset, axis1, axis2), -1);
}

}  // namespace thtrain
