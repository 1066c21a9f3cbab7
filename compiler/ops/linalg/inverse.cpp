// The inverse of a square matrix, by LAPACK's LU factorization with partial pivoting.
#include <cmath>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/linalg/device_inverse.h"
#include "compiler/ops/linalg/inverse_function.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::PointerTo;
using kernel::StepBuilder;

constexpr const char* kSingular = "inverse: the matrix is singular";
constexpr const char* kPivots = "pivots other than 0, found 0 as pivot {value} of the LU factorization";

// By Gauss and Jordan in float64, on the transposed matrix, as LAPACK sees it: rows are exchanged so that each pivot is
// the largest of its column.
std::vector<Tensor> reference_inverse(const ReferenceArgs& args) {
  const int64_t n = args.inputs[0].dim(0);
  std::vector<double> a(static_cast<size_t>(n * n)), x(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n * n; ++i) a[static_cast<size_t>(i % n * n + i / n)] = args.inputs[0].as_double(i);
  for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i * n + i)] = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t i = column + 1; i < n; ++i)
      if (std::abs(a[i * n + column]) > std::abs(a[pivot * n + column])) pivot = i;
    if (a[pivot * n + column] == 0)
      throw UserError(
          {.what = kSingular,
           .expected = str("pivots other than 0, found 0 as pivot ", column + 1, " of the LU factorization"),
           .node = args.node.origin.text(),
           .config = args.node.origin.config()});
    for (int64_t j = 0; j < n; ++j) {
      std::swap(a[pivot * n + j], a[column * n + j]);
      std::swap(x[pivot * n + j], x[column * n + j]);
    }
    const double scale = 1 / a[column * n + column];
    for (int64_t j = 0; j < n; ++j) {
      a[column * n + j] *= scale;
      x[column * n + j] *= scale;
    }
    for (int64_t i = 0; i < n; ++i) {
      const double factor = a[i * n + column];
      if (i == column || factor == 0) continue;
      for (int64_t j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[column * n + j];
        x[i * n + j] -= factor * x[column * n + j];
      }
    }
  }
  Tensor out = args.make_output();
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = 0; i < n * n; ++i) out.data<T>()[i] = static_cast<T>(x[static_cast<size_t>(i % n * n + i / n)]);
  });
  return {out};
}

// a . b of n x n matrices.
Tensor product(const Tensor& a, const Tensor& b) {
  const int64_t n = a.dim(0);
  Tensor out = Tensor::zeros(DType::kFloat64, a.shape());
  const double *x = a.data<double>(), *y = b.data<double>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j) out.data<double>()[i * n + j] += x[i * n + k] * y[k * n + j];
  return out;
}

// To first order X changes by X dA X. The computed X is within 8 n u |X| |A| |X| of the exact one where the pivots do
// not grow (Higham, Accuracy and Stability of Numerical Algorithms, section 14.3). Nothing is known where |X| E is not
// small.
std::vector<Tensor> error(const ErrorArgs& args) {
  const int64_t n = args.inputs[0].dim(0);
  const Tensor x = magnitudes(args.outputs[0]);
  if (!all_finite(args.inputs[0]) || !all_finite(x) || !all_finite(args.errors[0])) return unknown_errors(args);
  const double unit = precision_of(args.node.types[0].dtype).unit;
  Tensor moved = magnitudes(args.inputs[0]);
  for (int64_t i = 0; i < n * n; ++i)
    moved.data<double>()[i] = args.errors[0].as_double(i) + 8 * static_cast<double>(n) * unit * moved.data<double>()[i];
  const Tensor relative = product(x, moved);
  for (int64_t i = 0; i < n; ++i) {
    const double* row = relative.data<double>() + i * n;
    if (std::accumulate(row, row + n, 0.0) > 0.25) return unknown_errors(args);
  }
  Tensor out = product(relative, x);
  for (int64_t i = 0; i < n * n; ++i) out.data<double>()[i] = 2 * out.data<double>()[i];
  return {out};
}

