// Least squares, norms and functions of matrices, by factorizations.
#include "compiler/ops/factor/matrix_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// ---- pseudo-inverse ------------------------------------------------------------------------------------------------

// The smallest singular value that counts, over the largest one.
Expr limit_of(const Expr& x, const std::optional<double>& tolerance) {
  const DType dtype = real_dtype(x.dtype());
  if (tolerance) return Operand(*tolerance).for_dtype(dtype);
  const double step = 2 * float_limits(dtype).unit;
  const Dim longest = max(x.dims()[x.rank() - 2], x.dims().back());
  if (longest.is_known()) return Operand(step * static_cast<double>(longest.value())).for_dtype(dtype);
  const Expr rows = length(x, -2), columns = length(x, -1);
  return cast(maximum(rows, columns), dtype) * step;
}

Expr is_counted(const Expr& s, const Expr& limit) {
  Dims one = s.dims();
  one.back() = 1;
  const Expr values = s.dims().back().is_at_least(1) ? s : join(-1, {s, zeros(one, s.dtype())});
  return gt(s, limit * max(values, -1, true));
}

Expr pseudo_inverse(const Expr& x, const std::optional<double>& tolerance) {
  const SingularValues f = svd(x);
  const Expr counts = is_counted(f.s, limit_of(x, tolerance)),
             inverses = where(counts, 1.0 / where(counts, f.s, 1.0), 0.0),
             p = matmul(columns_times(adjoint(f.vh), inverses), adjoint(f.u));
  return apply(pseudo_inverse_op(), {p, x}, tolerance ? Props{{"tolerance", *tolerance}} : Props{});
}

std::optional<double> tolerance_of(const Node& node) {
  if (!node.props.has("tolerance")) return {};
  return node.props.get<double>("tolerance");
}

// dp = -p . dx . p + p . p^H . dx^H . (1 - x . p) + (1 - p . x) . dx^H . p^H . p (Golub and Pereyra, 1973).
std::vector<Expr> jvp_of_pinv(const JvpArgs& args) {
  const Expr &x = args.input(1), &dx = args.tangent(1);
  if (!dx.has_value()) return {Expr()};
  const Expr p = pseudo_inverse(x, tolerance_of(args.node)), ph = adjoint(p), dh = adjoint(dx),
             right = matmul(matmul(matmul(p, ph), dh), identity_like_rows(x) - matmul(x, p)),
             left = matmul(identity_like_rows(p) - matmul(p, x), matmul(dh, matmul(ph, p)));
  return {right + left - matmul(p, matmul(dx, p))};
}

// The adjoint of that; conjugates of cotangents taken.
std::vector<Expr> gradient_of_pinv(const GradientArgs& args) {
  const Expr &x = args.input(1), p = pseudo_inverse(x, tolerance_of(args.node)), ph = adjoint(p),
             g = conjugate(args.cotangent()), gh = adjoint(g);
  const Expr right = matmul(matmul(identity_like_rows(x) - matmul(x, p), gh), matmul(p, ph)),
             left = matmul(matmul(ph, p), matmul(gh, identity_like_rows(p) - matmul(p, x)));
  return {Expr(), conjugate(right + left - matmul(ph, matmul(g, ph)))};
}

std::vector<OpCase> cases_of_pinv() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build = [](const std::vector<Expr>& in) { return std::vector{pinv(in[0])}; },
                   .bound = 65536});
  };
  add("square", DType::kFloat64, {2, 3, 3});
  add("tall", DType::kFloat64, {5, 3});
  add("wide_f32", DType::kFloat32, {2, 4});
  add("complex", DType::kComplex128, {4, 2});
  add("of_any_length", DType::kFloat64, {"n", "n"});
  add("empty", DType::kFloat64, {0, 0});
  return out;
}

// ---- exponential ---------------------------------------------------------------------------------------------------

// Up to this norm the approximation is as good as float64 is (Higham, table 2.3), and its coefficients.
constexpr double kNormOfPade = 5.371920351148152;
constexpr double kPade[] = {64764752532480000,
                            32382376266240000,
                            7771770303897600,
                            1187353796428800,
                            129060195264000,
                            10559470521600,
                            670442572800,
                            33522128640,
                            1323241920,
                            40840800,
                            960960,
                            16380,
                            182,
                            1};
