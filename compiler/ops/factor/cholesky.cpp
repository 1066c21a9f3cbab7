// The Cholesky factor of a positive definite matrix.
#include <algorithm>
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/cusolver_steps.h"
#include "compiler/ops/factor/device_factor.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

kernel::RuntimeCheck definite_check(const Node& node) {
  return check_of(node, "the matrix is not positive definite", "positive pivots, pivot {value} is not");
}

std::vector<Tensor> reference_cholesky(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  for (int64_t m = 0; m < count_of(out); ++m) {
    const Matrix a(args.inputs[0], m);
    Matrix l(a.rows(), a.rows());
    for (int64_t j = 0; j < a.rows(); ++j) {
      double pivot = a(j, j).real();
      for (int64_t k = 0; k < j; ++k) pivot -= std::norm(l(j, k));
      if (!(pivot > 0)) fail_check(args.node, definite_check(args.node), j + 1, m);
      l(j, j) = std::sqrt(pivot);
      for (int64_t i = j + 1; i < a.rows(); ++i) {
        Matrix::Value sum = a(i, j);
        for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * std::conj(l(j, k));
        l(i, j) = sum / l(j, j);
      }
    }
    l.store(out, m);
  }
  return {out};
}

// To first order dl = l . f(l^-1 . e . l^-H), where f keeps the lower triangle, and e has the errors of x and the
// roundings, n u |l| |l^H| (Higham, Accuracy and Stability of Numerical Algorithms, section 10.1).
std::vector<Tensor> error_of_cholesky(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const Tensor& result = args.outputs[0];
  for (int64_t m = 0; m < count_of(result); ++m) {
    const Matrix factor(result, m), given(args.errors[0], m), l = magnitudes_of(factor);
    const int64_t n = l.rows();
    Matrix moved = product(l, transposed(l));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        moved(i, j) = given(std::max(i, j), std::min(i, j)) +
                      static_cast<double>(n + 3) * float_limits(result.dtype()).unit * moved(i, j);
    const Matrix inverse = magnitudes_of(inverse_of(factor, {})),
                 g = product(product(inverse, moved), transposed(inverse));
    if (!has_small_rows(g)) continue;
    Matrix error = product(l, triangle_of(g, {}));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) error(i, j) *= 2;
    error.store(out[0], m);
  }
  return out;
}

// Of any size; complex ones on the host.
void large_cholesky(kernel::StepBuilder& b) {
  const Type& type = b.output().type;
  if (b.target().is_device() && is_float(type.dtype)) return lower_device_cholesky(b, definite_check(b.node()));
  b.call_library({cholesky_function(type.dtype),
                  {count_of(type), type.dims.back(), kernel::PointerTo{b.input(0).index},
                   kernel::PointerTo{b.output().index}, definite_check(b.node())}});
}

void lower_cholesky(kernel::StepBuilder& b) {
  const Type& type = b.output().type;
  const Dim &n = type.dims.back(), count = count_of(type);
  if (!SmallMatrices::are(type))
    return b.target().is_device() ? lower_decomposition(b, definite_check(b.node()), large_cholesky)
                                  : large_cholesky(b);
  using kernel::Term;
  SmallMatrices small(b);
  const int64_t rows = n.value();
  small.run(str("cholesky_", rows), "out0 = the lower Cholesky factor of each matrix of in0", count,
            rows * rows * rows / 6, definite_check(b.node()), [&] {
              const SmallMatrices::Elements l = small.load(b.input(0));
              const auto less_products = [&](const Term& i, const Term& j) {
                const Term sum = small.var("sum", l.at(i, j));
                small.loop(0, j, [&](const Term& k) { small.assign(sum, fma(-l.at(i, k), l.at(j, k), sum)); });
                return sum;
              };
              small.loop(0, rows, [&](const Term& j) {
                const Term pivot = less_products(j, j);
                small.hold(pivot > small.number(0), j + Term(1));
                const Term root = small.let("root", sqrt(pivot));
                l.set(j, j, root);
                const Term inverse = small.let("inverse", small.number(1) / root);
                small.loop(j + Term(1), rows, [&](const Term& i) { l.set(i, j, less_products(i, j) * inverse); });
                small.loop(0, j, [&](const Term& i) { l.set(i, j, small.number(0)); });
              });
              small.store(b.output(), l);
            });
}

// Of x = l . l^H in what is read, the lower triangle: y = l^-T . f(l^T . dl) . conj(l)^-1, where f keeps the lower
// triangle and half of the diagonal; an element off the diagonal has its part of both halves of y (Murray,
// Differentiation of the Cholesky decomposition, 2016).
std::vector<Expr> gradient_of_cholesky(const GradientArgs& args) {
  const Expr &l = args.outputs[0], inner = half_of_diagonal(matmul(matrix_transpose(l), args.cotangent()));
  const bool is_real = is_float(l.dtype());
  const Expr left = triangular_solve(l, inner, {.transposed = true});
  const Expr y =
      matrix_transpose(triangular_solve(is_real ? l : conj(l), matrix_transpose(left), {.transposed = true}));
  return {half_of_diagonal(y + (is_real ? matrix_transpose(y) : conj(matrix_transpose(y))))};
}

std::vector<OpCase> cases_cholesky() {
  // More on the diagonal than off it keeps the matrix positive definite.
  auto build = [](const std::vector<Expr>& in) {
    const Expr& x = in[0];
    return std::vector{cholesky(x + 40.0 * eye(x.dims().back(), {}, 0, x.dtype()))};
  };
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims) {
    out.push_back(
        {.name = std::move(name), .inputs = {{.dtype = dtype, .dims = std::move(dims)}}, .build = build, .bound = 64});
  };
  add("small", DType::kFloat64, {5, 5});
  add("small_f32", DType::kFloat32, {19, 4, 4});
  add("large", DType::kFloat64, {11, 11});
  add("large_f32", DType::kFloat32, {2, 3, 9, 9});
  add("of_any_length", DType::kFloat64, {"b", "n", "n"});
  add("complex", DType::kComplex128, {3, 3});
  add("complex_f32", DType::kComplex64, {2, 4, 4});
  add("one", DType::kFloat64, {1, 1});
  add("empty", DType::kFloat64, {0, 0});
  add("no_matrices", DType::kFloat32, {0, 3, 3});
  return out;
}

}  // namespace

const Op& cholesky_op() {
  static const Op op{
      .name = "cholesky",
      .doc =
          "The lower triangular y of a positive definite x = y . y^H.\n"
          "Shapes: x and y [..., n, n].\n"
          "dtypes: floats and complex numbers.\n"
          "Gradient: that of the lower triangle, by triangular solves with y.\n"
          "Edge cases: only the lower triangle is read; an error where a pivot is not positive.\n"
          "Example: of [[4, 2], [2, 5]]: [[2, 0], [1, 2]]",
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            return std::vector{a.type(0)};
          },
      .reference = reference_cholesky,
      .error = error_of_cholesky,
      .gradient = gradient_of_cholesky,
      .lower = lower_cholesky,
      .iterations = &kSameOpThatMayFail,
      .accepts_layout = reads_row_major,
      .aliases = {{.output = 0, .input = 0}},
      .cost = cost_of_factors(1),
      .cases = cases_cholesky,
  };
  return op;
}

Expr cholesky(const Operand& operand, bool upper) {
  const Expr x = square_matrices_of(operand, "cholesky"), l = apply(cholesky_op(), {x}, {}, operand.where());
  if (!upper) return l;
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr u = matrix_transpose(l);
  return is_complex(l.dtype()) ? conj(u) : u;
}

}  // namespace thtrain