void lower_inverse(StepBuilder& b) {
  const DType dtype = b.output().type.dtype;
  const Dim& n = b.output().type.dims[0];
  kernel::RuntimeCheck singular{kSingular, kPivots, b.node().origin};
  if (b.target().is_device()) return lower_device_inverse(b, std::move(singular));
  const kernel::Operand work = b.workspace(dtype, n * Dim(kInverseBlock)), pivots = b.workspace(DType::kInt32, n);
  b.call_library(
      {inverse_function(dtype),
       {n, PointerTo{b.input(0).index}, PointerTo{b.output().index}, PointerTo{work.index}, PointerTo{pivots.index}},
       std::move(singular)});
}

std::vector<OpCase> cases_inverse() {
  // More on the diagonal than off it in a row, 2 for each of 17 elements, keeps the matrix far from a singular one.
  auto build = [](const std::vector<Expr>& in) {
    return std::vector{inverse(in[0] + 40.0 * eye(in[0].dims()[0], {}, 0, in[0].dtype()))};
  };
  auto square = [](DType dtype, int64_t n) { return Type{.dtype = dtype, .dims = {n, n}}; };
  return {{.name = "f64", .inputs = {square(DType::kFloat64, 5)}, .build = build, .bound = 64},
          {.name = "f32", .inputs = {square(DType::kFloat32, 17)}, .build = build, .bound = 64},
          {.name = "of_transposed",
           .inputs = {square(DType::kFloat64, 4)},
           .build = [build](const std::vector<Expr>& in) { return build({transpose(in[0])}); },
           .bound = 64},
          {.name = "one", .inputs = {square(DType::kFloat64, 1)}, .build = build, .bound = 64},
          {.name = "empty", .inputs = {square(DType::kFloat64, 0)}, .build = build, .bound = 64}};
}

}  // namespace

const kernel::LibraryFunction& inverse_function(DType dtype) {
  static const kernel::LibraryFunction f32{"inverse_f32", TH_TEXT_OF(TH_INVERSE_PARAMETERS(float)), true};
  static const kernel::LibraryFunction f64{"inverse_f64", TH_TEXT_OF(TH_INVERSE_PARAMETERS(double)), true};
  return dtype == DType::kFloat32 ? f32 : f64;
}

const Op& inverse_op() {
  static const Op op{
      .name = "inverse",
      .doc =
          "The inverse y of a square matrix, by the LU factorization with pivoting.\n"
          "Shapes: x and y [n, n].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: dx = -y^T . dy . y^T.\n"
          "Edge cases: an error where the matrix is singular.\n"
          "Example: of [[2, 0], [0, 4]]: [[0.5, 0], [0, 0.25]]",
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0).rank() == 2 && is_float(a.type(0).dtype), "the input is no matrix of floats");
            a.require_equal(a.type(0).dims[0], a.type(0).dims[1], "rows and columns differ");
            return std::vector{a.type(0)};
          },
      .reference = reference_inverse,
      .error = error,
      .gradient =
          [](const GradientArgs& g) {
            const Expr x = transpose(g.outputs[0]);
            return std::vector<Expr>{-dot(x, dot(g.cotangent(), x))};
          },
      .jvp = [](const JvpArgs& a) { return std::vector<Expr>{-dot(a.outputs[0], dot(a.tangents[0], a.outputs[0]))}; },
      .lower = lower_inverse,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .cost =
          [](const Node& node) {
            const Dim& n = node.types[0].dims[0];
            return Cost{Dim(2) * n * n * n, Dim(2 * static_cast<int64_t>(size_of(node.types[0].dtype))) * n * n};
          },
      .cases = cases_inverse,
  };
  return op;
}

Expr inverse(const Operand& x) {
  return apply(inverse_op(), resolve({&x}), {}, x.where());
}

}  // namespace thtrain
