// The matrix product: the op on vectors and matrices, and NumPy's dot of every rank on top of it.
#include <algorithm>

#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/linalg/vector_product.h"
#include "compiler/ops/loop_form.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::PointerTo;
using kernel::StepBuilder;

bool has_blas(DType dtype) {
  return is_float(dtype);
}

// Rows, inner length and columns; a vector on the left is a row, on the right a column.
struct Lengths {
  Dim m, k, n;
};
Lengths lengths_of(const Type& a, const Type& b) {
  return {a.rank() == 2 ? a.dims[0] : Dim(1), a.dims.back(), b.rank() == 2 ? b.dims[1] : Dim(1)};
}

std::vector<Type> infer_dot(const TypeArgs& args) {
  const Type &a = args.type(0), &b = args.type(1);
  args.require(a.rank() >= 1 && a.rank() <= 2 && b.rank() >= 1 && b.rank() <= 2,
               "operands must be vectors or matrices");
  args.require(a.dtype == b.dtype, "operands have different dtypes", "a cast of one of them");
  args.require_equal(a.dims.back(), b.dims[0], "inner lengths differ");
  Type out{.dtype = a.dtype};
  if (a.rank() == 2) out.dims.push_back(a.dims[0]);
  if (b.rank() == 2) out.dims.push_back(b.dims[1]);
  return {out};
}

std::vector<Tensor> reference_dot(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  reference_products(a, b, 1, a.rank() == 2 ? a.dim(0) : 1, a.shape().back(), b.rank() == 2 ? b.dim(1) : 1, out);
  return {out};
}

std::vector<Expr> gradient(const GradientArgs& args) {
  const Expr &a = args.input(0), &b = args.input(1), &d = args.cotangent();
  if (!is_float(a.dtype()) && !is_complex(a.dtype())) return {Expr(), Expr()};
  auto column = [](const Expr& x) { return expand_dims(x, {1}); };
  auto row = [](const Expr& x) { return expand_dims(x, {0}); };
  if (a.rank() == 1 && b.rank() == 1) return {mul(d, b), mul(d, a)};
  if (a.rank() == 2 && b.rank() == 1) return {mul(column(d), row(b)), dot(transpose(a), d)};
  if (a.rank() == 1 && b.rank() == 2) return {dot(b, d), mul(column(a), row(d))};
  return {dot(d, transpose(b)), dot(transpose(a), d)};
}

void lower_dot(StepBuilder& b) {
  const kernel::Operand &x = b.input(0), &y = b.input(1);
  DType dtype = x.type.dtype;
  if (x.type.rank() == 2 && y.type.rank() == 2) return lower_matrix_product(b);
  if (b.target().is_device() && is_float(dtype)) return lower_vector_product(b);
  if (!b.target().has_libraries() || !has_blas(dtype)) return lower_loops_loop_products(b);
  // y = op(A) v as gemv; an inner product is the product with a matrix of one row.
  bool matrix_left = x.type.rank() == 2;
  const kernel::Operand &vector = matrix_left ? y : x, &other = matrix_left ? x : y;
  const kernel::NumberAt one{1, dtype}, zero{0, dtype};
  Dim step = *vector_step(vector.type.dims, vector.layout);
  Dim rows = 1, columns = vector.type.dims[0], leading = max(columns, 1);
  bool transposed = false;
  if (other.type.rank() == 2) {
    MatrixLayout a = *matrix_layout(other.type.dims, other.layout);
    // gemv takes the stored shape: op(A) is A (rows x columns) or its transpose.
    transposed = a.transposed;
    rows = other.type.dims[transposed ? 1 : 0];
    columns = other.type.dims[transposed ? 0 : 1];
    leading = a.leading;
    if (!matrix_left) transposed = !transposed;
    b.call_library({gemv_function(dtype),
                    {Dim(transposed), rows, columns, one, PointerTo{other.index}, leading, PointerTo{vector.index},
                     step, zero, Dim(0), PointerTo{b.output().index}, Dim(1)}});
    return;
  }
  Dim other_step = *vector_step(other.type.dims, other.layout);
  // One row of `other` if its elements lie side by side; else one column of a matrix with that many elements between
  // rows.
  if (other_step.is(1))
    b.call_library({gemv_function(dtype),
                    {Dim(0), rows, columns, one, PointerTo{other.index}, leading, PointerTo{vector.index}, step, zero,
                     Dim(0), PointerTo{b.output().index}, Dim(1)}});
  else
    b.call_library({gemv_function(dtype),
                    {Dim(1), columns, Dim(1), one, PointerTo{other.index}, other_step, PointerTo{vector.index}, step,
                     zero, Dim(0), PointerTo{b.output().index}, Dim(1)}});
}

