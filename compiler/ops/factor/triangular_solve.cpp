// Linear equations with a triangular matrix.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/cublas_triangles.h"
#include "compiler/ops/factor/device_factor.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Triangle kind_of(const Props& props) {
  return {props.get_or<bool>("lower", true), props.get_or<bool>("transposed", false),
          props.get_or<bool>("unit", false)};
}

// Are the equations solved from the first to the last?
bool goes_down(const Triangle& t) {
  return t.lower != t.transposed;
}

kernel::RuntimeCheck regular_check(const Node& node) {
  const std::string called = node.props.get_or<std::string>("called", "");
  return check_of(node, "the matrix is singular",
                  called.empty()      ? "no 0 on the diagonal of the triangle, found one in row {value}"
                  : called == "lstsq" ? "independent columns, found column {value} dependent on those before"
                                      : "pivots other than 0, found 0 as pivot {value} of the LU factorization");
}

std::vector<Tensor> reference_solve(const ReferenceArgs& args) {
  const Triangle t = kind_of(args.node.props);
  Tensor out = args.make_output();
  for (int64_t m = 0; m < count_of(out); ++m) {
    const Matrix a(args.inputs[0], m);
    Matrix x(args.inputs[1], m);
    const int64_t n = x.rows();
    for (int64_t i = 0; i < n && !t.unit; ++i)
      if (a(i, i) == 0.0) fail_check(args.node, regular_check(args.node), i + 1, m);
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = goes_down(t) ? step : n - 1 - step;
      for (int64_t column = 0; column < x.columns(); ++column) {
        Matrix::Value sum = x(i, column);
        for (int64_t before = 0; before < step; ++before) {
          const int64_t k = goes_down(t) ? before : n - 1 - before;
          sum -= (t.transposed ? a(k, i) : a(i, k)) * x(k, column);
        }
        x(i, column) = t.unit ? sum : sum / a(i, i);
      }
    }
    x.store(out, m);
  }
  return {out};
}

// To first order dx = t^-1 . (db - e . x), where e has the errors of t and the roundings, n u |t| (Higham, Accuracy and
// Stability of Numerical Algorithms, section 8.1).
std::vector<Tensor> error_of_solve(const ErrorArgs& args) {
  const Triangle t = kind_of(args.node.props);
  std::vector<Tensor> out = unknown_errors(args);
  for (int64_t m = 0; m < count_of(out[0]); ++m) {
    const Matrix a(args.inputs[0], m), given(args.errors[0], m), of_b(args.errors[1], m),
        x = magnitudes_of(Matrix(args.outputs[0], m));
    Matrix of_t = triangle_of(given, t), read = magnitudes_of(triangle_of(a, t));
    const int64_t n = a.rows();
    for (int64_t i = 0; i < n; ++i) {
      if (t.unit) of_t(i, i) = 0;
      for (int64_t j = 0; j < n; ++j)
        of_t(i, j) += static_cast<double>(n + 4) * float_limits(args.outputs[0].dtype()).unit * read(i, j);
    }
    Matrix inverse = magnitudes_of(inverse_of(a, t));
    if (t.transposed) {
      of_t = transposed(of_t);
      inverse = transposed(inverse);
    }
    if (!has_small_rows(product(inverse, of_t))) continue;
    Matrix right = product(of_t, x);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < x.columns(); ++j) right(i, j) = 2.0 * (right(i, j) + of_b(i, j));
    product(inverse, right).store(out[0], m);
  }
  return out;
}

// Of any size; complex ones on the host.
void large_solve(kernel::StepBuilder& b) {
  const Triangle t = kind_of(b.node().props);
  const Type& type = b.output().type;
  if (b.target().is_device() && is_float(type.dtype))
    return lower_device_triangular_solve(b, t, regular_check(b.node()));
  b.call_library({triangular_solve_function(type.dtype),
                  {count_of(type), type.dims[type.rank() - 2], type.dims.back(), Dim(t.lower), Dim(t.transposed),
                   Dim(t.unit), kernel::PointerTo{b.input(0).index}, kernel::PointerTo{b.input(1).index},
                   kernel::PointerTo{b.output().index}, regular_check(b.node())}});
}

void lower_solve(kernel::StepBuilder& b) {
  const Triangle t = kind_of(b.node().props);
  const Type &type = b.output().type, &of_a = b.input(0).type;
  const Dim &n = type.dims[type.rank() - 2], &k = type.dims.back(), count = count_of(type);
  if (!SmallMatrices::are(type) || !SmallMatrices::are(of_a))
    return b.target().is_device() ? lower_chosen_triangles(b, t, regular_check(b.node()), large_solve) : large_solve(b);
  using kernel::Term;
  SmallMatrices small(b);
  const int64_t rows = n.value(), columns = k.value();
  std::optional<kernel::RuntimeCheck> check;
  if (!t.unit) check = regular_check(b.node());
  small.run(str("triangular_solve_", rows, "x", columns), "out0 = the solutions for the triangles of in0 and in1",
            count, rows * rows * columns / 2, check, [&] {
              const SmallMatrices::Elements a = small.load(b.input(0)), x = small.load(b.input(1));
              const auto row = [&](const Term& step) { return goes_down(t) ? step : Term(rows - 1) - step; };
              if (check)
                small.loop(0, rows, [&](const Term& i) { small.hold(a.at(i, i) != small.number(0), i + Term(1)); });
              small.loop(0, rows, [&](const Term& step) {
                const Term i = small.let("row", row(step));
                small.loop(0, columns, [&](const Term& column) {
                  const Term sum = small.var("sum", x.at(i, column));
                  small.loop(0, step, [&](const Term& before) {
                    const Term j = small.let("known", row(before));
                    small.assign(sum, fma(-(t.transposed ? a.at(j, i) : a.at(i, j)), x.at(j, column), sum));
                  });
                  x.set(i, column, t.unit ? sum : sum / a.at(i, i));
                });
              });
              small.store(b.output(), x);
            });
}

