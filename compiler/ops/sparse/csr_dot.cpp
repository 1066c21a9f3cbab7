// A compressed matrix times a dense one, or its transpose times a dense one.
#include <algorithm>
#include <bit>

#include "compiler/base/ceil_div.h"
#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr size_t kData = 0, kIndices = 1, kIndptr = 2, kDense = 3, kAddend = 4, kAlpha = 5;
// Vectors that are summed at once: enough that no multiply-add waits for another, in 16 registers.
constexpr int kSums = 8;

const Dims& columns_given(const Node& node) {
  return node.props.get<Dims>("columns");
}
bool has_addend(const Node& node) {
  return node.inputs.size() > kAddend;
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

// ---- native code

// The columns of the dense operands, in blocks of vectors.
class CsrDot {
 public:
  explicit CsrDot(StepBuilder& b)
      : b_(b),
        code_(b.code()),
        data_(b.input(kData)),
        indices_(b.input(kIndices)),
        indptr_(b.input(kIndptr)),
        x_(b.input(kDense)),
        out_(b.output()),
        alpha_(has_addend(b.node()) ? &b.input(kAlpha) : nullptr),
        n_(x_.type.rank() == 2 ? x_.type.dims[1] : Dim(1)),
        lanes_(b.lanes_of(data_.type.dtype)) {
    if (n_.is_known())
      lanes_ = static_cast<int>(std::min<int64_t>(
          lanes_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n_.value(), 1))))));
  }

  // What could fail is looked at before the first write to a variable.
  void check_first() {
    if (!b_.writes_variable()) return;
    const Dim& limit = (is_transposed(b_.node()) ? out_ : x_).type.dims[0];
    finish_rows(b_, indptr_, data_.type.dims[0], 2, "csr_checks", "checks in1 and in2, the pattern of a matrix",
                [&](const Term&, const StoredRow& row) {
                  code_.loop("e", row.begin, row.end, 1, LoopMark::kSequential,
                             [&](const Term& e) { stored_index(b_, indices_, e, limit); });
                });
  }

  void of_rows() {
    finish_rows(b_, indptr_, data_.type.dims[0], work(), "csr_dot", "out0 = A in3, A of the elements in0 in rows",
                [&](const Term& i, const StoredRow& row) {
                  if (n_.is(1)) return store_product(i, row);
                  each_block(kSums, [&](const Term& column, int vectors, const Term& last) {
                    sum_row(i, row, column, vectors, last);
                  });
                });
  }

  // Each part has its own columns of the result, and adds to them row by row.
  void of_columns() {
    const bool is_split = n_.is_known() && n_.value() >= 2 * lanes_;
    const int vectors = is_split ? static_cast<int>(std::min<int64_t>(4, n_.value() / lanes_ / 2)) : 4;
    const Dim width(int64_t{vectors} * lanes_);
    const Term begin = is_split ? code_.let("left", b_.begin() * b_.length(width)) : Term(0), all = b_.length(n_),
               end = is_split ? code_.let("right", kernel::select(b_.end() * b_.length(width) < all,
                                                                  b_.end() * b_.length(width), all))
                              : all;
    if (!b_.overwrites(kAddend))
      code_.loop("j", b_.length(out_.type.dims[0]), [&](const Term& j) {
        code_.loop("column", begin, end, 1, LoopMark::kVector, [&](const Term& column) {
          const Term at = code_.let("at", j * all + column);
          b_.store(out_, at, alpha_ ? b_.load(b_.input(kAddend), at) : zero());
        });
      });
    require_rows(b_, indptr_, data_.type.dims[0]);
    code_.loop("i", b_.length(rows_of(indptr_.type)), [&](const Term& i) {
      const StoredRow row = stored_row(b_, indptr_, i, data_.type.dims[0]);
      each_block(
          vectors, [&](const Term& column, int count, const Term& last) { add_row(i, row, column, count, last); },
          begin, end);
    });
    const Dim blocks = is_split ? Dim(ceil_div(n_.value(), width.value())) : Dim(1);
    b_.finish_kernel("csr_dot_transposed", "out0 = A^T in3, A of the elements in0 in rows", blocks,
                     is_split ? Dim(1) : Dim(0));
  }

 private:
  using BlockBody = std::function<void(const Term& column, int vectors, const Term& last)>;

  int64_t work() const { return work_of_element(n_); }

  void each_block(int most, const BlockBody& body) { each_block(most, body, 0, b_.length(n_)); }
  // Whole blocks, then single vectors, of which the last one has fewer lanes where that is not known to be impossible.
  void each_block(int most, const BlockBody& body, const Term& begin, const Term& end) {
    if (n_.is_known() && n_.value() <= int64_t{most} * lanes_ && kernel::is_constant(begin, 0)) {
      const int64_t vectors = ceil_div(n_.value(), int64_t{lanes_}), rest = n_.value() - (vectors - 1) * lanes_;
      if (vectors > 0) body(0, static_cast<int>(vectors), rest == lanes_ ? Term() : Term(rest));
      return;
    }
    const int64_t width = int64_t{most} * lanes_;
    const Term whole = code_.let("whole", begin + (end - begin) / Term(width) * Term(width));
    code_.loop("column", begin, whole, width, LoopMark::kSequential,
               [&](const Term& column) { body(column, most, {}); });
    if (n_.is_known() && n_.value() % width == 0) return;
    const bool is_even = lanes_ == 1 || (n_.is_known() && n_.value() % lanes_ == 0);
    code_.loop("column", whole, end, lanes_, LoopMark::kSequential, [&](const Term& column) {
      const Term left =
          is_even ? Term()
                  : code_.let("left_over", kernel::select(end - column < Term(lanes_), end - column, Term(lanes_)));
      body(column, 1, left);
    });
  }

  Term zero() const {
    const DType dtype = data_.type.dtype;
    return is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  }
  Term multiply_add(const Term& a, const Term& b, const Term& sum) const {
    return is_float(data_.type.dtype) ? fma(a, b, sum) : sum + a * b;
  }
  Term at(const Term& row, const Term& column, int vector) const {
    return row * b_.length(n_) + column + Term(int64_t{vector} * lanes_);
  }

  void sum_row(const Term& i, const StoredRow& row, const Term& column, int vectors, const Term& last) {
    const int runs = std::clamp(kSums / vectors, 1, 4);
    const auto count_of = [&](int v) { return v + 1 == vectors ? last : Term(); };
    std::vector<Term> sums;
    for (int s = 0; s < runs * vectors; ++s) sums.push_back(code_.var("sum", kernel::splat(zero(), lanes_)));
    const auto add = [&](const Term& e, int run) {
      const Term a = code_.let("a", b_.load(data_, e)), j = stored_index(b_, indices_, e, x_.type.dims[0]);
      for (int v = 0; v < vectors; ++v) {
        const Term& sum = sums[static_cast<size_t>(run * vectors + v)];
        code_.assign(
            sum, multiply_add(kernel::splat(a, lanes_), b_.load(x_, at(j, column, v), lanes_, 1, count_of(v)), sum));
      }
    };
    const Term whole =
        runs == 1 ? row.end : code_.let("whole_runs", row.begin + (row.end - row.begin) / Term(runs) * Term(runs));
    code_.loop("e", row.begin, whole, runs, LoopMark::kSequential, [&](const Term& e) {
      for (int run = 0; run < runs; ++run) add(e + Term(run), run);
    });
    if (runs > 1) code_.loop("e", whole, row.end, 1, LoopMark::kSequential, [&](const Term& e) { add(e, 0); });
    for (int v = 0; v < vectors; ++v) {
      std::vector<Term> of_runs;
      for (int run = 0; run < runs; ++run) of_runs.push_back(sums[static_cast<size_t>(run * vectors + v)]);
      for (; of_runs.size() > 1; of_runs.resize(of_runs.size() / 2))
        for (size_t k = 0; k < of_runs.size() / 2; ++k) of_runs[k] = of_runs[k] + of_runs[k + of_runs.size() / 2];
      Term sum = of_runs[0];
      if (alpha_)
        sum = fma(kernel::splat(b_.load(*alpha_, 0), lanes_), sum,
                  b_.load(b_.input(kAddend), at(i, column, v), lanes_, 1, count_of(v)));
      b_.store(out_, at(i, column, v), sum, 1, count_of(v));
    }
  }

  void store_product(const Term& i, const StoredRow& row) {
    Term sum = row_product(b_, row);
    if (alpha_) sum = fma(b_.load(*alpha_, 0), sum, b_.load(b_.input(kAddend), i));
    b_.store(out_, i, sum);
  }

  void add_row(const Term& i, const StoredRow& row, const Term& column, int vectors, const Term& last) {
    const auto count_of = [&](int v) { return v + 1 == vectors ? last : Term(); };
    std::vector<Term> x;
    for (int v = 0; v < vectors; ++v)
      x.push_back(code_.let("x", b_.load(x_, at(i, column, v), lanes_, 1, count_of(v))));
    code_.loop("e", row.begin, row.end, 1, LoopMark::kSequential, [&](const Term& e) {
      const Term a = code_.let("a", alpha_ ? b_.load(*alpha_, 0) * b_.load(data_, e) : b_.load(data_, e)),
                 j = stored_index(b_, indices_, e, out_.type.dims[0]);
      for (int v = 0; v < vectors; ++v) {
        const Term before = b_.load(out_, at(j, column, v), lanes_, 1, count_of(v));
        b_.store(out_, at(j, column, v), multiply_add(kernel::splat(a, lanes_), x[static_cast<size_t>(v)], before), 1,
                 count_of(v));
      }
    });
  }

  StepBuilder& b_;
  kernel::Code& code_;
  const kernel::Operand &data_, &indices_, &indptr_, &x_, &out_;
  const kernel::Operand* alpha_;  // null: nothing is added to
  const Dim n_;
  int lanes_;
};

void lower_csr_dot(StepBuilder& b) {
  CsrDot dot(b);
  dot.check_first();
  if (!is_transposed(b.node())) return dot.of_rows();
  if (b.input(kDense).type.rank() == 2 && !b.input(kDense).type.dims[1].is(1)) return dot.of_columns();
  if (has_addend(b.node()) || b.target().is_device()) return dot.of_columns();
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
