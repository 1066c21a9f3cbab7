// A compressed matrix times a dense one, or its transpose times a dense one.
#include <algorithm>

#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/csr_dot_kernels.h"
#include "compiler/ops/sparse/cusparse_steps.h"
#include "compiler/ops/sparse/fused_csr_dot.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;

using namespace csr_dot_parts;

const Dims& columns_given(const Node& node) {
  return node.props.get<Dims>("columns");
}
bool is_transposed(const Node& node) {
  return !columns_given(node).empty();
}

std::vector<Type> infer_csr_dot(const TypeArgs& args) {
  require_parts(args, kData, kIndices);
  const Type &data = args.type(kData), &x = args.type(kDense);
  const Dims& columns = args.props.get<Dims>("columns");
  args.require(!is_bool(data.dtype) && !is_complex(data.dtype), str("is not defined for ", name_of(data.dtype)),
               "integers or floats");
  args.require(data.dtype == x.dtype, "operands have different dtypes", "a cast of one of them");
  args.require(x.rank() == 1 || x.rank() == 2, "the dense operand is no vector or matrix");
  args.require(columns.size() <= 1, "a matrix has one number of columns");
  const Dim rows = rows_of(args.type(kIndptr));
  Type out = x;
  if (!columns.empty()) args.require_equal(rows, x.dims[0], "inner lengths differ");
  out.dims[0] = columns.empty() ? rows : columns[0];
  if (args.inputs.size() == kAddend) return {out};
  const Type &y = args.type(kAddend), &alpha = args.type(kAlpha);
  args.require(args.inputs.size() == kAlpha + 1 && y.dtype == out.dtype && y.rank() == out.rank() &&
                   alpha.rank() == 0 && alpha.dtype == out.dtype,
               "the addend and its factor are not of the product's type, and a scalar of it");
  for (size_t i = 0; i < out.rank(); ++i) args.require_equal(y.dims[i], out.dims[i], "the addend has other lengths");
  return {out};
}

std::vector<Tensor> reference_csr_dot(const ReferenceArgs& args) {
  const Tensor &data = args.inputs[kData], &indices = args.inputs[kIndices], &indptr = args.inputs[kIndptr],
               &x = args.inputs[kDense];
  Tensor out = args.make_output();
  const int64_t n = x.rank() == 2 ? x.dim(1) : 1, columns = is_transposed(args.node) ? out.dim(0) : x.dim(0);
  visit(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>) {
      using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
      std::vector<Sum> sums(static_cast<size_t>(out.size()), Sum(0));
      each_csr_row(args, indptr, data.size(), [&](int64_t i, const CsrRow& row) {
        for (int64_t e = row.begin; e < row.end; ++e) {
          const int64_t j = csr_index(args, indices, e, columns);
          const int64_t to = is_transposed(args.node) ? j : i, from = is_transposed(args.node) ? i : j;
          for (int64_t c = 0; c < n; ++c) {
            Sum& sum = sums[static_cast<size_t>(to * n + c)];
            sum = static_cast<Sum>(sum +
                                   static_cast<Sum>(data.data<T>()[e]) * static_cast<Sum>(x.data<T>()[from * n + c]));
          }
        }
      });
      if (has_addend(args.node))
        for (size_t i = 0; i < sums.size(); ++i)
          sums[i] = static_cast<Sum>(static_cast<Sum>(args.inputs[kAddend].data<T>()[i]) +
                                     static_cast<Sum>(args.inputs[kAlpha].data<T>()[0]) * sums[i]);
      std::transform(sums.begin(), sums.end(), out.data<T>(), [](Sum sum) { return static_cast<T>(sum); });
    }
  });
  return {out};
}

std::vector<Expr> gradient(const GradientArgs& args) {
  const Expr &data = args.input(kData), &indices = args.input(kIndices), &indptr = args.input(kIndptr),
             &x = args.input(kDense), &d = args.cotangent();
  std::vector<Expr> out(args.node.inputs.size());
  if (!is_float(data.dtype())) return out;
  const bool transposed = is_transposed(args.node);
  const auto scaled = [&](const Expr& of_product) {
    return has_addend(args.node) ? of_product * args.input(kAlpha) : of_product;
  };
  out[kData] = scaled(csr_sampled_dot(indices, indptr, transposed ? x : d, transposed ? d : x));
  out[kDense] = scaled(csr_dot(data, indices, indptr, d, transposed ? Dims() : Dims{x.dims()[0]}));
  if (!has_addend(args.node)) return out;
  out[kAddend] = d;
  out[kAlpha] = sum(d * csr_dot(data, indices, indptr, x, columns_given(args.node)));
  return out;
}