Expr solved(const Node& node, const Expr& a, const Expr& b, bool is_transposed) {
  Props props = node.props;
  props.set("transposed", kind_of(node.props).transposed != is_transposed);
  return apply(triangular_solve_op(), {a, b}, props);
}

// The elements that are read.
Expr part_read(const Triangle& t, const Expr& x) {
  return t.lower ? tril(x, t.unit ? -1 : 0) : triu(x, t.unit ? 1 : 0);
}

std::vector<Expr> gradient_of_solve(const GradientArgs& args) {
  const Triangle t = kind_of(args.node.props);
  const Expr db = solved(args.node, args.input(0), args.cotangent(), true), &x = args.outputs[0];
  const Expr da = t.transposed ? matmul(x, matrix_transpose(db)) : matmul(db, matrix_transpose(x));
  return {-part_read(t, da), db};
}

std::vector<Expr> jvp_of_solve(const JvpArgs& args) {
  const Triangle t = kind_of(args.node.props);
  Expr right = args.tangent(1);
  if (args.tangent(0).has_value()) {
    const Expr da = part_read(t, args.tangent(0)),
               moved = matmul(t.transposed ? matrix_transpose(da) : da, args.outputs[0]);
    right = right.has_value() ? right - moved : -moved;
  }
  return {solved(args.node, args.input(0), right, false)};
}

std::vector<OpCase> cases_solve() {
  std::vector<OpCase> out;
  auto add = [&](std::string name, DType dtype, Dims a, Dims b, Triangle t) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = std::move(a)}, {.dtype = dtype, .dims = std::move(b)}},
                   .build =
                       [t](const std::vector<Expr>& in) {
                         const Expr& x = in[0];
                         const Expr a = t.unit ? x : x + 40.0 * eye(x.dims().back(), {}, 0, x.dtype());
                         return std::vector{triangular_solve(a, in[1], t)};
                       },
                   .bound = t.unit ? 4096.0 : 64});
  };
  for (bool lower : {false, true})
    for (bool transposed : {false, true}) {
      const std::string kind = str(lower ? "lower" : "upper", transposed ? "_transposed" : "");
      add(kind, DType::kFloat64, {3, 4, 4}, {3, 4, 2}, {lower, transposed});
      add(kind + "_large", DType::kFloat64, {9, 9}, {9, 3}, {lower, transposed});
      add(kind + "_unit", DType::kFloat64, {3, 3}, {3, 2}, {lower, transposed, true});
      add(kind + "_unit_large", DType::kFloat32, {2, 3, 3}, {2, 3, 9}, {lower, transposed, true});
      add(kind + "_complex", DType::kComplex128, {2, 3, 3}, {2, 3, 2}, {lower, transposed});
    }
  add("small_f32", DType::kFloat32, {35, 6, 6}, {35, 6, 1}, {});
  add("large_f32", DType::kFloat32, {2, 11, 11}, {2, 11, 4}, {});
  add("complex_f32", DType::kComplex64, {4, 4}, {4, 3}, {.lower = false});
  add("of_any_length", DType::kFloat64, {"b", "n", "n"}, {"b", "n", "k"}, {});
  add("empty", DType::kFloat64, {0, 0}, {0, 2}, {});
  add("no_columns", DType::kFloat64, {3, 3}, {3, 0}, {});
  add("no_matrices", DType::kFloat64, {0, 3, 3}, {0, 3, 2}, {});
  return out;
}

}  // namespace

const Op& triangular_solve_op() {
  static const Op op{
      .name = "triangular_solve",
      .doc =
          "The x of op(a) . x = b for a triangle of a, or for its transpose.\n"
          "Shapes: a [..., n, n], b and x [..., n, k].\n"
          "dtypes: floats and complex numbers, both the same.\n"
          "Gradient: db = op(a)^-T . dx, da = -db . x^T in the triangle.\n"
          "Edge cases: the other triangle is not read, with `unit` nor the diagonal; an error where there is a 0 on "
          "it.\n"
          "Example: a = [[2, 0], [1, 4]], b = [[2], [9]]: [[1], [2]]",
      .called = [](const Props& props) { return props.get_or<std::string>("called", "triangular_solve"); },
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            const Type &matrix = a.type(0), &right = a.type(1);
            a.require(right.dtype == matrix.dtype, "operands have different dtypes", "a cast of one of them");
            a.require(right.rank() == matrix.rank(), "operands must have one rank");
            for (size_t i = 0; i + 1 < matrix.rank(); ++i)
              a.require_equal(matrix.dims[i], right.dims[i], str("the lengths of axis ", i, " differ"));
            return std::vector{right};
          },
      .reference = reference_solve,
      .error = error_of_solve,
      .gradient = gradient_of_solve,
      .jvp = jvp_of_solve,
      .lower = lower_solve,
      .iterations = &kSameOpThatMayFail,
      .accepts_layout = reads_row_major,
      .aliases = {{.output = 0, .input = 1}},
      .cost =
          [](const Node& node) {
            const Type &type = node.types[0], &of_a = node.inputs[0].type();
            return Cost{type.elements() * of_a.dims.back(),
                        Dim(static_cast<int64_t>(size_of(type.dtype))) * (of_a.elements() + Dim(2) * type.elements())};
          },
      .cases = cases_solve,
  };
  return op;
}

}  // namespace thtrain
