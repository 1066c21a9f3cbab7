// The product of two compressed matrices, row by row (Gustavson, Two Fast Algorithms for Sparse Matrices:
// Multiplication and Permuted Transposition, ACM TOMS 4 (1978)): first how many elements its rows have, then these.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/construction.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

// Rows of the result are computed in so many parts at most, each with its own notes of where its columns are.
constexpr int64_t kProductParts = 4;

// Inputs: data (of the second op only), indices and indptr of both matrices, indptr of the result.
struct ProductInputs {
  size_t left, right, ends;  // of the indices; data are before them
};
constexpr ProductInputs kOfCounts{0, 2, 4}, kOfProduct{1, 4, 6};

void require_operands(const TypeArgs& args, const ProductInputs& at) {
  const bool has_data = at.left > 0;
  require_parts(args, has_data ? static_cast<int>(at.left) - 1 : -1, at.left);
  require_parts(args, has_data ? static_cast<int>(at.right) - 1 : -1, at.right);
  args.require(!args.props.get<Dims>("columns").empty(), "no number of columns is given");
}

std::vector<Type> infer_counts(const TypeArgs& args) {
  require_operands(args, kOfCounts);
  return {{.dtype = DType::kInt64, .dims = args.type(1).dims}};
}

std::vector<Type> infer_product(const TypeArgs& args) {
  require_operands(args, kOfProduct);
  const Dims& columns = args.props.get<Dims>("columns");
  const Type &left = args.type(0), &ends = args.type(kOfProduct.ends);
  args.require(columns.size() == 2, "the numbers of columns and of elements are given");
  args.require(left.dtype == args.type(3).dtype && !is_bool(left.dtype) && !is_complex(left.dtype),
               "the elements have different dtypes, or such that are not multiplied",
               "integers or floats, both the same");
  args.require(ends.dtype == DType::kInt64 && ends.rank() == 1, "the result has no list of rows", "a vector of int64");
  args.require_equal(ends.dims[0], args.type(2).dims[0], "the result has other rows than the left matrix");
  return {{.dtype = left.dtype, .dims = {columns[1]}}, {.dtype = args.type(1).dtype, .dims = {columns[1]}}};
}

// For each row of the left matrix the pairs of elements that meet, in order.
void each_meeting(const ReferenceArgs& args, const ProductInputs& at,
                  const std::function<void(int64_t row, int64_t left, int64_t right, int64_t column)>& body) {
  const Tensor &left = args.inputs[at.left], &left_ends = args.inputs[at.left + 1], &right = args.inputs[at.right],
               &right_ends = args.inputs[at.right + 1];
  const int64_t columns = columns_of(args.node.props).evaluate(args.length_of);
  std::vector<CsrRow> rows(static_cast<size_t>(right_ends.size() - 1));
  each_csr_row(args, right_ends, right.size(),
               [&](int64_t k, const CsrRow& row) { rows[static_cast<size_t>(k)] = row; });
  each_csr_row(args, left_ends, left.size(), [&](int64_t i, const CsrRow& row) {
    for (int64_t e = row.begin; e < row.end; ++e) {
      const CsrRow& met = rows[static_cast<size_t>(csr_index(args, left, e, right_ends.size() - 1))];
      for (int64_t f = met.begin; f < met.end; ++f) body(i, e, f, csr_index(args, right, f, columns));
    }
  });
}

std::vector<Tensor> reference_counts(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  std::vector<std::vector<int64_t>> seen(static_cast<size_t>(out.size() - 1));
  each_meeting(args, kOfCounts, [&](int64_t row, int64_t, int64_t, int64_t column) {
    auto& of_row = seen[static_cast<size_t>(row)];
    if (std::ranges::find(of_row, column) == of_row.end()) of_row.push_back(column);
  });
  for (int64_t i = 0; i + 1 < out.size(); ++i)
    out.data<int64_t>()[i + 1] = out.data<int64_t>()[i] + static_cast<int64_t>(seen[static_cast<size_t>(i)].size());
  return {out};
}

