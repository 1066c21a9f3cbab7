// Eigenvalues and eigenvectors of symmetric matrices.
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

using kernel::Term;

constexpr int kMostSweeps = 30;  // some 5 to 8 are needed

bool wants_vectors(const Node& node) {
  return node.props.get<bool>("vectors");
}

kernel::RuntimeCheck finite_check(const Node& node) {
  return check_of(node, "no eigenvalues were found", "finite elements in the lower triangle", 1);
}

// The rotation of p and q by which a(p, q) becomes 0 (Jacobi): column q is first divided by the sign of a(p, q).
void rotate(Matrix& a, Matrix& v, int64_t p, int64_t q) {
  const int64_t n = a.rows();
  const double size = std::abs(a(p, q));
  if (size == 0) return;
  const Matrix::Value sign = a(p, q) / size;
  const double ratio = (a(q, q).real() - a(p, p).real()) / (2 * size),
               t = std::copysign(1, ratio) / (std::abs(ratio) + std::hypot(ratio, 1)), c = 1 / std::hypot(t, 1),
               s = t * c;
  const auto of_columns = [&](Matrix& x) {
    for (int64_t k = 0; k < n; ++k) {
      const Matrix::Value left = x(k, p), right = x(k, q) * std::conj(sign);
      x(k, p) = c * left - s * right;
      x(k, q) = s * left + c * right;
    }
  };
  of_columns(a);
  of_columns(v);
  for (int64_t k = 0; k < n; ++k) {
    const Matrix::Value left = a(p, k), right = a(q, k) * sign;
    a(p, k) = c * left - s * right;
    a(q, k) = s * left + c * right;
  }
  a(p, q) = a(q, p) = 0;
}

std::vector<Tensor> reference_eigh(const ReferenceArgs& args) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < args.node.types.size(); ++i) out.push_back(args.make_output(i));
  for (int64_t m = 0; m < count_of(args.inputs[0]); ++m) {
    Matrix a(args.inputs[0], m);
    const int64_t n = a.rows();
    Matrix v(n, n), w(1, n), sorted(n, n);
    double scale = 0;
    for (int64_t i = 0; i < n; ++i) {
      v(i, i) = 1;
      a(i, i) = a(i, i).real();
      for (int64_t j = 0; j <= i; ++j) {
        a(j, i) = std::conj(a(i, j));
        if (!std::isfinite(std::abs(a(i, j)))) fail_check(args.node, finite_check(args.node), 1, m);
        scale = std::max(scale, std::abs(a(i, j)));
      }
    }
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      double off = 0;
      for (int64_t p = 0; p < n; ++p)
        for (int64_t q = p + 1; q < n; ++q) {
          off = std::max(off, std::abs(a(p, q)));
          rotate(a, v, p, q);
        }
      if (off <= 1e-17 * scale) break;
    }
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return a(i, i).real() < a(j, j).real(); });
    for (int64_t j = 0; j < n; ++j) {
      const int64_t from = order[static_cast<size_t>(j)];
      w(0, j) = a(from, from).real();
      for (int64_t i = 0; i < n; ++i) sorted(i, j) = v(i, from);
      make_leading_positive(&sorted(0, j), n, n);
    }
    w.store(out[0], m);
    if (out.size() > 1) sorted.store(out[1], m);
  }
  return out;
}

// With e the norm of the errors of x and of the roundings, an eigenvalue moves by e at most (Weyl), and a vector by 4 e
// over the distance of its eigenvalue from the others where e is a quarter of that at most (Davis and Kahan). Nothing
// is known where another element might be the leading one.
std::vector<Tensor> error_of_eigh(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const double unit = float_limits(args.outputs[0].dtype()).unit;
  for (int64_t m = 0; m < count_of(args.inputs[0]); ++m) {
    const Matrix a(args.inputs[0], m), given(args.errors[0], m);
    const int64_t n = a.rows();
    double moved = 0, size = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        moved += (i == j ? 1 : 2) * std::norm(given(i, j));
        size += (i == j ? 1 : 2) * std::norm(a(i, j));
      }
    const double e = std::sqrt(moved) + 8 * static_cast<double>(n) * unit * std::sqrt(size);
    const Tensor& w = args.outputs[0];
    for (int64_t j = 0; j < n; ++j) {
      out[0].data<double>()[m * n + j] = e;
      if (out.size() == 1) continue;
      double gap = kUnknownError;
      if (j > 0) gap = std::min(gap, w.as_double(m * n + j) - w.as_double(m * n + j - 1));
      if (j + 1 < n) gap = std::min(gap, w.as_double(m * n + j + 1) - w.as_double(m * n + j));
      if (!(e <= gap / 4)) continue;
      const double of_vector = 4 * e / gap + 4 * unit;
      const Matrix v(args.outputs[1], m);
      if (!is_leading_certain(&v(0, j), n, n, of_vector)) continue;
      for (int64_t i = 0; i < n; ++i) out[1].data<double>()[(m * n + i) * n + j] = 2 * of_vector;
    }
  }
  return out;
}