std::vector<Expr> forward(const JvpArgs& args) {
  if (!has_addend(args.node)) return multilinear_jvp(args);
  const Expr &data = args.input(kData), &x = args.input(kDense);
  const auto product = [&](const Expr& of, const Expr& with) {
    return csr_dot(of, args.input(kIndices), args.input(kIndptr), with, columns_given(args.node));
  };
  Expr out = args.tangent(kAddend);
  const auto add = [&](const Expr& term) { out = out.has_value() ? out + term : term; };
  if (args.tangent(kData).has_value()) add(args.input(kAlpha) * product(args.tangent(kData), x));
  if (args.tangent(kDense).has_value()) add(args.input(kAlpha) * product(data, args.tangent(kDense)));
  if (args.tangent(kAlpha).has_value()) add(args.tangent(kAlpha) * product(data, x));
  return {out};
}

// In the memory of y, where nobody else reads that: of A^T the rows of y that no element names are not touched.
Expr accumulated(const Node& product, std::span<const Expr> inputs, const Expr& y, const Expr& alpha,
                 const Expr& beta) {
  std::vector<Expr> all(inputs.begin(), inputs.end());
  all.push_back(constant_number(beta) == 1.0 ? y : y * beta);
  all.push_back(alpha);
  return apply(csr_dot_op(), std::move(all), {{"columns", columns_given(product)}});
}

constexpr Accumulation kIntoDense{[](const Node& node) { return !has_addend(node) && is_float(node.types[0].dtype); },
                                  accumulated};

void lower_csr_dot(StepBuilder& b) {
  CsrDotStep step{b.input(kData), b.input(kIndices), b.input(kIndptr), b.input(kDense), b.output()};
  if (has_addend(b.node())) {
    step.addend = b.input(kAddend);
    step.alpha = b.input(kAlpha);
  }
  if (is_by_cusparse(b.node(), b.chooser(), b.target())) return lower_by_cusparse(b, step);
  const bool transposed = is_transposed(b.node());
  const Type& x = step.x.type;
  check_pattern_first(b, step, transposed ? step.out.type.dims[0] : x.dims[0]);
  if (!transposed) return lower_csr_dot_rows(b, step);
  const bool is_vector = x.rank() == 1 || x.dims[1].is(1);
  if (!is_vector || has_addend(b.node()) || b.target().is_device()) return lower_csr_dot_columns(b, step);
  lower_transposed_vector(b);
}

// The columns of all iterations side by side.
Expr product_of_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                               const std::vector<bool>&) {
  const Expr& x = node.inputs[kDense];
  const Expr side_by_side =
      x.rank() == 1 ? transpose(inputs[kDense])
                    : reshape(transpose(inputs[kDense], {1, 0, 2}), {x.dims()[0], iterations * x.dims()[1]});
  const Expr all = csr_dot(inputs[kData], inputs[kIndices], inputs[kIndptr], side_by_side, columns_given(node));
  if (x.rank() == 1) return transpose(all);
  return transpose(reshape(all, {all.dims()[0], iterations, x.dims()[1]}), {1, 0, 2});
}

constexpr IterationsRule kProductOfIterations{.applies =
                                                  [](const Node& node, const std::vector<bool>& varies) {
                                                    return !has_addend(node) && !varies[kData] && !varies[kIndices] &&
                                                           !varies[kIndptr];
                                                  },
                                              .all = product_of_all_iterations,
                                              .may_fail = true};

