// The products that BLAS updates in place: beta c + alpha a . b, and its forms for vectors. Made by the pass
// `find_gemm`.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/error_rules.h"
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
using kernel::Term;

// beta c + alpha a . b reads c unless beta is a literal 0, which forgets what it multiplies (docs/semantics.md). A beta
// that turns out to be 0 does not.
bool reads_first(const Node& node) {
  return constant_number(node.inputs[4]) != 0.0;
}

std::vector<Type> check_types(const TypeArgs& a, std::vector<size_t> ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    a.require(a.type(i).rank() == ranks[i], str("input ", i, " has the wrong rank"), str("rank ", ranks[i]));
    a.require(a.type(i).dtype == a.type(0).dtype && is_float(a.type(0).dtype), "inputs must have one floating dtype");
  }
  return {a.type(0)};
}

double number(const Tensor& t) {
  return t.as_double();
}

std::optional<double> beta_of(const ReferenceArgs& args) {
  return reads_first(args.node) ? std::optional(number(args.inputs[4])) : std::nullopt;
}

// out = beta c + alpha sum_l a[i, l] b[l, j], accumulated in float64. No beta: c is not read.
Tensor product_reference(const ReferenceArgs& args, const Tensor& c, std::optional<double> beta, double alpha,
                         const Tensor& a, const Tensor& b, int64_t m, int64_t k, int64_t n) {
  Tensor out = args.make_output();
  const Tensor left = a.cast(DType::kFloat64).contiguous(), right = b.cast(DType::kFloat64).contiguous();
  const double *x = left.data<double>(), *y = right.data<double>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += x[i * k + l] * y[l * n + j];
      double value = alpha * sum + (beta ? *beta * c.as_double(i * n + j) : 0);
      if (out.dtype() == DType::kFloat32)
        out.data<float>()[i * n + j] = static_cast<float>(value);
      else
        out.data<double>()[i * n + j] = value;
    }
  return out;
}

// What is added to, and the scalars, are read as elementwise ops read theirs; factors as a whole.
Access access(const Node&, size_t input) {
  return input == 2 || input == 3 ? Access::kWhole : Access::kElement;
}

Expr sum_to_scalar(const Expr& x) {
  return sum(x);
}

// A multiplication and an addition for each of `products`; each input is read and the output written once.
Cost cost_of(const Node& node, const Dim& products) {
  Dim elements = node.types[0].elements();
  for (const Expr& input : node.inputs) elements = elements + input.type().elements();
  return {Dim(2) * products, Dim(static_cast<int64_t>(size_of(node.types[0].dtype))) * elements};
}

}  // namespace

const Op& gemm_op() {
  static const Op op{
      .name = "gemm",
      .doc =
          "beta c + alpha a . b.\n"
          "Shapes: c [m, n], alpha [], a [m, k], b [k, n], beta [].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: that of the expression.\n"
          "Edge cases: with a literal 0 as beta, c is not read.\n"
          "Example: W - 0.1 x^T . d\n"
          "Source: J. J. Dongarra et al., ACM TOMS 16(1), 1990 (BLAS, level 3).",
      .infer =
          [](const TypeArgs& a) {
            std::vector<Type> out = check_types(a, {2, 0, 2, 2, 0});
            a.require_equal(a.type(2).dims[1], a.type(3).dims[0], "inner lengths differ");
            a.require_equal(a.type(0).dims[0], a.type(2).dims[0], "rows differ");
            a.require_equal(a.type(0).dims[1], a.type(3).dims[1], "columns differ");
            return out;
          },
      .reference =
          [](const ReferenceArgs& r) {
            const auto& x = r.inputs;
            return std::vector<Tensor>{product_reference(r, x[0], beta_of(r), number(x[1]), x[2], x[3], x[2].dim(0),
                                                         x[2].dim(1), x[3].dim(1))};
          },
      .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[3].dim(0)) + 4); },
      .gradient =
          [](const GradientArgs& g) {
            const Expr &c = g.input(0), &alpha = g.input(1), &a = g.input(2), &b = g.input(3), &beta = g.input(4),
                       &d = g.cotangent();
            return std::vector<Expr>{mul(beta, d), sum_to_scalar(mul(d, dot(a, b))), mul(alpha, dot(d, transpose(b))),
                                     mul(alpha, dot(transpose(a), d)), sum_to_scalar(mul(d, c))};
          },
      .lower = lower_matrix_product,
      .access = access,
      .epilogue = &product_epilogue(),
      .accepts_layout =
          [](const Node& node, size_t i, const Layout& layout) {
            return i == 0 || node.inputs[i].rank() == 0 || matrix_layout(node.inputs[i].dims(), layout).has_value();
          },
      .aliases = {{.output = 0, .input = 0}},
      .cost = [](const Node& node) { return cost_of(node, node.inputs[2].type().elements() * node.types[0].dims[1]); },
      .cases =
          [] {
            auto build = [](const std::vector<Expr>& x) { return std::vector<Expr>{apply(gemm_op(), x)}; };
            auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
            auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
            return std::vector<OpCase>{{.name = "f64",
                                        .inputs = {f64({3, 4}), f64({}), f64({3, 5}), f64({5, 4}), f64({})},
                                        .build = build,
                                        .bound = 64},
                                       {.name = "f32",
                                        .inputs = {f32({9, 17}), f32({}), f32({9, 5}), f32({5, 17}), f32({})},
                                        .build = build,
                                        .bound = 64},
                                       {.name = "no_rows",
                                        .inputs = {f64({0, 4}), f64({}), f64({0, 5}), f64({5, 4}), f64({})},
                                        .build = build,
                                        .bound = 64},
                                       {.name = "no_inner",
                                        .inputs = {f64({3, 4}), f64({}), f64({3, 0}), f64({0, 4}), f64({})},
                                        .build = build,
                                        .bound = 64}};
          },
  };
  return op;
}