std::vector<Tensor> reference_product(const ReferenceArgs& args) {
  Tensor data = args.make_output(0), indices = args.make_output(1);
  const Tensor &left = args.inputs[0], &right = args.inputs[3], &ends = args.inputs[kOfProduct.ends];
  visit(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T> && !std::is_same_v<T, bool>) {
      using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
      std::vector<Sum> sums(static_cast<size_t>(data.size()), Sum(0));
      std::vector<int64_t> columns;
      int64_t row_now = -1;
      each_csr_row(args, ends, data.size(), [](int64_t, const CsrRow&) {});
      each_meeting(args, kOfProduct, [&](int64_t row, int64_t e, int64_t f, int64_t column) {
        if (row != row_now) columns.clear();
        row_now = row;
        const auto at = std::ranges::find(columns, column) - columns.begin();
        if (at == std::ssize(columns)) columns.push_back(column);
        const int64_t to = ends.as_int(row) + at;
        if (to >= ends.as_int(row + 1))
          throw UserError(
              {.what = "csr_product: a row has more elements than its list says", .node = args.node.origin.text()});
        Sum& sum = sums[static_cast<size_t>(to)];
        sum = static_cast<Sum>(sum + static_cast<Sum>(left.data<T>()[e]) * static_cast<Sum>(right.data<T>()[f]));
        visit(indices.dtype(), [&](auto index) {
          using I = decltype(index);
          if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>)
            indices.data<I>()[to] = static_cast<I>(column);
        });
      });
      std::transform(sums.begin(), sums.end(), data.data<T>(), [](Sum sum) { return static_cast<T>(sum); });
    }
  });
  return {data, indices};
}

// An element of the left matrix meets some ten others, each of which costs as much as eight multiply-adds of vectors.
Dim grain_of_parts(const StepBuilder& b, const ProductInputs& at) {
  const int64_t enough = std::max<int64_t>(1, b.target().grain_of_products() / (8 * 16));
  return max(Dim(kProductParts) - floor_div(b.input(at.left).type.dims[0], Dim(enough)), 1);
}

// A kernel over parts of the rows. `places` says of each column where the part has it, which no row before could say.
class MeetingLoops {
 public:
  MeetingLoops(StepBuilder& b, const ProductInputs& at)
      : b_(b),
        code_(b.code()),
        left_(b.input(at.left)),
        left_ends_(b.input(at.left + 1)),
        right_(b.input(at.right)),
        right_ends_(b.input(at.right + 1)),
        columns_(columns_of(b.node().props)),
        places_(b.workspace(DType::kInt64, Dim(kProductParts) * columns_)) {}

  using Meeting = std::function<void(const Term& left, const Term& right, const Term& column, const Term& place)>;
  using Row = std::function<void(const Term& i, const std::function<void(const Meeting&)>& each_meeting)>;

  void run(const Row& body) {
    require_rows(b_, left_ends_, left_.type.dims[0]);
    require_rows(b_, right_ends_, right_.type.dims[0]);
    const Term rows = b_.length(rows_of(left_ends_.type)), columns = b_.length(columns_);
    code_.loop("part", b_.begin(), b_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      const Term first_place = code_.let("first_place", part * columns);
      code_.loop("j", columns, [&](const Term& j) { b_.store(places_, first_place + j, Term(-1)); });
      const Term begin = code_.let("first_row", part * rows / Term(kProductParts)),
                 end = code_.let("last_row", (part + Term(1)) * rows / Term(kProductParts));
      code_.loop("i", begin, end, 1, LoopMark::kSequential, [&](const Term& i) {
        body(i, [&](const Meeting& meeting) {
          const StoredRow of_left = stored_row(b_, left_ends_, i, left_.type.dims[0]);
          code_.loop("e", of_left.begin, of_left.end, 1, LoopMark::kSequential, [&](const Term& e) {
            const Term k = stored_index(b_, left_, e, rows_of(right_ends_.type));
            const StoredRow of_right = stored_row(b_, right_ends_, k, right_.type.dims[0]);
            code_.loop("f", of_right.begin, of_right.end, 1, LoopMark::kSequential, [&](const Term& f) {
              const Term column = stored_index(b_, right_, f, columns_);
              meeting(e, f, column, code_.let("place", first_place + column));
            });
          });
        });
      });
    });
  }

  const kernel::Operand& places() const { return places_; }

 private:
  StepBuilder& b_;
  Code& code_;
  const kernel::Operand &left_, &left_ends_, &right_, &right_ends_;
  const Dim& columns_;
  const kernel::Operand places_;
};

