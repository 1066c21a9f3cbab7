// Singular values and singular vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/cusolver_steps.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/leading.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

constexpr int kMostSweepsOfSvd = 60;

bool has_vectors(const Node& node) {
  return node.props.get<bool>("vectors");
}

kernel::RuntimeCheck finite_matrix_check(const Node& node) {
  return check_of(node, "no singular values were found", "finite elements", has_vectors(node) ? 2 : 1);
}

Matrix::Value inner_product(const Matrix& x, int64_t p, int64_t q) {
  Matrix::Value sum = 0;
  for (int64_t i = 0; i < x.rows(); ++i) sum += std::conj(x(i, p)) * x(i, q);
  return sum;
}

// Makes columns p and q of a orthogonal, and does the same to v's (Hestenes). False where they were.
bool rotate_pair(Matrix& a, Matrix& v, int64_t p, int64_t q) {
  const double left = inner_product(a, p, p).real(), right = inner_product(a, q, q).real();
  const Matrix::Value both = inner_product(a, p, q);
  const double size = std::abs(both);
  if (!(size > 1e-17 * std::sqrt(left) * std::sqrt(right))) return false;
  const Matrix::Value sign = both / size;
  const double ratio = (right - left) / (2 * size),
               t = std::copysign(1, ratio) / (std::abs(ratio) + std::hypot(ratio, 1)), c = 1 / std::hypot(t, 1),
               s = t * c;
  for (Matrix* x : {&a, &v})
    for (int64_t k = 0; k < x->rows(); ++k) {
      const Matrix::Value at_p = (*x)(k, p), at_q = (*x)(k, q) * std::conj(sign);
      (*x)(k, p) = c * at_p - s * at_q;
      (*x)(k, q) = s * at_p + c * at_q;
    }
  return true;
}

// Column j of u: a unit vector that is orthogonal to the columns before it, where column j of a is 0.
void complete(Matrix& u, int64_t j) {
  for (int64_t candidate = 0; candidate < u.rows(); ++candidate) {
    for (int64_t i = 0; i < u.rows(); ++i) u(i, j) = i == candidate ? 1 : 0;
    for (int repeat = 0; repeat < 2; ++repeat)
      for (int64_t k = 0; k < j; ++k) {
        const Matrix::Value part = inner_product(u, k, j);
        for (int64_t i = 0; i < u.rows(); ++i) u(i, j) -= part * u(i, k);
      }
    const double norm = std::sqrt(inner_product(u, j, j).real());
    if (norm < 0.5 / std::sqrt(static_cast<double>(u.rows()))) continue;
    for (int64_t i = 0; i < u.rows(); ++i) u(i, j) /= norm;
    return;
  }
}

std::vector<Tensor> reference_svd(const ReferenceArgs& args) {
  const bool with_vectors = has_vectors(args.node);
  std::vector<Tensor> out;
  for (size_t i = 0; i < args.node.types.size(); ++i) out.push_back(args.make_output(i));
  for (int64_t number = 0; number < count_of(args.inputs[0]); ++number) {
    Matrix a(args.inputs[0], number);
    const int64_t m = a.rows(), n = a.columns();
    Matrix v(n, n), u(m, n), s(1, n), vh(n, n);
    double largest = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(a(i, j)));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (!std::isfinite(std::abs(a(i, j)))) fail_check(args.node, finite_matrix_check(args.node), 1, number);
        a(i, j) /= largest > 0 ? largest : 1;  // so that no square is too large or too small
      }
    for (int64_t j = 0; j < n; ++j) v(j, j) = 1;
    bool is_done = false;
    for (int sweep = 0; sweep < kMostSweepsOfSvd && !is_done; ++sweep) {
      is_done = true;
      for (int64_t p = 0; p < n; ++p)
        for (int64_t q = p + 1; q < n; ++q) is_done = !rotate_pair(a, v, p, q) && is_done;
    }
    std::vector<double> norms(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) norms[static_cast<size_t>(j)] = std::sqrt(inner_product(a, j, j).real());
    std::vector<size_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t i, size_t j) { return norms[i] > norms[j]; });
    for (int64_t j = 0; j < n; ++j) {
      const auto from = static_cast<int64_t>(order[static_cast<size_t>(j)]);
      const double norm = norms[static_cast<size_t>(from)];
      s(0, j) = norm * largest;
      for (int64_t i = 0; i < m; ++i) u(i, j) = norm > 0 ? a(i, from) / norm : 0;
      if (norm <= 1e-15 * norms[order[0]]) complete(u, j);
      const Matrix::Value sign = make_leading_positive(&u(0, j), m, n);
      for (int64_t i = 0; i < n; ++i) vh(j, i) = std::conj(v(i, from) * std::conj(sign));
    }
    s.store(out[with_vectors ? 1 : 0], number);
    if (!with_vectors) continue;
    u.store(out[0], number);
    vh.store(out[2], number);
  }
  return out;
}

