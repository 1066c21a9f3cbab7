// The product of two compressed matrices, row by row: first how many elements its rows have, then these.
#include <algorithm>
#include <cstring>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/construction.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

bool is_sorted(const Node& product) {
  return product.props.get<bool>("sorted");
}

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

void sort_rows(const ReferenceArgs& args, const Tensor& ends, Tensor& data, Tensor& indices) {
  const Tensor given = data.copy(), columns = indices.copy();
  each_csr_row(args, ends, data.size(), [&](int64_t, const CsrRow& row) {
    std::vector<int64_t> order;
    for (int64_t e = row.begin; e < row.end; ++e) order.push_back(e);
    std::ranges::sort(order, {}, [&](int64_t e) { return columns.as_int(e); });
    const auto move = [&](const Tensor& from, Tensor& to) {
      const size_t size = size_of(from.dtype());
      for (size_t k = 0; k < order.size(); ++k)
        std::memcpy(static_cast<char*>(to.raw()) + (static_cast<size_t>(row.begin) + k) * size,
                    static_cast<const char*>(from.raw()) + static_cast<size_t>(order[k]) * size, size);
    };
    move(given, data);
    move(columns, indices);
  });
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
  if (is_sorted(args.node)) sort_rows(args, ends, data, indices);
  return {data, indices};
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
  const Expr order = is_sorted(args.node) ? Expr() : argsort(places);
  const Expr at = order.has_value() ? take(order, searchsorted(take(places, order), pairs.places))
                                    : searchsorted(places, pairs.places);
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
std::vector<Expr> small_product(const std::vector<Expr>& in, DType of_indices, bool of_counts, bool sorted) {
  const auto indices = [&](const std::vector<int64_t>& numbers) { return constant_indices(numbers, of_indices); };
  // Counts follow from indices alone: these depend on the inputs.
  const auto seen = [&](const Expr& columns, const Expr& data) {
    return of_counts ? columns + cast(data * 0, of_indices) : columns;
  };
  const Expr left = seen(indices({1, 4, 0, 1, 3, 2}), in[0]), left_ends = indices({0, 2, 2, 5, 6}),
             right = seen(indices({2, 0, 3, 1, 2, 0, 1, 3}), in[1]), right_ends = indices({0, 1, 3, 3, 5, 8});
  if (of_counts) return {apply(csr_product_rows_op(), {left, left_ends, right, right_ends}, {{"columns", Dims{4}}})};
  const Expr ends = constant_indices({0, 3, 3, 7, 7}, DType::kInt64);
  const auto node = make_node(csr_product_op(), {in[0], left, left_ends, in[1], right, right_ends, ends},
                              {{"columns", Dims{4, 7}}, {"sorted", sorted}});
  return {(*node)[0], (*node)[1]};
}

std::vector<OpCase> cases_of_product(bool of_counts) {
  std::vector<OpCase> out;
  const auto add = [&](std::string name, DType dtype, DType of_indices, bool sorted = false) {
    out.push_back(
        {.name = std::move(name),
         .inputs = {{.dtype = dtype, .dims = {6}}, {.dtype = dtype, .dims = {8}}},
         .build = [=](const std::vector<Expr>& in) { return small_product(in, of_indices, of_counts, sorted); },
         .bound = is_float(dtype) && !of_counts ? 4.0 : 0});
  };
  add("int64", DType::kInt64, DType::kInt32);
  if (of_counts) return out;
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (DType of_indices : {DType::kInt32, DType::kInt64})
      for (bool sorted : {false, true})
        add(str(name_of(dtype), "_", name_of(of_indices), sorted ? "_sorted" : ""), dtype, of_indices, sorted);
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
      .lower = lower_product_counts,
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
          "The stored elements of the product of two matrices in compressed rows, data and indices: of each row in the "
          "order in which they are met, or `sorted` by their columns.\n"
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
      .lower = [](kernel::StepBuilder& b) { is_sorted(b.node()) ? lower_sorted_product(b) : lower_product(b); },
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
                       const Expr& right_indices, const Expr& right_indptr, const Dim& columns, bool sorted) {
  const Expr ends =
      apply(csr_product_rows_op(), {indices, indptr, right_indices, right_indptr}, {{"columns", Dims{columns}}});
  const Dim elements = computed_length(subtensor(ends, {-1}));
  const auto node = make_node(csr_product_op(), {data, indices, indptr, right_data, right_indices, right_indptr, ends},
                              {{"columns", Dims{columns, elements}}, {"sorted", sorted}});
  return {.data = (*node)[0], .indices = (*node)[1], .indptr = ends};
}

}  // namespace thtrain
