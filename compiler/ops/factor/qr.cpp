// QR factorization by Householder's reflections.
#include <algorithm>
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/cusolver_steps.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/factor/reflections.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Term;

std::vector<Tensor> reference_qr(const ReferenceArgs& args) {
  std::vector<Tensor> out = {args.make_output(0), args.make_output(1)};
  for (int64_t number = 0; number < count_of(out[0]); ++number) {
    Matrix a(args.inputs[0], number);
    const int64_t m = a.rows(), n = a.columns();
    Matrix q = product_of(reflect_columns(a)), r(n, n);
    for (int64_t j = 0; j < n; ++j) {
      const double size = std::abs(a(j, j));
      const Matrix::Value sign = size == 0 ? 1 : a(j, j) / size;
      for (int64_t k = j; k < n; ++k) r(j, k) = std::conj(sign) * a(j, k);
      r(j, j) = size;
      for (int64_t i = 0; i < m; ++i) q(i, j) *= sign;
    }
    q.store(out[0], number);
    r.store(out[1], number);
  }
  return out;
}

// To first order dr . r^-1 and q^H . dq follow from g = |e| |r^-1| by their norms, where e has the errors of x and the
// roundings, n u |x| by columns (Higham, Accuracy and Stability of Numerical Algorithms, section 19.9).
std::vector<Tensor> error_of_qr(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const double unit = float_limits(args.outputs[0].dtype()).unit;
  for (int64_t number = 0; number < count_of(args.outputs[0]); ++number) {
    const Matrix a(args.inputs[0], number), given(args.errors[0], number), r(args.outputs[1], number);
    const int64_t m = a.rows(), n = a.columns();
    std::vector<double> moved(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) {
      double errors = 0, size = 0;
      for (int64_t i = 0; i < m; ++i) {
        errors += std::norm(given(i, j));
        size += std::norm(a(i, j));
      }
      moved[static_cast<size_t>(j)] = std::sqrt(errors) + 4 * static_cast<double>(m + n) * unit * std::sqrt(size);
    }
    bool is_regular = true;
    for (int64_t j = 0; j < n; ++j) is_regular = is_regular && r(j, j) != 0.0;
    if (!is_regular) continue;
    const Matrix inverse = magnitudes_of(inverse_of(r, {.lower = false}));
    double g = 0;
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += moved[static_cast<size_t>(i)] * inverse(i, j).real();
      g = std::hypot(g, sum);
    }
    if (!(g <= 0.1)) continue;
    std::fill_n(out[0].data<double>() + number * m * n, m * n, 4 * g);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double size = 0;
        for (int64_t k = 0; k <= j; ++k) size = std::hypot(size, std::abs(r(k, j)));
        out[1].data<double>()[(number * n + i) * n + j] = i > j ? 0 : 4 * g * size + moved[static_cast<size_t>(j)];
      }
  }
  return out;
}