// A column is noted with the row that it was seen in.
void lower_counts(StepBuilder& b) {
  Code& code = b.code();
  const kernel::Operand& out = b.output();
  MeetingLoops loops(b, kOfCounts);
  loops.run([&](const Term& i, const auto& each_meeting) {
    const Term count = code.var("count", 0);
    each_meeting([&](const Term&, const Term&, const Term&, const Term& place) {
      code.if_(b.load(loops.places(), place) != i, [&] {
        b.store(loops.places(), place, i);
        code.assign(count, count + Term(1));
      });
    });
    b.store(out, i + Term(1), count);
  });
  b.finish_kernel("csr_product_rows", "out0 = how many elements each row of the product has", Dim(kProductParts),
                  grain_of_parts(b, kOfCounts));
  const Term sum = code.var("sum", 0);
  b.store(out, 0, Term(0));
  code.loop("i", b.length(rows_of(out.type)), [&](const Term& i) {
    code.assign(sum, sum + b.load(out, i + Term(1)));
    b.store(out, i + Term(1), sum);
  });
  b.finish_kernel("csr_product_ends", "out0 = where the rows end", 1);
}

// A column is noted with the place of its element: those of rows before are before this row's.
void lower_product(StepBuilder& b) {
  Code& code = b.code();
  const kernel::Operand &left = b.input(0), &right = b.input(3), &ends = b.input(kOfProduct.ends), &data = b.output(0),
                        &indices = b.output(1);
  const bool is_floating = is_float(data.type.dtype);
  const auto require_space = [&](const Term& condition, const Term& i) {
    b.require(condition, {"csr_product: row {value} has not as many elements as its list says", "", b.node().origin}, i,
              i);
  };
  MeetingLoops loops(b, kOfProduct);
  require_rows(b, ends, data.type.dims[0]);
  loops.run([&](const Term& i, const auto& each_meeting) {
    const StoredRow row = stored_row(b, ends, i, data.type.dims[0]);
    const Term next = code.var("next", row.begin);
    each_meeting([&](const Term& e, const Term& f, const Term& column, const Term& place) {
      const Term x = code.let("x", b.load(left, e)), y = code.let("y", b.load(right, f)),
                 noted = code.let("noted", b.load(loops.places(), place));
      code.if_(
          noted >= row.begin,
          [&] {
            const Term before = b.load(data, noted);
            b.store(data, noted, is_floating ? fma(x, y, before) : before + x * y);
          },
          [&] {
            require_space(next < row.end, i);
            b.store(loops.places(), place, next);
            b.store(indices, next, kernel::cast(column, indices.type.dtype));
            b.store(data, next, x * y);
            code.assign(next, next + Term(1));
          });
    });
    require_space(next == row.end, i);
  });
  b.finish_kernel("csr_product", "out0, out1 = the elements of a product, row by row", Dim(kProductParts),
                  grain_of_parts(b, kOfProduct));
}

