// Eigenvalues and eigenvectors of any square matrix.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/eigenvalue_order.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/leading.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using Value = Matrix::Value;

constexpr int kMostSteps = 100;  // for an eigenvalue; some 3 are needed

bool has_eigenvectors(const Node& node) {
  return node.props.get<bool>("vectors");
}

kernel::RuntimeCheck finite_elements_check(const Node& node) {
  return check_of(node, "no eigenvalues were found", "finite elements", 1);
}

// Rows p and q = p + 1 become c x + s y and c y - conj(s) x.
struct Rotation {
  double c;
  Value s;
  Rotation(const Value& x, const Value& y) {
    const double size = std::hypot(std::abs(x), std::abs(y));
    c = size == 0 ? 1 : std::abs(x) / size;
    const Value sign = x == 0.0 ? 1.0 : x / std::abs(x);
    s = size == 0 ? 0.0 : sign * std::conj(y) / size;
  }
  void rows(Matrix& t, int64_t p) const {
    for (int64_t k = 0; k < t.columns(); ++k) {
      const Value x = t(p, k), y = t(p + 1, k);
      t(p, k) = c * x + s * y;
      t(p + 1, k) = c * y - std::conj(s) * x;
    }
  }
  // By the conjugate of the transpose.
  void columns(Matrix& t, int64_t p) const {
    for (int64_t k = 0; k < t.rows(); ++k) {
      const Value x = t(k, p), y = t(k, p + 1);
      t(k, p) = c * x + std::conj(s) * y;
      t(k, p + 1) = c * y - s * x;
    }
  }
};

// t = z^H . t . z without elements below its first subdiagonal; z is multiplied by the same rotations.
void make_hessenberg(Matrix& t, Matrix& z) {
  for (int64_t j = 0; j + 2 < t.rows(); ++j)
    for (int64_t i = t.rows() - 2; i > j; --i) {
      const Rotation rotation(t(i, j), t(i + 1, j));
      rotation.rows(t, i);
      rotation.columns(t, i);
      rotation.columns(z, i);
      t(i + 1, j) = 0;
    }
}

// The eigenvalue of the last two rows and columns, up to `last`, that is next to the last element (Wilkinson).
Value shift_of(const Matrix& t, int64_t last) {
  const Value a = t(last - 1, last - 1), d = t(last, last), half = (a - d) / 2.0,
              root = std::sqrt(half * half + t(last - 1, last) * t(last, last - 1)), x = d + half + root,
              y = d + half - root;
  return std::abs(x - d) < std::abs(y - d) ? x : y;
}

// Makes t triangular by shifted QR steps (Francis). False where they did not converge.
bool make_triangular(Matrix& t, Matrix& z) {
  for (int64_t last = t.rows() - 1; last > 0; --last)
    for (int step = 0;; ++step) {
      const auto is_small = [&](int64_t i) {
        return std::abs(t(i, i - 1)) <= 1e-17 * (std::abs(t(i, i)) + std::abs(t(i - 1, i - 1)));
      };
      int64_t first = last;
      while (first > 0 && !is_small(first)) --first;
      if (first > 0) t(first, first - 1) = 0;
      if (first == last) break;
      if (step == kMostSteps) return false;
      const Value shift = step % 11 == 10 ? t(last, last) + std::abs(t(last, last - 1)) : shift_of(t, last);
      for (int64_t i = first; i < last; ++i) {
        const Rotation rotation =
            i == first ? Rotation(t(i, i) - shift, t(i + 1, i)) : Rotation(t(i, i - 1), t(i + 1, i - 1));
        rotation.rows(t, i);
        rotation.columns(t, i);
        rotation.columns(z, i);
        if (i > first) t(i + 1, i - 1) = 0;
      }
    }
  return true;
}