// With e the norm of the errors of x and of the roundings, a singular value moves by e at most (Weyl), and vectors by
// 6 e over the distance from the others, and those of u from 0, where e is a quarter of that at most (Wedin). Nothing
// is known where another element might be the leading one.
std::vector<Tensor> error_of_svd(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const bool with_vectors = out.size() > 1;
  const Tensor& s = args.outputs[with_vectors ? 1 : 0];
  const double unit = float_limits(s.dtype()).unit;
  for (int64_t number = 0; number < count_of(args.inputs[0]); ++number) {
    const Matrix a(args.inputs[0], number), given(args.errors[0], number);
    const int64_t m = a.rows(), n = a.columns();
    double moved = 0, size = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        moved += std::norm(given(i, j));
        size += std::norm(a(i, j));
      }
    const double e = std::sqrt(moved) + 4 * static_cast<double>(m + n) * unit * std::sqrt(size);
    for (int64_t j = 0; j < n; ++j) {
      const auto at = [&](int64_t i) { return s.as_double(number * n + i); };
      out[with_vectors ? 1 : 0].data<double>()[number * n + j] = e;
      if (!with_vectors) continue;
      double gap = m > n || n == 1 ? at(j) : kUnknownError;
      if (j > 0) gap = std::min(gap, at(j - 1) - at(j));
      if (j + 1 < n) gap = std::min(gap, at(j) - at(j + 1));
      const double sign_of_pair = std::min(gap, at(j));  // u . s = x . v
      if (!(e <= sign_of_pair / 4)) continue;
      const double of_vector = 6 * e / sign_of_pair + 8 * unit;
      const Matrix u(args.outputs[0], number);
      if (!is_leading_certain(&u(0, j), m, n, of_vector)) continue;
      for (int64_t i = 0; i < m; ++i) out[0].data<double>()[(number * m + i) * n + j] = 2 * of_vector;
      for (int64_t i = 0; i < n; ++i) out[2].data<double>()[(number * n + j) * n + i] = 2 * of_vector;
    }
  }
  return out;
}