// Divided by the largest element, so that no square is too large.
void small_qr(kernel::StepBuilder& b) {
  using Elements = SmallMatrices::Elements;
  const Type& type = b.input(0).type;
  const int64_t n = type.dims.back().value(), m = type.dims[type.rank() - 2].value();
  SmallMatrices small(b);
  small.run(str("qr_", m, "x", n), "out0 . out1 = each matrix of in0", count_of(type), 2 * m * n * n, {}, [&] {
    const Elements a = small.load(b.input(0)), q = small.elements(m * n, n), v = small.elements(m * n, n),
                   factors = small.elements(n);
    const Term scale = small.var("scale", small.number(0));
    small.loop(0, m * n, [&](const Term& i) {
      const Term size = small.let("size", fabs(a.at(i)));
      small.assign(scale, select(size > scale, size, scale));
      v.set(i, small.number(0));
      q.set(i, small.number(0));
    });
    small.assign(scale, select(scale == small.number(0), small.number(1), scale));
    small.loop(0, m * n, [&](const Term& i) { a.set(i, a.at(i) / scale); });
    const auto reflect = [&](const Elements& x, const Term& j) {
      const Term factor = factors.at(j);
      small.loop(j, n, [&](const Term& k) {
        const Term sum = small.var("sum", small.number(0));
        small.loop(j, m, [&](const Term& i) { small.assign(sum, fma(v.at(i, j), x.at(i, k), sum)); });
        const Term times = small.let("times", -(factor * sum));
        small.loop(j, m, [&](const Term& i) { x.set(i, k, fma(times, v.at(i, j), x.at(i, k))); });
      });
    };
    small.loop(0, n, [&](const Term& j) {
      const Term sum = small.var("squares", small.number(0));
      small.loop(j + Term(1), m, [&](const Term& i) {
        const Term x = a.at(i, j);
        v.set(i, j, x);
        small.assign(sum, fma(x, x, sum));
      });
      const Term pivot = a.at(j, j), moved = small.let("moved", pivot + copy_sign(sqrt(fma(pivot, pivot, sum)), pivot)),
                 norm = small.let("norm", fma(moved, moved, sum));
      v.set(j, j, moved);
      const Term is_zero = small.let("is_zero", sum == small.number(0));
      factors.set(j, select(is_zero, small.number(0), small.number(2) / select(is_zero, small.number(1), norm)));
      reflect(a, j);
      q.set(j, j, small.number(1));
    });
    small.loop(0, n, [&](const Term& step) { reflect(q, Term(n - 1) - step); });
    const Elements r = small.elements(n * n, n);
    small.loop(0, n, [&](const Term& j) {
      const Term sign = small.let("sign", select(a.at(j, j) < small.number(0), small.number(-1), small.number(1)));
      small.loop(0, j, [&](const Term& k) { r.set(j, k, small.number(0)); });
      small.loop(j, n, [&](const Term& k) { r.set(j, k, a.at(j, k) * sign * scale); });
      small.loop(0, m, [&](const Term& i) { q.set(i, j, q.at(i, j) * sign); });
    });
    small.store(b.output(0), q);
    small.store(b.output(1), r);
  });
}

void host_qr(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  const Type& type = b.input(0).type;
  b.call_library({qr_function(type.dtype),
                  {count_of(type), type.dims[type.rank() - 2], type.dims.back(), PointerTo{b.input(0).index},
                   PointerTo{b.output(0).index}, PointerTo{b.output(1).index}}});
}

void lower_qr(kernel::StepBuilder& b) {
  if (SmallMatrices::are(b.input(0).type)) return small_qr(b);
  b.target().is_device() ? lower_decomposition(b, {}, host_qr) : host_qr(b);
}

// dx = (dq + q . (s + s^H - the real diagonal of s)) . r^-H with s the upper triangle of dr . r^H - q^H . dq (Walter
// and Lehmann, Algorithmic Differentiation of Linear Algebra Functions, 2018), conjugates of cotangents taken.
std::vector<Expr> gradient_of_qr(const GradientArgs& args) {
  const Expr &q = args.outputs[0], &r = args.outputs[1];
  Expr inner, dq;
  if (args.cotangents[1].has_value()) inner = matmul(conjugate(args.cotangents[1]), adjoint(r));
  if (args.cotangents[0].has_value()) {
    dq = conjugate(args.cotangents[0]);
    const Expr of_q = matmul(adjoint(q), dq);
    inner = inner.has_value() ? inner - of_q : -of_q;
  }
  const Expr above = triu(inner, 1), n = eye(r.dims().back(), {}, 0, real_dtype(r.dtype())),
             of_diagonal = (is_complex(inner.dtype()) ? real(inner) : inner) * n;
  Expr sum = matmul(q, above + adjoint(above) + of_diagonal);
  if (dq.has_value()) sum = sum + dq;
  const Expr dx = adjoint(solve_triangle(r, adjoint(sum), {.lower = false}, "the derivative of qr"));
  return {conjugate(dx)};
}