// Column j of the eigenvectors of the triangular t, times z, of norm 1.
void eigenvector(const Matrix& t, const Matrix& z, int64_t j, int64_t to, Matrix& v) {
  const int64_t n = t.rows();
  std::vector<Value> y(static_cast<size_t>(n));
  const auto at = [&](int64_t i) -> Value& { return y[static_cast<size_t>(i)]; };
  double largest = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i; k < n; ++k) largest = std::max(largest, std::abs(t(i, k)));
  at(j) = 1;
  for (int64_t i = j - 1; i >= 0; --i) {
    Value sum = 0;
    for (int64_t k = i + 1; k <= j; ++k) sum += t(i, k) * at(k);
    Value divisor = t(j, j) - t(i, i);
    if (std::abs(divisor) < 1e-16 * largest) divisor = 1e-16 * largest;
    at(i) = divisor == 0.0 ? 0.0 : sum / divisor;
  }
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k <= j; ++k) v(i, to) += z(i, k) * at(k);
    norm = std::hypot(norm, std::abs(v(i, to)));
  }
  for (int64_t i = 0; i < n; ++i) v(i, to) /= norm;
}

std::vector<Tensor> reference_eig(const ReferenceArgs& args) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < args.node.types.size(); ++i) out.push_back(args.make_output(i));
  for (int64_t m = 0; m < count_of(args.inputs[0]); ++m) {
    Matrix t(args.inputs[0], m);
    const int64_t n = t.rows();
    Matrix z(n, n), v(n, n), w(1, n);
    bool is_done = true;
    for (int64_t i = 0; i < n; ++i) {
      z(i, i) = 1;
      for (int64_t j = 0; j < n; ++j) is_done = is_done && std::isfinite(std::abs(t(i, j)));
    }
    if (is_done) {
      make_hessenberg(t, z);
      is_done = make_triangular(t, z);
    }
    if (!is_done) fail_check(args.node, finite_elements_check(args.node), 1, m);
    std::vector<Value> values;
    std::vector<std::complex<float>> narrow;
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(t(i, i));
      narrow.emplace_back(t(i, i));
    }
    const std::vector<int64_t> order = args.node.types[0].dtype == DType::kComplex64
                                           ? order_of_eigenvalues(narrow.data(), n)
                                           : order_of_eigenvalues(values.data(), n);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t from = order[static_cast<size_t>(j)];
      w(0, j) = t(from, from);
      if (out.size() == 1) continue;
      eigenvector(t, z, from, j, v);
      make_leading_positive(&v(0, j), n, n);
    }
    w.store(out[0], m);
    if (out.size() > 1) v.store(out[1], m);
  }
  return out;
}

// By Gauss and Jordan, with pivots; empty where there is none.
std::optional<Matrix> inverse_of_matrix(Matrix a) {
  const int64_t n = a.rows();
  Matrix out(n, n);
  for (int64_t i = 0; i < n; ++i) out(i, i) = 1;
  for (int64_t j = 0; j < n; ++j) {
    int64_t pivot = j;
    for (int64_t i = j; i < n; ++i)
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    if (a(pivot, j) == 0.0) return {};
    a.exchange_rows(j, pivot);
    out.exchange_rows(j, pivot);
    for (int64_t i = 0; i < n; ++i) {
      const Value factor = i == j ? (a(j, j) - 1.0) / a(j, j) : a(i, j) / a(j, j);
      for (int64_t k = 0; k < n; ++k) {
        const Value of_a = factor * a(j, k), of_out = factor * out(j, k);
        a(i, k) -= of_a;
        out(i, k) -= of_out;
      }
    }
  }
  return out;
}