// Jacobi's rotations, of each lane its own, until no lane has an element off the diagonal.
void small_eigh(kernel::StepBuilder& b) {
  using Elements = SmallMatrices::Elements;
  const Type& type = b.input(0).type;
  const int64_t n = type.dims.back().value();
  const bool with_vectors = wants_vectors(b.node());
  SmallMatrices small(b);
  small.run(
      str("eigh_", n), "out0 = the eigenvalues of each matrix of in0, out1 = its eigenvectors", count_of(type),
      16 * n * n * n, finite_check(b.node()), [&] {
        const Elements a = small.load(b.input(0)), v = small.elements(n * n, n), w = small.elements(n);
        small.loop(0, n, [&](const Term& i) {
          small.loop(0, n, [&](const Term& j) { v.set(i, j, small.number(0)); });
          v.set(i, i, small.number(1));
          small.loop(0, i, [&](const Term& j) { a.set(j, i, a.at(i, j)); });
        });
        small.hold(small.are_finite(a), Term(1));
        const Term scale = small.var("scale", small.number(0));
        small.loop(0, n * n, [&](const Term& i) {
          const Term size = small.let("size", fabs(a.at(i)));
          small.assign(scale, select(size > scale, size, scale));
        });
        const Term tiny = small.let("tiny", scale * small.number(float_limits(type.dtype).unit / 4)),
                   off = small.var("off", scale + small.number(1));
        const auto rotate_columns = [&](const Elements& x, const Term& p, const Term& q, const Term& c, const Term& s) {
          small.loop(0, n, [&](const Term& k) {
            const Term left = x.at(k, p), right = x.at(k, q);
            x.set(k, p, fma(c, left, -(s * right)));
            x.set(k, q, fma(s, left, c * right));
          });
        };
        small.loop(0, kMostSweeps, [&](const Term&) {
          small.if_any(off > tiny, [&] {
            small.assign(off, small.number(0));
            small.loop(0, n - 1, [&](const Term& p) {
              small.loop(p + Term(1), n, [&](const Term& q) {
                const Term x = a.at(p, q), size = small.let("size", fabs(x));
                small.assign(off, select(size > off, size, off));
                const Term is_zero = small.let("is_zero", size <= tiny * small.number(1e-3)),
                           divisor = small.let("divisor", select(is_zero, small.number(1), x + x)),
                           ratio = small.let("ratio", (a.at(q, q) - a.at(p, p)) / divisor),
                           root = small.let("root", sqrt(fma(ratio, ratio, small.number(1)))),
                           tangent = small.let("tangent", copy_sign(small.number(1) / (fabs(ratio) + root), ratio)),
                           t = small.let("t", select(is_zero, small.number(0), tangent)),
                           c = small.let("c", small.number(1) / sqrt(fma(t, t, small.number(1)))),
                           s = small.let("s", t * c);
                rotate_columns(a, p, q, c, s);
                small.loop(0, n, [&](const Term& k) {
                  const Term left = a.at(p, k), right = a.at(q, k);
                  a.set(p, k, fma(c, left, -(s * right)));
                  a.set(q, k, fma(s, left, c * right));
                });
                a.set(p, q, small.number(0));
                a.set(q, p, small.number(0));
                if (with_vectors) rotate_columns(v, p, q, c, s);
              });
            });
          });
        });
        small.loop(0, n, [&](const Term& i) { w.set(i, a.at(i, i)); });
        small.loop(0, n - 1, [&](const Term& i) {
          small.loop(i + Term(1), n, [&](const Term& j) {
            const Term left = w.at(i), right = w.at(j), is_less = small.let("is_less", right < left);
            w.set(i, select(is_less, right, left));
            w.set(j, select(is_less, left, right));
            if (!with_vectors) return;
            small.loop(0, n, [&](const Term& k) {
              const Term x = v.at(k, i), y = v.at(k, j);
              v.set(k, i, select(is_less, y, x));
              v.set(k, j, select(is_less, x, y));
            });
          });
        });
        small.store(b.output(0), w);
        if (!with_vectors) return;
        small.loop(0, n, [&](const Term& j) { small.make_leading_positive(v, n, j); });
        small.store(b.output(1), v);
      });
}