// Rows of 2, 0, 3 and 1 elements in 5 columns.
std::vector<OpCase> cases_csr_dot() {
  const auto product = [](DType dtype, bool transposed) {
    return [dtype, transposed](const std::vector<Expr>& in) {
      const Expr indices = cast(make_constant(Tensor::vector<int64_t>({1, 4, 0, 1, 3, 2})), dtype),
                 indptr = cast(make_constant(Tensor::vector<int64_t>({0, 2, 2, 5, 6})), dtype);
      return std::vector{csr_dot(in[0], indices, indptr, in[1], transposed ? Dims{5} : Dims())};
    };
  };
  std::vector<OpCase> out;
  const auto add = [&](std::string name, DType dtype, Dims x, bool transposed, DType of_indices = DType::kInt32) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = {6}}, {.dtype = dtype, .dims = std::move(x)}},
                   .build = product(of_indices, transposed),
                   .bound = is_float(dtype) ? 4.0 : 0});
  };
  for (DType dtype : kAllDTypes) {
    if (is_complex(dtype) || is_bool(dtype)) continue;
    for (bool transposed : {false, true})
      add(str(name_of(dtype), transposed ? "_transposed" : ""), dtype, {transposed ? 4 : 5, 3}, transposed);
  }
  for (bool transposed : {false, true}) {
    const int64_t k = transposed ? 4 : 5;
    const std::string end = transposed ? "_transposed" : "";
    add("vector" + end, DType::kFloat32, {k}, transposed, DType::kInt64);
    add("no_columns" + end, DType::kFloat64, {k, 0}, transposed);
    add("one_column" + end, DType::kFloat64, {k, 1}, transposed);
    add("wide" + end, DType::kFloat32, {k, 37}, transposed);
    add("wider" + end, DType::kFloat64, {k, 150}, transposed);
    add("any_width" + end, DType::kFloat32, {k, "n"}, transposed);
  }
  for (bool transposed : {false, true})
    for (const Dims& width : {Dims{}, Dims{3}, Dims{150}}) {
      const auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
      Dims x{transposed ? 4 : 5}, y{transposed ? 5 : 4};
      x.insert(x.end(), width.begin(), width.end());
      y.insert(y.end(), width.begin(), width.end());
      const auto added = [product = product(DType::kInt32, transposed)](const std::vector<Expr>& in) {
        const Expr plain = product({in[0], in[1]})[0];
        return std::vector{accumulated(plain.node(), plain.node().inputs, in[2], in[3], make_constant(Tensor(1.0)))};
      };
      out.push_back({.name = str("added", width.empty() ? "" : "_", dims_text(width), transposed ? "_transposed" : ""),
                     .inputs = {f64({6}), f64(x), f64(y), f64({})},
                     .build = added,
                     .bound = 8});
    }
  // Columns of so many elements that their sums are in parts: 20 rows of two each.
  out.push_back({.name = "vector_in_parts_transposed",
                 .inputs = {{.dtype = DType::kFloat64, .dims = {40}}, {.dtype = DType::kFloat64, .dims = {20}}},
                 .build =
                     [](const std::vector<Expr>& in) {
                       const Expr numbers = arange(40), ends = arange(21) * 2;
                       return std::vector{csr_dot(in[0], mod(numbers, 2), ends, in[1], {2})};
                     },
                 .bound = 8});
  out.push_back({.name = "of_nothing",
                 .inputs = {{.dtype = DType::kFloat64, .dims = {0}}, {.dtype = DType::kFloat64, .dims = {5, 2}}},
                 .build = [](const std::vector<Expr>& in) {
                   const Expr none = make_constant(Tensor::zeros(DType::kInt32, {0})),
                              one = make_constant(Tensor::zeros(DType::kInt32, {1}));
                   return std::vector{csr_dot(in[0], none, one, in[1])};
                 }});
  return out;
}

}  // namespace

const Op& csr_dot_op() {
  static const Op op{
      .name = "csr_dot",
      .doc =
          "A x, or where `columns` are given A^T x, for a matrix A in compressed rows: the sum over the stored "
          "elements; with an addend y0 and a factor alpha, y0 + alpha A x.\n"
          "Shapes: data and indices [stored], indptr [m + 1], x [k, n] or [k], y [m, n] or [m]; transposed x [m, n], y "
          "[columns, n].\n"
          "dtypes: data and x the same integers or floats, indices and indptr int32 or int64.\n"
          "Gradient: of the stored elements alone, dy x^T there (csr_sampled_dot); dx = A^T dy.\n"
          "Edge cases: zeros for rows without elements; an error where indptr is not ascending, or an index outside.\n"
          "Example: [[0, 2], [0, 0]] . [1, 3]: [6, 0]",
      .called = [](const Props&) { return std::string("sparse dot"); },
      .infer = infer_csr_dot,
      .reference = reference_csr_dot,
      .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[kData].size()) + 4); },
      .gradient = gradient,
      .jvp = forward,
      .lower = lower_csr_dot,
      .access = [](const Node&, size_t input) { return input >= kAddend ? Access::kElement : Access::kWhole; },
      .accumulation = &kIntoDense,
      .iterations = &kProductOfIterations,
      .epilogue = &csr_dot_epilogue(),
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .overwrites = [](const Node&, size_t, size_t input) { return input == kAddend; },
      .cost =
          [](const Node& node) {
            const Type& x = node.inputs[kDense].type();
            const Dim stored = node.inputs[kData].dims()[0], n = x.rank() == 2 ? x.dims[1] : Dim(1),
                      size(static_cast<int64_t>(size_of(x.dtype)));
            return Cost{Dim(2) * stored * n, size * (stored + stored * n + node.types[0].elements()) + Dim(4) * stored};
          },
      .connection = [](const Node&, size_t input, size_t) { return input == kData || input >= kDense; },
      .cases = cases_csr_dot};
  return op;
}

Expr csr_dot(const Expr& data, const Expr& indices, const Expr& indptr, const Expr& x, const Dims& columns) {
  return apply(csr_dot_op(), {data, indices, indptr, x}, {{"columns", columns}});
}

}  // namespace thtrain