// To first order eigenvalue j moves by |y_j| e, and vector j by the sum of |y_i| e / |w_i - w_j|, where y_i are the
// rows of v^-1, and e is the norm of the errors of x and of the roundings (Stewart and Sun, Matrix Perturbation Theory,
// 1990). Nothing is known where the order or the leading element might be another one.
std::vector<Tensor> error_of_eig(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const double unit = float_limits(args.outputs[0].dtype()).unit, near = 2 * std::sqrt(2 * unit);
  for (int64_t m = 0; m < count_of(args.inputs[0]); ++m) {
    const Matrix a(args.inputs[0], m), given(args.errors[0], m);
    const int64_t n = a.rows();
    Matrix w(1, n), v(n, n);
    double moved = 0, size = 0;
    {
      const std::vector<Tensor> both =
          out.size() > 1
              ? std::vector(args.outputs.begin(), args.outputs.end())
              : args.evaluate(outputs_of(apply(eig_op(), {args.node.inputs[0]}, {{"vectors", true}}).node())[0].node(),
                              args.inputs);
      v = Matrix(both[1], m);
      const auto wide = both[0].cast(DType::kComplex128);
      for (int64_t j = 0; j < n; ++j) w(0, j) = wide.data<std::complex<double>>()[m * n + j];
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        moved += std::norm(given(i, j));
        size += std::norm(a(i, j));
      }
    const std::optional<Matrix> inverse = inverse_of_matrix(v);
    if (!inverse) continue;
    const double e = std::sqrt(moved) + 4 * static_cast<double>(n) * unit * std::sqrt(size);
    std::vector<double> lengths(static_cast<size_t>(n));
    double most = 0, largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      double& length = lengths[static_cast<size_t>(i)];
      for (int64_t k = 0; k < n; ++k) length = std::hypot(length, std::abs((*inverse)(i, k)));
      most = std::max(most, length * e);
      largest = std::max(largest, std::abs(w(0, i)));
    }
    bool is_certain = true;
    double gap = kUnknownError;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) {
        const double apart = std::abs(w(0, i).real() - w(0, j).real());
        gap = std::min(gap, std::abs(w(0, i) - w(0, j)));
        is_certain = is_certain && (apart > near * largest + 4 * most || apart <= near * largest / 16) &&
                     most <= near * largest / 32;
      }
    if (!is_certain || most > gap / 8) continue;
    for (int64_t j = 0; j < n; ++j) {
      out[0].data<double>()[m * n + j] = 2 * lengths[static_cast<size_t>(j)] * e;
      if (out.size() == 1) continue;
      double of_vector = 4 * unit;
      for (int64_t i = 0; i < n; ++i)
        if (i != j) of_vector += 2 * lengths[static_cast<size_t>(i)] * e / std::abs(w(0, i) - w(0, j));
      of_vector *= 2;  // the norm, and the phase of the leading element
      if (!is_leading_certain(&v(0, j), n, n, of_vector)) continue;
      for (int64_t i = 0; i < n; ++i) out[1].data<double>()[(m * n + i) * n + j] = 2 * of_vector;
    }
  }
  return out;
}

void lower_eig(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  const Type& type = b.input(0).type;
  const bool with_vectors = has_eigenvectors(b.node());
  b.call_library({eig_function(real_dtype(type.dtype)),
                  {count_of(type), type.dims.back(), Dim(is_complex(type.dtype)), Dim(with_vectors),
                   PointerTo{b.input(0).index}, PointerTo{b.output(0).index},
                   PointerTo{b.output(with_vectors ? 1 : 0).index}, finite_elements_check(b.node())}});
}

std::vector<Expr> apply_eig(const Expr& x, bool with_vectors) {
  return outputs_of(apply(eig_op(), {x}, {{"vectors", with_vectors}}).node());
}