std::vector<OpCase> cases_qr() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims, bool smooth = true) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [](const std::vector<Expr>& in) {
                         // Far from dependent columns, where the factors change fast.
                         const Dims& dims = in[0].dims();
                         const QrFactors f =
                             qr(in[0] + 8.0 * eye(dims[dims.size() - 2], dims.back(), 0, in[0].dtype()));
                         return std::vector{f.q, f.r};
                       },
                   .smooth = smooth,
                   .bound = 4096});
  };
  add("small", DType::kFloat64, {3, 4, 4});
  add("small_tall_f32", DType::kFloat32, {19, 5, 3});
  add("large", DType::kFloat64, {9, 9});
  add("tall", DType::kFloat64, {12, 3});
  add("tall_f32", DType::kFloat32, {2, 2, 11, 9});
  add("wide", DType::kFloat64, {2, 3, 5});
  add("of_any_length", DType::kFloat64, {"b", "n", "n"});
  add("complex", DType::kComplex128, {4, 3});
  add("complex_f32", DType::kComplex64, {2, 3, 3});
  add("one", DType::kFloat64, {2, 1, 1});
  add("empty", DType::kFloat64, {0, 0});
  add("no_columns", DType::kFloat64, {3, 0});
  add("no_matrices", DType::kFloat32, {0, 3, 2});
  return out;
}

}  // namespace

const Op& qr_op() {
  static const Op op{
      .name = "qr",
      .doc =
          "Factors x = q . r: q has orthonormal columns, r is upper triangular.\n"
          "Shapes: x and q [..., m, n], r [..., n, n], m >= n.\n"
          "dtypes: floats and complex numbers.\n"
          "Gradient: where r is regular, by a triangular solve with r.\n"
          "Edge cases: the diagonal of r is real and not negative; of dependent columns some columns of q are "
          "arbitrary.\n"
          "Example: of [[3, 1], [4, 2]]: q [[0.6, -0.8], [0.8, 0.6]], r [[5, 2.2], [0, 0.4]]",
      .infer =
          [](const TypeArgs& a) {
            const Type q = require_tall_matrices(a);
            Type r = q;
            r.dims[r.rank() - 2] = r.dims.back();
            return std::vector{q, r};
          },
      .reference = reference_qr,
      .error = error_of_qr,
      .gradient = gradient_of_qr,
      .lower = lower_qr,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = reads_row_major,
      .aliases = {{.output = 0, .input = 0}},
      .cost = cost_of_factors(12),
      .cases = cases_qr,
  };
  return op;
}

// Of x with columns of zeros behind it, which need no reflections: so their columns of q are those of the product of
// the others. The derivatives are those of x alone, but for these columns, which have none.
static QrFactors complete_qr(const Expr& x) {
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const Dim &m = x.dims()[x.rank() - 2], &n = x.dims().back();
  Dims zero_dims = x.dims(), below = x.dims();
  zero_dims.back() = m - n;
  below[below.size() - 2] = m - n;
  const std::vector<Expr> all =
      outputs_of(apply(qr_op(), {concatenate({x, zeros(LengthList(zero_dims), x.dtype())}, axis)}).node());
  const std::vector<Expr> f = outputs_of(apply(qr_op(), {x}).node());
  const Expr q = another_form(slice_of_axis(all[0], axis, 0, n), f[0]),
             r = concatenate({f[1], zeros(LengthList(below), x.dtype())}, axis - 1);
  return {concatenate({q, slice_of_axis(all[0], axis, n, m - n)}, axis),
          another_form(slice_of_axis(all[1], axis, 0, n), r)};
}

// Of more columns than rows the first ones are factored: r has of the others q^H . x.
QrFactors qr(const Operand& operand, bool complete) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = matrices_of(operand, "qr");
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  const Dim &m = x.dims()[x.rank() - 2], &n = x.dims().back();
  const bool is_wide = m != n && n.is_at_least(m);
  if (complete && !is_wide && m != n) return complete_qr(x);
  const std::vector<Expr> f = outputs_of(apply(qr_op(), {is_wide ? slice_of_axis(x, axis, 0, m) : x}).node());
  if (!is_wide) return {f[0], f[1]};
  const Expr others = matmul(adjoint(f[0]), slice_of_axis(x, axis, m, n - m));
  return {f[0], concatenate({f[1], others}, axis)};
}

}  // namespace thtrain