constexpr int64_t kMostSquarings = 1100;  // any float64 has fewer doublings

Expr exponential_of_small(const Expr& x) {
  const Expr one = identity_like_rows(x), x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x2, x4);
  const auto c = [](int k) { return kPade[k] / kPade[0]; };
  const Expr odd = matmul(
                 x, matmul(x6, c(13) * x6 + c(11) * x4 + c(9) * x2) + c(7) * x6 + c(5) * x4 + c(3) * x2 + c(1) * one),
             even = matmul(x6, c(12) * x6 + c(10) * x4 + c(8) * x2) + c(6) * x6 + c(4) * x4 + c(2) * x2 + one;
  return solve(even - odd, even + odd);
}

}  // namespace

const Op& pseudo_inverse_op() {
  static const Op op{
      .name = "pseudo_inverse",
      .doc =
          "p, the pseudo-inverse of x: a view of p, with the derivatives of that.\n"
          "Shapes: x [..., m, n], p [..., n, m].\n"
          "dtypes: floats and complex numbers, both the same.\n"
          "Gradient: that while the rank stays; none to p.\n"
          "Edge cases: none.",
      .called = [](const Props&) { return std::string("pinv"); },
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0).rank() >= 2 && a.type(0).rank() == a.type(1).rank(), "operands must have one rank");
            return std::vector{a.type(0)};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector{a.inputs[0]}; },
      .error = passed_error,
      .gradient = gradient_of_pinv,
      .jvp = jvp_of_pinv,
      .iterations = &kSameOpOfIterations,
      .only_derivatives = true,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .connection = [](const Node&, size_t input, size_t) { return input != 0; },
      .cases = cases_of_pinv,
  };
  return op;
}

Expr pinv(const Operand& x, std::optional<double> tolerance) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return pseudo_inverse(matrices_of(x, "pinv"), tolerance);
}

Expr lstsq(const Operand& a, const Operand& b, std::optional<double> tolerance) {
  return with_columns(a, b, "lstsq", false, [&](const Expr& x, const Expr& right) {
    if (tolerance) return matmul(pseudo_inverse(x, tolerance), right);
    const Dim &m = x.dims()[x.rank() - 2], &n = x.dims().back();
    if (m == n || !n.is_at_least(m)) {
      const QrFactors f = qr(x);
      return solve_triangle(f.r, matmul(adjoint(f.q), right), {.lower = false}, "lstsq");
    }
    const QrFactors f = qr(adjoint(x));
    return matmul(f.q, solve_triangle(conjugate(f.r), right, {.lower = false, .transposed = true}, "lstsq"));
  });
}

Expr matrix_rank(const Operand& operand, std::optional<double> tolerance) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = matrices_of(operand, "matrix_rank"), s = svdvals(x);
  return sum(cast(is_counted(s, limit_of(x, tolerance)), DType::kInt64), -1);
}

Expr cond(const Operand& operand, double order) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = matrices_of(operand, "cond");
  if (std::abs(order) == 2) {
    const Expr s = svdvals(x), largest = max(s, -1), smallest = min(s, -1);
    return order > 0 ? largest / smallest : smallest / largest;
  }
  if (std::abs(order) != 1 && !std::isinf(order))
    fail_build(operand.where(), str("cond: there is no order ", order), "2, -2, 1, -1, inf or -inf", value_text(x));
  return norm(x, order, {-2, -1}) * norm(inverse(square_matrices_of(operand, "cond")), order, {-2, -1});
}

Expr nuclear_norm(const Operand& x) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return sum(svdvals(matrices_of(x, "nuclear_norm")), -1);
}

Expr cholesky_solve(const Operand& l, const Operand& b, bool upper) {
  return with_columns(l, b, "cholesky_solve", true, [&](const Expr& x, const Expr& right) {
    const Expr first = upper ? conjugate(x) : x, second = upper ? x : conjugate(x);
    const Triangle down{.lower = !upper, .transposed = upper}, up{.lower = !upper, .transposed = !upper};
    return solve_triangle(second, solve_triangle(first, right, down, "triangular_solve"), up, "triangular_solve");
  });
}