// dx = v^-H . (dw on the diagonal, and (v^H . dv - v^H . v . real diagonal of v^H . dv) over the conjugate differences
// of eigenvalues) . v^H; conjugates of cotangents taken.
std::vector<Expr> gradient_of_eig(const GradientArgs& args) {
  const std::vector<Expr> both = has_eigenvectors(args.node) ? std::vector(args.outputs.begin(), args.outputs.end())
                                                             : apply_eig(args.input(0), true);
  const Expr &w = both[0], &v = both[1], &dw = args.cotangents[0];
  const Expr dv = args.cotangents.size() > 1 ? args.cotangents[1] : Expr();
  Expr inner;
  if (dv.has_value()) {
    const Expr of_v = matmul(adjoint(v), conj(dv)), lengths = real(diagonal(of_v, 0, -2, -1));
    inner = over_differences(of_v - matmul(adjoint(v), columns_times(v, lengths)), conj(w));
  }
  if (dw.has_value()) {
    const Expr one = eye(w.dims().back(), {}, 0, real_dtype(w.dtype())), of_w = one * expand_dims(conj(dw), {-1});
    inner = inner.has_value() ? inner + of_w : of_w;
  }
  const Expr dx = conj(solve(adjoint(v), matmul(inner, adjoint(v))));
  return {is_complex(args.input(0).dtype()) ? dx : real(dx)};
}

std::vector<OpCase> cases_eig() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims, bool with_vectors = true) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [=](const std::vector<Expr>& in) {
                         if (!with_vectors) return std::vector{eigvals(in[0])};
                         const EigenPairs e = eig(in[0]);
                         return std::vector{e.values, e.vectors};
                       },
                   .bound = 65536});
  };
  add("of_floats", DType::kFloat64, {3, 4, 4});
  add("of_floats_f32", DType::kFloat32, {2, 3, 3});
  add("values", DType::kFloat64, {5, 5}, false);
  add("large", DType::kFloat64, {9, 9});
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

const Op& eig_op() {
  static const Op op{
      .name = "eig",
      .doc =
          "Eigenvalues w and with `vectors` eigenvectors v, of norm 1, of any square matrix: x . v = v . diag(w).\n"
          "Shapes: x and v [..., n, n], w [..., n].\n"
          "dtypes: floats and complex numbers; w and v are complex.\n"
          "Gradient: where the eigenvalues differ.\n"
          "Edge cases: in the order of the real parts, of equal ones (to half of the digits) of the imaginary parts; "
          "the first element of a vector whose modulus is at least 0.55 of the largest is real and positive; an error "
          "where an element is not finite.\n"
          "Example: of [[0, -1], [1, 0]]: w [-i, i], v [[0.7071, 0.7071], [0.7071i, -0.7071i]]",
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            Type v = a.type(0);
            v.dtype = real_dtype(v.dtype) == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128;
            std::vector<Type> out{{.dtype = v.dtype, .dims = Dims(v.dims.begin(), v.dims.end() - 1)}};
            if (a.props.get<bool>("vectors")) out.push_back(v);
            return out;
          },
      .reference = reference_eig,
      .error = error_of_eig,
      .gradient = gradient_of_eig,
      .lower = lower_eig,
      .iterations = &kSameOpThatMayFail,
      .accepts_layout = reads_row_major,
      .cost = cost_of_factors(75),
      .cases = cases_eig,
  };
  return op;
}

static bool is_known_symmetric(const Expr& x) {
  const MatrixKind kind = known_kind(x);
  return kind == MatrixKind::kSymmetric || kind == MatrixKind::kPositiveDefinite;
}
static Expr as_complex(const Expr& x) {
  return cast(x, real_dtype(x.dtype()) == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128);
}

EigenPairs eig(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  if (is_known_symmetric(operand.expr())) {
    const EigenPairs all = eigh(operand);
    return {as_complex(all.values), as_complex(all.vectors)};
  }
  const std::vector<Expr> all = apply_eig(square_matrices_of(operand, "eig"), true);
  return {all[0], another_form(all[1], columns_times(all[1], phases_of(all[1])))};
}

Expr eigvals(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  if (is_known_symmetric(operand.expr())) return as_complex(eigvalsh(operand));
  return apply_eig(square_matrices_of(operand, "eigvals"), false)[0];
}

}  // namespace thtrain