// As the reference, each lane its own matrix, until no lane has two columns that are not orthogonal.
void small_svd(kernel::StepBuilder& b) {
  using Elements = SmallMatrices::Elements;
  using kernel::Term;
  const Type& type = b.input(0).type;
  const int64_t n = type.dims.back().value(), m = type.dims[type.rank() - 2].value();
  const bool with_vectors = has_vectors(b.node());
  const double unit = float_limits(type.dtype).unit;
  SmallMatrices small(b);
  const auto exchange_where = [&](const Term& condition, const Elements& x, int64_t rows, const Term& p,
                                  const Term& q) {
    small.loop(0, rows, [&](const Term& k) {
      const Term left = x.at(k, p), right = x.at(k, q);
      x.set(k, p, select(condition, right, left));
      x.set(k, q, select(condition, left, right));
    });
  };
  const auto inner = [&](const Elements& x, const Term& p, const Elements& y, const Term& q) {
    const Term sum = small.var("sum", small.number(0));
    small.loop(0, m, [&](const Term& k) { small.assign(sum, fma(x.at(k, p), y.at(k, q), sum)); });
    return sum;
  };
  // Column j of u, where `is_wanted`, as complete() makes it.
  const auto complete_where = [&](const Term& is_wanted, const Elements& u, const Term& j) {
    const Elements unit_vector = small.elements(m);
    const Term wanted = small.var("wanted", select(is_wanted, small.number(1), small.number(0)));
    small.loop(0, m, [&](const Term& candidate) {
      small.loop(0, m, [&](const Term& i) { unit_vector.set(i, small.number(0)); });
      unit_vector.set(candidate, small.number(1));
      small.loop(0, 2, [&](const Term&) {
        small.loop(0, j, [&](const Term& k) {
          const Term part = inner(unit_vector, Term(0), u, k);
          small.loop(0, m, [&](const Term& i) { unit_vector.set(i, fma(-part, u.at(i, k), unit_vector.at(i))); });
        });
      });
      const Term square = inner(unit_vector, Term(0), unit_vector, Term(0)),
                 is_taken = small.let(
                     "is_taken", wanted != small.number(0) && square >= small.number(0.25 / static_cast<double>(m))),
                 norm = small.let("norm", sqrt(select(is_taken, square, small.number(1))));
      small.loop(0, m, [&](const Term& i) { u.set(i, j, select(is_taken, unit_vector.at(i) / norm, u.at(i, j))); });
      small.assign(wanted, select(is_taken, small.number(0), wanted));
    });
  };
  small.run(
      str("svd_", m, "x", n), "the singular values of each matrix of in0, and its singular vectors", count_of(type),
      20 * m * n * n, finite_matrix_check(b.node()), [&] {
        const Elements a = small.load(b.input(0)), v = small.elements(n * n, n), s = small.elements(n);
        small.hold(small.are_finite(a), Term(1));
        const Term scale = small.var("scale", small.number(0)), moved = small.var("moved", small.number(1));
        small.loop(0, m * n, [&](const Term& i) {
          const Term size = small.let("size", fabs(a.at(i)));
          small.assign(scale, select(size > scale, size, scale));
        });
        small.assign(scale, select(scale == small.number(0), small.number(1), scale));
        small.loop(0, m * n, [&](const Term& i) { a.set(i, a.at(i) / scale); });
        small.loop(0, n, [&](const Term& i) {
          small.loop(0, n, [&](const Term& j) { v.set(i, j, small.number(0)); });
          v.set(i, i, small.number(1));
        });
        small.loop(0, kMostSweepsOfSvd, [&](const Term&) {
          small.if_any(moved != small.number(0), [&] {
            small.assign(moved, small.number(0));
            small.loop(0, n - 1, [&](const Term& p) {
              small.loop(p + Term(1), n, [&](const Term& q) {
                const Term left = inner(a, p, a, p), right = inner(a, q, a, q), both = inner(a, p, a, q),
                           limit = small.let("limit",
                                             small.number(unit * static_cast<double>(m)) * sqrt(left) * sqrt(right)),
                           is_moved = small.let("is_moved", fabs(both) > limit),
                           divisor = small.let("divisor", select(is_moved, both + both, small.number(1))),
                           ratio = small.let("ratio", (right - left) / divisor),
                           root = small.let("root", sqrt(fma(ratio, ratio, small.number(1)))),
                           tangent = small.let("tangent", copy_sign(small.number(1) / (fabs(ratio) + root), ratio)),
                           t = small.let("t", select(is_moved, tangent, small.number(0))),
                           c = small.let("c", small.number(1) / sqrt(fma(t, t, small.number(1)))),
                           sine = small.let("sine", t * c);
                small.assign(moved, select(is_moved, small.number(1), moved));
                const auto rotate = [&](const Elements& x, int64_t rows) {
                  small.loop(0, rows, [&](const Term& k) {
                    const Term at_p = x.at(k, p), at_q = x.at(k, q);
                    x.set(k, p, fma(c, at_p, -(sine * at_q)));
                    x.set(k, q, fma(sine, at_p, c * at_q));
                  });
                };
                rotate(a, m);
                if (with_vectors) rotate(v, n);
              });
            });
          });
        });
        small.loop(0, n, [&](const Term& j) { s.set(j, sqrt(inner(a, j, a, j))); });
        small.loop(0, n - 1, [&](const Term& i) {
          small.loop(i + Term(1), n, [&](const Term& j) {
            const Term left = s.at(i), right = s.at(j), is_less = small.let("is_less", left < right);
            s.set(i, select(is_less, right, left));
            s.set(j, select(is_less, left, right));
            if (!with_vectors) return;
            exchange_where(is_less, a, m, i, j);
            exchange_where(is_less, v, n, i, j);
          });
        });
        if (with_vectors) {
          const Term tiny = small.let("tiny", s.at(Term(0)) * small.number(8 * unit));
          small.loop(0, n, [&](const Term& j) {
            const Term norm = s.at(j), is_zero = small.let("is_zero", norm <= tiny),
                       divisor = small.let("divisor", select(norm == small.number(0), small.number(1), norm));
            small.loop(0, m, [&](const Term& i) { a.set(i, j, a.at(i, j) / divisor); });
            small.if_any(is_zero, [&] { complete_where(is_zero, a, j); });
            const Term sign = small.make_leading_positive(a, m, j);
            small.loop(0, n, [&](const Term& i) { v.set(i, j, v.at(i, j) * sign); });
          });
          const Elements vh = small.elements(n * n, n);
          small.loop(0, n, [&](const Term& i) { small.loop(0, n, [&](const Term& j) { vh.set(i, j, v.at(j, i)); }); });
          small.store(b.output(0), a);
          small.store(b.output(2), vh);
        }
        small.loop(0, n, [&](const Term& j) { s.set(j, s.at(j) * scale); });
        small.store(b.output(with_vectors ? 1 : 0), s);
      });
}