Expr multi_dot(const std::vector<Operand>& matrices, std::source_location where) {
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  if (matrices.size() < 2 || matrices.size() > 50)
    fail_build(where, "multi_dot: not a product of several matrices", "2 to 50 operands",
               str(matrices.size(), " operands"));
  const auto letter = [](size_t i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26)); };
  std::string subscripts, result;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const Expr x = matrices[i].expr();
    const bool is_end = i == 0 || i + 1 == matrices.size();
    if (x.rank() != 2 && !(is_end && x.rank() == 1))
      fail_build(where, str("multi_dot: operand ", i, " is no matrix"), is_end ? "a matrix or a vector" : "a matrix",
                 value_text(x));
    const bool has_row = i > 0 || x.rank() == 2, has_column = i + 1 < matrices.size() || x.rank() == 2;
    if (i > 0) subscripts += ',';
    if (has_row) subscripts += letter(i);
    if (has_column) subscripts += letter(i + 1);
    if (i == 0 && x.rank() == 2) result += letter(0);
    if (i + 1 == matrices.size() && x.rank() == 2) result += letter(i + 1);
  }
  return einsum(subscripts + "->" + result, matrices, where);
}

Expr tensorinv(const Operand& operand, int64_t axes) {
  const std::source_location where = operand.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  if (axes < 1 || axes >= static_cast<int64_t>(x.rank()))
    fail_build(where, "tensorinv: no axes are left on one side", str("1 to ", static_cast<int64_t>(x.rank()) - 1),
               str(axes, " axes of ", value_text(x)));
  const Dims rows(x.dims().begin(), x.dims().begin() + axes), columns(x.dims().begin() + axes, x.dims().end());
  const Dim n = product(rows), m = product(columns);
  if (n.is_known() && m.is_known() && n != m)
    fail_build(where, "tensorinv: the axes are no square matrix", str(n.text(), " == ", m.text()), value_text(x));
  Dims dims = columns;
  dims.insert(dims.end(), rows.begin(), rows.end());
  return reshape(inverse(reshape(x, Dims{n, m})), dims);
}

Expr tensorsolve(const Operand& left, const Operand& right, const std::vector<int64_t>& axes) {
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const std::vector<Expr> both = resolve({&left, &right});
  Expr a = both[0];
  const Expr& b = both[1];
  if (!axes.empty()) {
    std::vector<int64_t> to;
    for (size_t i = 0; i < axes.size(); ++i) to.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(axes.size()));
    a = moveaxis({a, where}, axes, to);
  }
  if (a.rank() < b.rank())
    fail_build(where, "tensorsolve: the left side has fewer axes than the right one",
               "its axes, and those of the result", str("left ", value_text(a), ", right ", value_text(b)));
  const Dims dims(a.dims().begin() + static_cast<int64_t>(b.rank()), a.dims().end());
  const Dim n = product(dims), m = product(b.dims());
  if (n.is_known() && m.is_known() && n != m)
    fail_build(where, "tensorsolve: the axes are no square matrix", str(m.text(), " == ", n.text()),
               str("left ", value_text(a), ", right ", value_text(b)));
  return reshape(solve(reshape(a, Dims{m, n}), reshape(b, Dims{m})), dims);
}

Expr expm(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = square_matrices_of(operand, "expm");
  if (x.dims().back().is(0)) return x;
  const Expr size = norm(x, 1, {-2, -1}, true);
  const Expr squarings =
      cast(clip(ceil(log2(size / kNormOfPade)), 0, static_cast<double>(kMostSquarings)), DType::kInt64);
  const Expr scaled = exponential_of_small(x * exp2(cast(-squarings, size.dtype())));
  const Expr most = max(join(0, {flatten(squarings), zeros({1}, DType::kInt64)}));  // 0 for a batch of none
  const Repeated out =
      repeat_until(kMostSquarings, {scaled, Operand(0).for_dtype(DType::kInt64)}, [&](const std::vector<Expr>& state) {
        const Expr &y = state[0], &done = state[1];
        return Iteration{{where(lt(done, squarings), matmul(y, y), y), done + 1}, ge(done + 1, most)};
      });
  return out.state[0];
}

}  // namespace thtrain