// The derivatives by pairs that meet: where each of them went is looked for among the sorted places of the result.
std::vector<Expr> gradient_of_product(const GradientArgs& args) {
  std::vector<Expr> out(args.node.inputs.size());
  const Expr &left = args.input(0), &right = args.input(3), &ends = args.input(kOfProduct.ends);
  if (!args.cotangent().has_value() || !is_float(left.dtype())) return out;
  const Dim& columns = columns_of(args.node.props);
  const CsrMeetings pairs = csr_meetings(args.input(1), args.input(2), args.input(4), args.input(5), columns);
  const Expr indices = cast(args.outputs[1], DType::kInt64),
             places = csr_rows(ends, indices) * length_as_value(columns) + indices;
  const Expr order = argsort(places), at = take(order, searchsorted(take(places, order), pairs.places));
  const Expr d = take(args.cotangent(), at);
  out[0] = scatter_add(zeros_like(left), pairs.left, d * take(right, pairs.right));
  out[3] = scatter_add(zeros_like(right), pairs.right, d * take(left, pairs.left));
  return out;
}

std::vector<Expr> tangent_of_product(const JvpArgs& args) {
  Expr out;
  for (size_t i : {0, 3}) {
    if (!args.tangent(i).has_value()) continue;
    std::vector<Expr> inputs = args.node.inputs;
    inputs[i] = args.tangent(i);
    const Expr term = (*make_node(csr_product_op(), std::move(inputs), args.node.props))[0];
    out = out.has_value() ? out + term : term;
  }
  return {out, Expr()};
}

// Rows of 2, 0, 3 and 1 elements in 5 columns, times rows of 1, 2, 0, 2 and 3 elements in 4 columns: rows of 3, 0, 4
// and 0 elements.
std::vector<Expr> small_product(const std::vector<Expr>& in, DType of_indices, bool of_counts) {
  const auto indices = [&](const std::vector<int64_t>& numbers) { return constant_indices(numbers, of_indices); };
  // Counts follow from indices alone: these depend on the inputs.
  const auto seen = [&](const Expr& columns, const Expr& data) {
    return of_counts ? columns + cast(data * 0, of_indices) : columns;
  };
  const Expr left = seen(indices({1, 4, 0, 1, 3, 2}), in[0]), left_ends = indices({0, 2, 2, 5, 6}),
             right = seen(indices({2, 0, 3, 1, 2, 0, 1, 3}), in[1]), right_ends = indices({0, 1, 3, 3, 5, 8});
  if (of_counts) return {apply(csr_product_rows_op(), {left, left_ends, right, right_ends}, {{"columns", Dims{4}}})};
  const Expr ends = constant_indices({0, 3, 3, 7, 7}, DType::kInt64);
  const auto node =
      make_node(csr_product_op(), {in[0], left, left_ends, in[1], right, right_ends, ends}, {{"columns", Dims{4, 7}}});
  return {(*node)[0], (*node)[1]};
}

std::vector<OpCase> cases_of_product(bool of_counts) {
  std::vector<OpCase> out;
  const auto add = [&](std::string name, DType dtype, DType of_indices) {
    out.push_back({.name = std::move(name),
                   .inputs = {{.dtype = dtype, .dims = {6}}, {.dtype = dtype, .dims = {8}}},
                   .build = [=](const std::vector<Expr>& in) { return small_product(in, of_indices, of_counts); },
                   .bound = is_float(dtype) && !of_counts ? 4.0 : 0});
  };
  add("int64", DType::kInt64, DType::kInt32);
  if (of_counts) return out;
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (DType of_indices : {DType::kInt32, DType::kInt64})
      add(str(name_of(dtype), "_", name_of(of_indices)), dtype, of_indices);
  return out;
}

Cost cost_of_product(const Node& node, const ProductInputs& at) {
  const Dim left = node.inputs[at.left].dims()[0], right = node.inputs[at.right].dims()[0];
  return {Dim(2) * (left + right), Dim(16) * (left + right + columns_of(node.props))};
}

