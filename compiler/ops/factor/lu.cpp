// LU factorization with partial pivoting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/cusolver_lu.h"
#include "compiler/ops/factor/device_factor.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Term;

// As LAPACK takes it for pivots.
double size_of_pivot(const Matrix::Value& x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

std::vector<Tensor> reference_lu(const ReferenceArgs& args) {
  std::vector<Tensor> out = {args.make_output(0), args.make_output(1), args.make_output(2)};
  for (int64_t m = 0; m < count_of(out[0]); ++m) {
    Matrix a(args.inputs[0], m);
    const int64_t n = a.rows();
    int64_t* const rows = out[1].data<int64_t>() + m * n;
    int64_t& sign = out[2].data<int64_t>()[m];
    std::iota(rows, rows + n, 0);
    sign = 1;
    for (int64_t j = 0; j < n; ++j) {
      int64_t pivot = j;
      for (int64_t i = j + 1; i < n; ++i)
        if (size_of_pivot(a(i, j)) > size_of_pivot(a(pivot, j))) pivot = i;
      if (pivot != j) {
        a.exchange_rows(j, pivot);
        std::swap(rows[j], rows[pivot]);
        sign = -sign;
      }
      if (a(j, j) == 0.0) continue;
      for (int64_t i = j + 1; i < n; ++i) {
        a(i, j) /= a(j, j);
        for (int64_t k = j + 1; k < n; ++k) a(i, k) -= a(i, j) * a(j, k);
      }
    }
    a.store(out[0], m);
  }
  return out;
}

// To first order dl = l . (strict lower triangle of g) and du = (upper triangle of g) . u, with g = l^-1 . e . u^-1 and
// e the errors of x and the roundings, n u |l| |u| (Higham, Accuracy and Stability of Numerical Algorithms, section
// 9.3). Nothing is known where another row might be the pivot.
std::vector<Tensor> error_of_lu(const ErrorArgs& args) {
  std::vector<Tensor> out = unknown_errors(args);
  const Tensor& packed = args.outputs[0];
  for (int64_t m = 0; m < count_of(packed); ++m) {
    const Matrix a(args.inputs[0], m), factors(packed, m), given(args.errors[0], m);
    const int64_t n = a.rows();
    const Triangle lower{.unit = true}, upper{.lower = false};
    const Matrix l = magnitudes_of(triangle_of(factors, lower)), u = magnitudes_of(triangle_of(factors, upper));
    Matrix moved = product(l, u);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        moved(i, j) = given(args.outputs[1].as_int(m * n + i), j) +
                      static_cast<double>(n + 2) * float_limits(packed.dtype()).unit * moved(i, j);
    const Matrix g =
        product(product(magnitudes_of(inverse_of(factors, lower)), moved), magnitudes_of(inverse_of(factors, upper)));
    const Matrix of_l = product(l, triangle_of(g, {.lower = true})), of_u = product(triangle_of(g, upper), u);
    Matrix error(n, n);
    bool is_known = has_small_rows(g);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        error(i, j) = 2.0 * (j < i ? of_l(i, j) : of_u(i, j)).real();
        is_known = is_known && (j >= i || std::abs(factors(i, j)) + error(i, j).real() < 1);
      }
    if (!is_known) continue;
    error.store(out[0], m);
    std::fill_n(out[1].data<double>() + m * n, n, 0.0);
    out[2].data<double>()[m] = 0;
  }
  return out;
}

// Rows are exchanged by selections: no branch depends on the values, and each lane has pivots of its own.
void small_lu(kernel::StepBuilder& b) {
  const int64_t n = b.output().type.dims.back().value();
  SmallMatrices small(b);
  small.run(
      str("lu_", n), "out0 = the packed factors of each matrix of in0, out1 = its rows, out2 = their sign",
      count_of(b.output().type), n * n * n, {}, [&] {
        const SmallMatrices::Elements a = small.load(b.input(0)), rows = small.elements(n), sign = small.elements(1);
        small.loop(0, n, [&](const Term& i) { rows.set(i, small.number(i)); });
        sign.set(0, small.number(1));
        small.loop(0, n, [&](const Term& j) {
          const Term pivot = small.var("pivot", small.number(j)), most = small.var("most", fabs(a.at(j, j)));
          small.loop(j + Term(1), n, [&](const Term& i) {
            const Term size = small.let("size", fabs(a.at(i, j))), is_larger = small.let("is_larger", size > most);
            small.assign(pivot, select(is_larger, small.number(i), pivot));
            small.assign(most, select(is_larger, size, most));
          });
          sign.set(0, select(pivot == small.number(j), sign.at(0), -sign.at(0)));
          small.loop(j + Term(1), n, [&](const Term& i) {
            const Term is_pivot = small.let("is_pivot", pivot == small.number(i));
            const auto exchange = [&](const SmallMatrices::Elements& of, const Term& first, const Term& second) {
              const Term x = of.at(first), y = of.at(second);
              of.set(first, select(is_pivot, y, x));
              of.set(second, select(is_pivot, x, y));
            };
            small.loop(0, n, [&](const Term& k) { exchange(a, j * Term(n) + k, i * Term(n) + k); });
            exchange(rows, j, i);
          });
          const Term chosen = a.at(j, j),
                     divisor = small.let("divisor", select(chosen == small.number(0), small.number(1), chosen));
          small.loop(j + Term(1), n, [&](const Term& i) {
            const Term factor = small.let("factor", a.at(i, j) / divisor);
            a.set(i, j, factor);
            small.loop(j + Term(1), n, [&](const Term& k) { a.set(i, k, fma(-factor, a.at(j, k), a.at(i, k))); });
          });
        });
        small.store(b.output(0), a);
        small.store(b.output(1), rows);
        small.store(b.output(2), sign);
      });
}