bool accepts_layout(const Node& node, size_t i, const Layout& layout) {
  if (!has_blas(node.types[0].dtype)) return true;
  const Dims& dims = node.inputs[i].dims();
  return dims.size() == 2 ? matrix_layout(dims, layout).has_value() : vector_step(dims, layout).has_value();
}

// ---- other forms ---------------------------------------------------------------------------------------------------

// A product as sums over the rows of a matrix, each of them times `row`.
struct RowSums {
  const Expr& matrix;  // [k, n]
  const Expr& row;     // [n] or [1, n], or a column [n, 1]
  Ints result;         // how the sums [k] are laid out in the product, as dimshuffle says it
};

bool is_transpose(const Expr& e) {
  const Ints* order = axis_order_of(e.node());
  return order && *order == Ints{1, 0};
}

std::optional<RowSums> row_sums(const Expr& left, const Expr& right) {
  const bool matrix_is_right = is_transpose(right) && (left.rank() == 1 || left.dims()[0].is(1));
  if (matrix_is_right) return RowSums{right.node().inputs[0], left, left.rank() == 1 ? Ints{0} : Ints{-1, 0}};
  const bool matrix_is_left = left.rank() == 2 && !is_transpose(left) && (right.rank() == 1 || right.dims()[1].is(1));
  if (!matrix_is_left) return std::nullopt;
  return RowSums{left, right, right.rank() == 1 ? Ints{0} : Ints{0, -1}};
}

std::optional<Expr> matrix_of_row_sums(const Node& node) {
  if (!is_float(node.types[0].dtype)) return std::nullopt;
  const std::optional<RowSums> sums = row_sums(node.inputs[0], node.inputs[1]);
  return sums ? std::optional(sums->matrix) : std::nullopt;
}

Expr as_row_sums(std::span<const Expr> factors) {
  const RowSums sums = *row_sums(factors[0], factors[1]);
  const bool is_column = &sums.row == &factors[1] && sums.row.rank() == 2;
  return dimshuffle(sum(sums.matrix * (is_column ? transpose(sums.row) : sums.row), 1), sums.result);
}

constexpr LoopForm kRowSums{"row_sums", matrix_of_row_sums, as_row_sums};

Expr accumulated(const Node&, std::span<const Expr> factors, const Expr& y, const Expr& alpha, const Expr& beta) {
  const Expr &a = factors[0], &b = factors[1];
  if (a.rank() == 2 && b.rank() == 2) return apply(gemm_op(), {y, alpha, a, b, beta});
  return a.rank() == 2 ? apply(gemv_op(), {y, alpha, a, b, beta}) : apply(gemv_op(), {y, alpha, transpose(b), a, beta});
}

constexpr Accumulation kIntoMatrix{[](const Node& node) { return node.types[0].rank() >= 1; }, accumulated};