void host_svd(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  const Type& type = b.input(0).type;
  const bool with_vectors = has_vectors(b.node());
  const auto output = [&](size_t i) { return PointerTo{b.output(with_vectors ? i : 0).index}; };
  b.call_library({svd_function(type.dtype),
                  {count_of(type), type.dims[type.rank() - 2], type.dims.back(), Dim(with_vectors),
                   PointerTo{b.input(0).index}, output(0), output(1), output(2), finite_matrix_check(b.node())}});
}

void lower_svd(kernel::StepBuilder& b) {
  if (SmallMatrices::are(b.input(0).type)) return small_svd(b);
  b.target().is_device() ? lower_decomposition(b, finite_matrix_check(b.node()), host_svd) : host_svd(b);
}

std::vector<Expr> apply_svd(const Expr& x, bool with_vectors) {
  return outputs_of(apply(svd_op(), {x}, {{"vectors", with_vectors}}).node());
}

// With e(i, j) = s(j)^2 - s(i)^2 and k(x) = x - x^H: dx = u . ((k(u^H . du) . s + s . k(vh . dv)) / e + ds) . vh, and
// of the part of du that u does not span, that over s, times vh; conjugates of cotangents taken.
std::vector<Expr> gradient_of_svd(const GradientArgs& args) {
  const bool with_vectors = has_vectors(args.node);
  const std::vector<Expr> all =
      with_vectors ? std::vector(args.outputs.begin(), args.outputs.end()) : apply_svd(args.input(0), true);
  const Expr &u = all[0], &s = all[1], &vh = all[2], &ds = args.cotangents[with_vectors ? 1 : 0];
  const Expr du = with_vectors ? args.cotangents[0] : Expr(), dvh = with_vectors ? args.cotangents[2] : Expr();
  const auto skew = [](const Expr& x) { return x - adjoint(x); };
  const auto plus = [](const Expr& x, const Expr& y) { return x.has_value() ? x + y : y; };
  const Expr of_rows = expand_dims(s, {-1}), one = eye(s.dims().back(), {}, 0, s.dtype());
  Expr inner, sum;
  if (du.has_value()) {
    const Expr of_u = skew(matmul(adjoint(u), conjugate(du)));
    inner = columns_times(of_u, s);
    // Of complex vectors the phases: u's, where vh keeps its own.
    if (is_complex(of_u.dtype())) sum = of_u * one / (2.0 * of_rows);
  }
  if (dvh.has_value()) inner = plus(inner, of_rows * skew(matmul(vh, matrix_transpose(dvh))));
  if (inner.has_value()) sum = plus(sum, over_differences(inner, s * s));
  if (ds.has_value()) sum = plus(sum, one * expand_dims(ds, {-1}));
  Expr left = matmul(u, sum);
  if (du.has_value() && u.dims()[u.rank() - 2] != u.dims().back()) {
    const Expr over = columns_times(conjugate(du), 1.0 / s);
    left = left + over - matmul(u, matmul(adjoint(u), over));
  }
  return {conjugate(matmul(left, vh))};
}