const Op& gemv_op() {
  static const Op op{
      .name = "gemv",
      .doc =
          "beta y + alpha a . x.\n"
          "Shapes: y [m], alpha [], a [m, n], x [n], beta [].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: that of the expression.\n"
          "Edge cases: with a literal 0 as beta, y is not read.\n"
          "Example: y + a . x",
      .infer =
          [](const TypeArgs& a) {
            std::vector<Type> out = check_types(a, {1, 0, 2, 1, 0});
            a.require_equal(a.type(2).dims[1], a.type(3).dims[0], "inner lengths differ");
            a.require_equal(a.type(0).dims[0], a.type(2).dims[0], "rows differ");
            return out;
          },
      .reference =
          [](const ReferenceArgs& r) {
            const auto& x = r.inputs;
            return std::vector<Tensor>{
                product_reference(r, x[0], beta_of(r), number(x[1]), x[2], x[3], x[2].dim(0), x[2].dim(1), 1)};
          },
      .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[3].dim(0)) + 4); },
      .gradient =
          [](const GradientArgs& g) {
            const Expr &y = g.input(0), &alpha = g.input(1), &a = g.input(2), &x = g.input(3), &beta = g.input(4),
                       &d = g.cotangent();
            return std::vector<Expr>{mul(beta, d), sum_to_scalar(mul(d, dot(a, x))), mul(alpha, outer(d, x)),
                                     mul(alpha, dot(transpose(a), d)), sum_to_scalar(mul(d, y))};
          },
      .lower =
          [](StepBuilder& b) {
            if (b.target().is_device()) return lower_vector_product(b);
            if (!b.target().has_libraries()) return lower_loops_loop_products(b);
            copy_addend(b);
            const kernel::Operand &a = b.input(2), &x = b.input(3);
            MatrixLayout p = *matrix_layout(a.type.dims, a.layout);
            const Dim &rows = a.type.dims[p.transposed ? 1 : 0], &columns = a.type.dims[p.transposed ? 0 : 1];
            b.call_library(
                {gemv_function(a.type.dtype),
                 {Dim(p.transposed), rows, columns, factor_at(b, factor_of(b.node(), 1)), PointerTo{a.index}, p.leading,
                  PointerTo{x.index}, *vector_step(x.type.dims, x.layout), factor_at(b, factor_of(b.node(), 4)),
                  Dim(reads_first(b.node())), PointerTo{b.output().index}, Dim(1)}});
          },
      .access = access,
      .accepts_layout =
          [](const Node& node, size_t i, const Layout& layout) {
            if (i == 2) return matrix_layout(node.inputs[i].dims(), layout).has_value();
            return i != 3 || vector_step(node.inputs[i].dims(), layout).has_value();
          },
      .aliases = {{.output = 0, .input = 0}},
      .cost = [](const Node& node) { return cost_of(node, node.inputs[2].type().elements()); },
      .cases =
          [] {
            auto build = [](const std::vector<Expr>& x) { return std::vector<Expr>{apply(gemv_op(), x)}; };
            auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
            auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
            return std::vector<OpCase>{{.name = "f64",
                                        .inputs = {f64({3}), f64({}), f64({3, 5}), f64({5}), f64({})},
                                        .build = build,
                                        .bound = 64},
                                       {.name = "f32",
                                        .inputs = {f32({17}), f32({}), f32({17, 9}), f32({9}), f32({})},
                                        .build = build,
                                        .bound = 64},
                                       {.name = "no_columns",
                                        .inputs = {f64({3}), f64({}), f64({3, 0}), f64({0}), f64({})},
                                        .build = build,
                                        .bound = 64}};
          },
  };
  return op;
}