void host_eigh(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  const Type& type = b.input(0).type;
  const bool with_vectors = wants_vectors(b.node());
  b.call_library(
      {eigh_function(type.dtype),
       {count_of(type), type.dims.back(), Dim(with_vectors), PointerTo{b.input(0).index}, PointerTo{b.output(0).index},
        PointerTo{b.output(with_vectors ? 1 : 0).index}, finite_check(b.node())}});
}

void lower_eigh(kernel::StepBuilder& b) {
  if (SmallMatrices::are(b.input(0).type)) return small_eigh(b);
  b.target().is_device() ? lower_decomposition(b, finite_check(b.node()), host_eigh) : host_eigh(b);
}

std::vector<Expr> apply_eigh(const Expr& x, bool with_vectors) {
  return outputs_of(apply(eigh_op(), {x}, {{"vectors", with_vectors}}).node());
}

// With x = v . w . v^H, a change of x moves w by the diagonal of v^H . dx . v, and v by v . (the rest of that over the
// differences of eigenvalues).
std::vector<Expr> gradient_of_eigh(const GradientArgs& args) {
  const std::vector<Expr> both = wants_vectors(args.node) ? std::vector(args.outputs.begin(), args.outputs.end())
                                                          : apply_eigh(args.input(0), true);
  const Expr &w = both[0], &v = both[1], &dw = args.cotangents[0];
  const Expr dv = args.cotangents.size() > 1 ? args.cotangents[1] : Expr();
  Expr inner;
  if (dv.has_value()) inner = matmul(v, over_differences(matmul(adjoint(v), conjugate(dv)), w));
  if (dw.has_value()) inner = inner.has_value() ? inner + columns_times(v, dw) : columns_times(v, dw);
  const Expr dx = matmul(inner, adjoint(v));
  return {conjugate(half_of_diagonal(dx + adjoint(dx)))};
}

std::vector<OpCase> cases_eigh() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims, bool with_vectors = true) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [=](const std::vector<Expr>& in) {
                         if (!with_vectors) return std::vector{eigvalsh(in[0])};
                         const EigenPairs e = eigh(in[0]);
                         return std::vector{e.values, e.vectors};
                       },
                   .bound = 4096});
  };
  add("small", DType::kFloat64, {3, 4, 4});
  add("small_f32", DType::kFloat32, {21, 3, 3});
  add("small_values", DType::kFloat64, {5, 5}, false);
  add("large", DType::kFloat64, {9, 9});
  add("large_f32", DType::kFloat32, {2, 2, 9, 9});
  add("values", DType::kFloat64, {2, 10, 10}, false);
  add("of_any_length", DType::kFloat64, {"b", "n", "n"});
  add("complex", DType::kComplex128, {4, 4});
  add("complex_f32", DType::kComplex64, {2, 3, 3});
  add("complex_values", DType::kComplex128, {3, 3}, false);
  add("one", DType::kFloat64, {2, 1, 1});
  add("empty", DType::kFloat64, {0, 0});
  add("no_matrices", DType::kFloat32, {0, 3, 3});
  return out;
}

}  // namespace

const Op& eigh_op() {
  static const Op op{
      .name = "eigh",
      .doc =
          "Eigenvalues w, in ascending order, and with `vectors` eigenvectors v of a symmetric (Hermitian) x: x . v = "
          "v . diag(w).\n"
          "Shapes: x and v [..., n, n], w [..., n].\n"
          "dtypes: floats and complex numbers; w is real.\n"
          "Gradient: that of the lower triangle; of vectors where the eigenvalues differ.\n"
          "Edge cases: only the lower triangle is read; the first element of a vector whose modulus is at least 0.55 "
          "of "
          "the largest is positive; an error where an element is not finite.\n"
          "Example: of [[2, 1], [1, 2]]: w [1, 3], v [[0.7071, 0.7071], [-0.7071, 0.7071]]",
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            const Type& x = a.type(0);
            std::vector<Type> out{{.dtype = real_dtype(x.dtype), .dims = Dims(x.dims.begin(), x.dims.end() - 1)}};
            if (a.props.get<bool>("vectors")) out.push_back(x);
            return out;
          },
      .reference = reference_eigh,
      .error = error_of_eigh,
      .gradient = gradient_of_eigh,
      .lower = lower_eigh,
      .iterations = &kSameOpThatMayFail,
      .accepts_layout = reads_row_major,
      .cost = cost_of_factors(27),
      .cases = cases_eigh,
  };
  return op;
}

EigenPairs eigh(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const std::vector<Expr> all = apply_eigh(square_matrices_of(operand, "eigh"), true);
  return {all[0], is_complex(all[1].dtype()) ? another_form(all[1], columns_times(all[1], phases_of(all[1]))) : all[1]};
}

Expr eigvalsh(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  return apply_eigh(square_matrices_of(operand, "eigvalsh"), false)[0];
}

}  // namespace thtrain