std::vector<OpCase> cases_svd() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims, bool with_vectors = true) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [=](const std::vector<Expr>& in) {
                         if (!with_vectors) return std::vector{svdvals(in[0])};
                         const SingularValues f = svd(in[0]);
                         return std::vector{f.u, f.s, f.vh};
                       },
                   .bound = 4096});
  };
  add("square", DType::kFloat64, {3, 4, 4});
  add("tall", DType::kFloat64, {5, 3});
  add("tall_f32", DType::kFloat32, {2, 2, 9, 4});
  add("wide", DType::kFloat64, {2, 3, 5});
  add("values", DType::kFloat64, {5, 5}, false);
  add("values_of_wide", DType::kFloat32, {2, 3, 6}, false);
  add("large", DType::kFloat64, {12, 11});
  add("of_any_length", DType::kFloat64, {"b", "n", "n"});
  add("complex", DType::kComplex128, {4, 3});
  add("complex_square", DType::kComplex128, {2, 3, 3});
  add("complex_f32", DType::kComplex64, {2, 4});
  add("one", DType::kFloat64, {2, 1, 1});
  add("empty", DType::kFloat64, {0, 0});
  add("no_columns", DType::kFloat64, {3, 0});
  add("no_matrices", DType::kFloat32, {0, 3, 3});
  return out;
}

bool has_more_columns(const Expr& x) {
  const Dim &m = x.dims()[x.rank() - 2], &n = x.dims().back();
  return m != n && n.is_at_least(m);
}

}  // namespace

const Op& svd_op() {
  static const Op op{
      .name = "svd",
      .doc =
          "Singular values s, in descending order, and with `vectors` u and vh: x = u . diag(s) . vh.\n"
          "Shapes: x and u [..., m, n], s [..., n], vh [..., n, n], m >= n.\n"
          "dtypes: floats and complex numbers; s is real.\n"
          "Gradient: of vectors where the singular values differ and are not 0.\n"
          "Edge cases: the first element of a column of u whose modulus is at least 0.55 of the largest is positive; "
          "vectors of a singular value 0 are arbitrary; an error where an element is not finite.\n"
          "Example: of [[0, 2], [1, 0]]: u [[1, 0], [0, 1]], s [2, 1], vh [[0, 1], [1, 0]]",
      .infer =
          [](const TypeArgs& a) {
            const Type u = require_tall_matrices(a);
            Type vh = u;
            vh.dims[vh.rank() - 2] = vh.dims.back();
            Type s{.dtype = real_dtype(u.dtype), .dims = Dims(vh.dims.begin(), vh.dims.end() - 1)};
            return a.props.get<bool>("vectors") ? std::vector{u, s, vh} : std::vector{s};
          },
      .reference = reference_svd,
      .error = error_of_svd,
      .gradient = gradient_of_svd,
      .lower = lower_svd,
      .iterations = &kSameOpThatMayFail,
      .accepts_layout = reads_row_major,
      .cost = cost_of_factors(60),
      .cases = cases_svd,
  };
  return op;
}

SingularValues svd(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = matrices_of(operand, "svd");
  const bool is_wide = has_more_columns(x);
  std::vector<Expr> f = apply_svd(is_wide ? adjoint(x) : x, true);
  if (is_complex(x.dtype())) {
    const Expr phases = phases_of(f[0]);
    f[2] = another_form(f[2], expand_dims(conj(phases), {-1}) * f[2]);
    f[0] = another_form(f[0], columns_times(f[0], phases));
  }
  if (is_wide) return {adjoint(f[2]), f[1], adjoint(f[0])};
  return {f[0], f[1], f[2]};
}

Expr svdvals(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = matrices_of(operand, "svdvals");
  return apply_svd(has_more_columns(x) ? adjoint(x) : x, false)[0];
}

}  // namespace thtrain