void lower_loops_of_ger(StepBuilder& b) {
  const kernel::Operand &x = b.input(2), &y = b.input(3);
  kernel::Nest nest(b.output().type.dims);
  const Term a = nest.load("a", kernel::placed(b.input(0))), alpha = nest.load("alpha", {b.input(1), {0, 0}}),
             left = nest.load("x", {x, {x.layout.strides[0], 0}}),
             right = nest.load("y", {y, {0, y.layout.strides[0]}});
  nest.store(kernel::placed(b.output()), a + alpha * (left * right));
  kernel::schedule(b, nest, "ger", "out0 = in0 + in1 in2 in3^T");
}

// a + alpha x y^T, one element of a after the other.
constexpr LoopForm kOuterProduct{"outer_product", [](const Node& node) { return std::optional(node.inputs[0]); },
                                 [](std::span<const Expr> inputs) {
                                   const Expr product = outer(inputs[2], inputs[3]);
                                   const bool is_one = constant_number(inputs[1]) == 1.0;
                                   return inputs[0] + (is_one ? product : inputs[1] * product);
                                 }};

const Op& ger_op() {
  static const Op op{
      .name = "ger",
      .doc =
          "a + alpha x y^T.\n"
          "Shapes: a [m, n], alpha [], x [m], y [n].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: that of the expression.\n"
          "Edge cases: none.\n"
          "Example: zeros + [1, 2] [3, 4]: [[3, 4], [6, 8]]",
      .infer =
          [](const TypeArgs& a) {
            std::vector<Type> out = check_types(a, {2, 0, 1, 1});
            a.require_equal(a.type(0).dims[0], a.type(2).dims[0], "rows differ");
            a.require_equal(a.type(0).dims[1], a.type(3).dims[0], "columns differ");
            return out;
          },
      .reference =
          [](const ReferenceArgs& r) {
            const auto& x = r.inputs;
            return std::vector<Tensor>{
                product_reference(r, x[0], 1, number(x[1]), x[2], x[3], x[2].dim(0), 1, x[3].dim(0))};
          },
      .error = [](const ErrorArgs& a) { return multilinear_error(a, 4); },
      .gradient =
          [](const GradientArgs& g) {
            const Expr &alpha = g.input(1), &x = g.input(2), &y = g.input(3), &d = g.cotangent();
            return std::vector<Expr>{d, sum_to_scalar(mul(d, outer(x, y))), mul(alpha, dot(d, y)),
                                     mul(alpha, dot(transpose(d), x))};
          },
      .lower =
          [](StepBuilder& b) {
            if (!b.target().has_libraries()) return lower_loops_of_ger(b);
            copy_addend(b);
            const kernel::Operand &x = b.input(2), &y = b.input(3);
            b.call_library(
                {ger_function(x.type.dtype),
                 {x.type.dims[0], y.type.dims[0], factor_at(b, factor_of(b.node(), 1)), PointerTo{x.index},
                  *vector_step(x.type.dims, x.layout), PointerTo{y.index}, *vector_step(y.type.dims, y.layout),
                  PointerTo{b.output().index}, max(y.type.dims[0], 1)}});
          },
      .access = access,
      .loop_form = &kOuterProduct,
      .accepts_layout =
          [](const Node& node, size_t i, const Layout& layout) {
            return i < 2 || vector_step(node.inputs[i].dims(), layout).has_value();
          },
      .aliases = {{.output = 0, .input = 0}},
      .cost = [](const Node& node) { return cost_of(node, node.types[0].elements()); },
      .cases =
          [] {
            auto build = [](const std::vector<Expr>& x) { return std::vector<Expr>{apply(ger_op(), x)}; };
            auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
            auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
            return std::vector<OpCase>{
                {.name = "f64", .inputs = {f64({3, 5}), f64({}), f64({3}), f64({5})}, .build = build, .bound = 16},
                {.name = "f32", .inputs = {f32({9, 17}), f32({}), f32({9}), f32({17})}, .build = build, .bound = 16}};
          },
  };
  return op;
}

}  // namespace thtrain