bool takes_layout(const Node& node, size_t i, const Layout& layout) {
  return is_row_major(node.inputs[i].dims(), layout);
}
bool is_never_connected(const Node&, size_t, size_t) {
  return false;
}

}  // namespace

const Op& csr_product_rows_op() {
  static const Op op{
      .name = "csr_product_rows",
      .doc =
          "Where the rows of the product of two matrices in compressed rows begin and end: its indptr.\n"
          "Shapes: indices [stored] and indptr [m + 1], indices [stored] and indptr [k + 1]; gives [m + 1].\n"
          "dtypes: int32 or int64, the same for a matrix; gives int64.\n"
          "Gradient: none.\n"
          "Edge cases: an element counts where two stored ones meet, also where they are 0 or cancel; an error where "
          "indptr is not ascending, or an index outside.\n"
          "Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, ACM TOMS 4 (1978).",
      .called = [](const Props&) { return std::string("sparse dot"); },
      .infer = infer_counts,
      .reference = reference_counts,
      .lower = lower_counts,
      .accepts_layout = takes_layout,
      .cost = [](const Node& node) { return cost_of_product(node, kOfCounts); },
      .connection = is_never_connected,
      .cases = [] { return cases_of_product(true); }};
  return op;
}

const Op& csr_product_op() {
  static const Op op{
      .name = "csr_product",
      .doc =
          "The stored elements of the product of two matrices in compressed rows, of each row in the order in which "
          "they "
          "are met: data and indices.\n"
          "Shapes: data, indices [stored] and indptr [m + 1], the same of [k + 1], indptr [m + 1] of the product; "
          "gives "
          "[elements], [elements].\n"
          "dtypes: data the same integers or floats, indices and indptr int32 or int64, the same for a matrix.\n"
          "Gradient: of each element the sum over the pairs in which it meets another one.\n"
          "Edge cases: as csr_product_rows.\n"
          "Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, ACM TOMS 4 (1978).",
      .called = [](const Props&) { return std::string("sparse dot"); },
      .infer = infer_product,
      .reference = reference_product,
      .error =
          [](const ErrorArgs& a) {
            return std::vector{multilinear_error(a, static_cast<double>(a.inputs[0].size()) + 4)[0], a.make_error(1)};
          },
      .gradient = gradient_of_product,
      .jvp = tangent_of_product,
      .lower = lower_product,
      .accepts_layout = takes_layout,
      .cost = [](const Node& node) { return cost_of_product(node, kOfProduct); },
      .connection = [](const Node&, size_t input, size_t output) { return output == 0 && (input == 0 || input == 3); },
      .cases = [] { return cases_of_product(false); }};
  return op;
}

CsrMeetings csr_meetings(const Expr& indices, const Expr& indptr, const Expr& right_indices, const Expr& right_indptr,
                         const Dim& columns) {
  const Expr begins = cast(right_indptr, DType::kInt64);
  const Ranges pairs = ranges(take(begins, indices), take(diff(begins), indices));
  const Expr rows = cast(take(csr_rows(indptr, indices), pairs.of), DType::kInt64);
  return {.left = pairs.of,
          .right = pairs.numbers,
          .places = rows * length_as_value(columns) + cast(take(right_indices, pairs.numbers), DType::kInt64)};
}

CsrProduct csr_product(const Expr& data, const Expr& indices, const Expr& indptr, const Expr& right_data,
                       const Expr& right_indices, const Expr& right_indptr, const Dim& columns) {
  const Expr ends =
      apply(csr_product_rows_op(), {indices, indptr, right_indices, right_indptr}, {{"columns", Dims{columns}}});
  const Dim elements = computed_length(subtensor(ends, {-1}));
  const auto node = make_node(csr_product_op(), {data, indices, indptr, right_data, right_indices, right_indptr, ends},
                              {{"columns", Dims{columns, elements}}});
  return {.data = (*node)[0], .indices = (*node)[1], .indptr = ends};
}

}  // namespace thtrain