std::vector<OpCase> cases_dot() {
  auto build = [](const std::vector<Expr>& x) { return std::vector<Expr>{dot(x[0], x[1])}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto i32 = [](Dims dims) { return Type{.dtype = DType::kInt32, .dims = std::move(dims)}; };
  std::vector<OpCase> out;
  auto add_case = [&](std::string name, Type a, Type b, auto f) {
    out.push_back({.name = std::move(name), .inputs = {std::move(a), std::move(b)}, .build = f, .bound = 64});
  };
  add_case("matrix_matrix", f64({3, 5}), f64({5, 2}), build);
  add_case("matrix_matrix_f32", f32({7, 33}), f32({33, 18}), build);
  add_case("matrix_vector", f64({3, 5}), f64({5}), build);
  add_case("vector_matrix", f64({5}), f64({5, 3}), build);
  add_case("vector_vector", f64({5}), f64({5}), build);
  add_case("empty_inner", f64({3, 0}), f64({0, 2}), build);
  add_case("empty_outer", f64({0, 4}), f64({4, 2}), build);
  add_case("one", f64({1, 1}), f64({1, 1}), build);
  add_case("integers", i32({3, 4}), i32({4, 2}), build);
  add_case("complex", {.dtype = DType::kComplex128, .dims = {3, 5}}, {.dtype = DType::kComplex128, .dims = {5, 4}},
           build);
  add_case("complex_vector", {.dtype = DType::kComplex64, .dims = {3, 5}}, {.dtype = DType::kComplex64, .dims = {5}},
           build);
  add_case("transposed", f64({5, 3}), f64({2, 5}),
           [](const std::vector<Expr>& x) { return std::vector<Expr>{dot(transpose(x[0]), transpose(x[1]))}; });
  add_case("of_transposed_vector", f64({4, 3}), f64({4}), [](const std::vector<Expr>& x) {
    return std::vector<Expr>{dot(transpose(x[0]), x[1]), dot(x[1], x[0])};
  });
  add_case("rank3", f64({2, 3, 4}), f64({4, 5}), build);
  add_case("rank3_rank3", f64({2, 3, 4}), f64({5, 4, 2}), build);
  add_case("scalar", f64({}), f64({2, 3}), build);
  return out;
}

template <class T>
auto accumulator() {
  if constexpr (std::is_same_v<T, float>)
    return double{};
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return std::complex<double>{};
  else
    return T{};
}

template <class T>
void multiply(const T* x, const T* y, int64_t m, int64_t k, int64_t n, T* z) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      auto sum = accumulator<T>();
      using S = decltype(sum);
      for (int64_t l = 0; l < k; ++l) {
        if constexpr (std::is_same_v<T, bool>)
          sum = sum || (x[i * k + l] && y[l * n + j]);
        else
          sum = static_cast<S>(sum + static_cast<S>(x[i * k + l]) * static_cast<S>(y[l * n + j]));
      }
      z[i * n + j] = static_cast<T>(sum);
    }
}

}  // namespace

void reference_products(const Tensor& a, const Tensor& b, int64_t count, int64_t m, int64_t k, int64_t n, Tensor& out) {
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i)
      multiply(a.data<T>() + i * m * k, b.data<T>() + i * k * n, m, k, n, out.data<T>() + i * m * n);
  });
}

// Of one operand that varies the rows of all iterations are one matrix; of two, or of a matrix on the right, there are
// as many products.
static bool is_one_product(const Node& node, const std::vector<bool>& varies) {
  const size_t left = node.inputs[0].rank(), right = node.inputs[1].rank();
  return varies[0] != varies[1] && (varies[0] || (left == 2 && right == 1));
}

static Expr product_of_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                      const std::vector<bool>& varies) {
  const Expr& a = node.inputs[0];
  if (!is_one_product(node, varies)) {
    const std::vector<Expr> x = with_iterations(node, iterations, inputs, varies);
    const Expr rows = a.rank() == 2 ? x[0] : expand_dims(x[0], {1}),
               columns = node.inputs[1].rank() == 2 ? x[1] : expand_dims(x[1], {2});
    Dims lengths = node.types[0].dims;
    lengths.insert(lengths.begin(), iterations);
    return reshape(matmul(rows, columns), lengths);
  }
  if (varies[1]) return dot(inputs[1], transpose(inputs[0]));  // [m, k] . [k] in each iteration
  if (a.rank() == 1) return dot(inputs[0], inputs[1]);
  const Expr rows = dot(reshape(inputs[0], {iterations * a.dims()[0], a.dims()[1]}), inputs[1]);
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return reshape(rows, lengths);
}