void lower_large_lu(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  const Type& type = b.output().type;
  if (b.target().is_device() && is_float(type.dtype)) return lower_device_lu(b);
  const Dim &n = type.dims.back(), count = count_of(type);
  const kernel::Operand pivots = b.workspace(DType::kInt32, count * n);
  b.call_library({lu_function(type.dtype),
                  {count, n, PointerTo{b.input(0).index}, PointerTo{b.output(0).index}, PointerTo{b.output(1).index},
                   PointerTo{b.output(2).index}, PointerTo{pivots.index}}});
}

void lower_lu(kernel::StepBuilder& b) {
  if (SmallMatrices::are(b.output().type)) return small_lu(b);
  b.target().is_device() ? lower_chosen_lu(b, lower_large_lu) : lower_large_lu(b);
}

// x = p^T . l . u: p . dx = l^-T . (strict lower triangle of l^T . dl, and upper triangle of du . u^T) . u^-T.
std::vector<Expr> gradient_of_lu(const GradientArgs& args) {
  const Expr &packed = args.outputs[0], &d = args.cotangent();
  if (!d.has_value()) return {Expr()};
  const Expr l = tril(packed, -1) + eye(packed.dims().back(), {}, 0, packed.dtype()), u = triu(packed);
  const Expr inner = tril(matmul(matrix_transpose(l), tril(d, -1)), -1) + triu(matmul(triu(d), matrix_transpose(u)));
  const Expr left = triangular_solve(packed, inner, {.transposed = true, .unit = true});
  const Expr y =
      matrix_transpose(solve_triangle(packed, matrix_transpose(left), {.lower = false}, "the derivative of lu"));
  return {rows_of(y, argsort(args.outputs[1]))};
}

std::vector<OpCase> cases_lu() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims dims) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [](const std::vector<Expr>& in) {
                         const LuFactors f = lu(in[0]);
                         return std::vector{f.packed, f.rows, f.sign};
                       },
                   .bound = 4096});
  };
  add("small", DType::kFloat64, {3, 4, 4});
  add("small_f32", DType::kFloat32, {35, 3, 3});
  add("large", DType::kFloat64, {9, 9});
  add("large_f32", DType::kFloat32, {2, 2, 10, 10});
  add("of_any_length", DType::kFloat64, {"b", "n", "n"});
  add("complex", DType::kComplex128, {4, 4});
  add("complex_f32", DType::kComplex64, {2, 3, 3});
  add("one", DType::kFloat64, {2, 1, 1});
  add("empty", DType::kFloat64, {0, 0});
  add("no_matrices", DType::kFloat32, {0, 3, 3});
  return out;
}

}  // namespace

const Op& lu_op() {
  static const Op op{
      .name = "lu",
      .doc =
          "LU factorization with partial pivoting: l . u is x with its rows in the order `rows`; `packed` has u, and l "
          "below its diagonal of ones.\n"
          "Shapes: x and packed [..., n, n], rows [..., n], sign [...].\n"
          "dtypes: floats and complex numbers; rows and sign int64.\n"
          "Gradient: that of l and u while the rows keep their order, by triangular solves.\n"
          "Edge cases: of equal elements the first is the pivot; a singular matrix has factors, with a 0 in u's "
          "diagonal.\n"
          "Example: of [[0, 2], [4, 6]]: packed [[4, 6], [0, 2]], rows [1, 0], sign -1",
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            const Type& x = a.type(0);
            Type rows{.dtype = DType::kInt64, .dims = Dims(x.dims.begin(), x.dims.end() - 1)}, sign = rows;
            sign.dims.pop_back();
            return std::vector{x, rows, sign};
          },
      .reference = reference_lu,
      .error = error_of_lu,
      .gradient = gradient_of_lu,
      .lower = lower_lu,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = reads_row_major,
      .aliases = {{.output = 0, .input = 0}},
      .cost = cost_of_factors(2),
      .connection = [](const Node&, size_t, size_t output) { return output == 0; },
      .cases = cases_lu,
  };
  return op;
}

LuFactors lu(const Operand& operand) {
  const Expr packed = apply(lu_op(), {square_matrices_of(operand, "lu")}, {}, operand.where());
  const std::vector<Expr> all = outputs_of(packed.node());
  return {all[0], all[1], all[2]};
}

}  // namespace thtrain