// A sum of a_t . b_t is one product: a_t side by side times b_t one below the other. So a_t is wanted transposed.
static std::vector<Expr> factors_of_sum(const Node& node) {
  const Expr &a = node.inputs[0], &b = node.inputs[1];
  if (a.rank() != 2 || b.rank() != 2) return {};
  const Ints* order = axis_order_of(a.node());
  return {order && *order == Ints{1, 0} ? a.node().inputs[0] : transpose(a), b};
}

static Expr sum_of_products(const Dim& iterations, std::span<const Expr> factors) {
  auto rows = [&](const Expr& x) { return reshape(x, {iterations * x.dims()[1], x.dims()[2]}); };
  return dot(transpose(rows(factors[0])), rows(factors[1]));
}

static constexpr IterationsRule kProductOfIterations{
    .all = product_of_all_iterations, .pays = is_one_product, .summed = factors_of_sum, .sum = sum_of_products};

const Op& dot_op() {
  static const Op op{
      .name = "dot",
      .doc =
          "Matrix product: the sum over l of a[i, l] b[l, j]; a vector on the left is a row, on the right a column.\n"
          "Shapes: [m, k] . [k, n] -> [m, n].\n"
          "dtypes: any, both the same.\n"
          "Gradient: da = dy . b^T, db = a^T . dy.\n"
          "Edge cases: zeros where k is 0.\n"
          "Example: [[1, 2], [3, 4]] . [1, 1]: [3, 7]",
      .infer = infer_dot,
      .reference = reference_dot,
      .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[1].dim(0)) + 2); },
      .gradient = gradient,
      .jvp = multilinear_jvp,
      .lower = lower_dot,
      .loop_form = &kRowSums,
      .accumulation = &kIntoMatrix,
      .iterations = &kProductOfIterations,
      .epilogue = &product_epilogue(),
      .accepts_layout = accepts_layout,
      .cost =
          [](const Node& node) {
            Lengths n = lengths_of(node.inputs[0].type(), node.inputs[1].type());
            Dim size(static_cast<int64_t>(size_of(node.types[0].dtype)));
            return Cost{Dim(2) * n.m * n.k * n.n, size * (n.m * n.k + n.k * n.n + n.m * n.n)};
          },
      .cases = cases_dot,
  };
  return op;
}

Expr dot(const Operand& left, const Operand& right) {
  std::vector<Expr> x = resolve({&left, &right});
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  if (x[0].rank() == 0 || x[1].rank() == 0) return mul({x[0], where}, {x[1], where});
  std::optional<DType> dtype = promote(x[0].dtype(), x[1].dtype());
  for (Expr& e : x)
    if (dtype && e.dtype() != *dtype) e = cast({e, where}, *dtype);
  if (x[0].rank() <= 2 && x[1].rank() <= 2) return apply(dot_op(), x, {}, where);

  // More axes: all of a's leading axes are rows; b's summed axis comes first, its others are columns.
  Dims leading(x[0].dims().begin(), x[0].dims().end() - 1), result = leading;
  Expr a = x[0].rank() == 1 ? x[0] : reshape(x[0], {product(leading), x[0].dims().back()});
  Expr b = x[1];
  if (b.rank() > 1) {
    std::vector<int64_t> order{static_cast<int64_t>(b.rank()) - 2};
    Dims columns;
    for (size_t i = 0; i < b.rank(); ++i)
      if (i + 2 != b.rank()) {
        order.push_back(static_cast<int64_t>(i));
        columns.push_back(b.dims()[i]);
      }
    b = reshape(dimshuffle(b, order), {x[1].dims()[x[1].rank() - 2], product(columns)});
    result.insert(result.end(), columns.begin(), columns.end());
  }
  return reshape(apply(dot_op(), {a, b}, {}, where), result);
}

Expr outer(const Operand& x, const Operand& y) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> v = resolve({&x, &y});
  for (const Expr& e : v)
    if (e.rank() != 1) fail_build(x.where(), "outer: an operand is no vector", "one axis of each", value_text(e));
  return mul(expand_dims(v[0], {1}), expand_dims(v[1], {0}));
}

}  // namespace thtrain
