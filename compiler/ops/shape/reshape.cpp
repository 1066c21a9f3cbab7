// The same elements under other lengths.
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

std::vector<Type> infer_reshape(const TypeArgs& args) {
  const Type& x = args.type(0);
  Type out{.dtype = x.dtype, .dims = args.props.get<Dims>("dims")};
  for (const Dim& dim : out.dims) require_length(args, dim);
  Dim before = x.elements(), after = out.elements();
  if (before.is_known() && after.is_known() && !(before == after))
    args.fail("the numbers of elements differ", str(before.value(), " elements"),
              str("the lengths [", dims_text(out.dims), "] have ", after.value()));
  args.require_equal(before, after, "the numbers of elements differ");
  return {out};
}

std::vector<Tensor> reference_reshape(const ReferenceArgs& args) {
  return {args.inputs[0].reshape(args.shapes[0]).copy()};
}

// Finds runs of axes on both sides with the same number of elements; each run on the left must be row-major in itself.
std::optional<Layout> view_reshape(const LayoutArgs& args) {
  const Dims& before = args.node.inputs[0].dims();
  const Dims& after = args.node.types[0].dims;
  Layout out = row_major(after);
  out.offset = args.input.offset;
  if (is_row_major(before, args.input)) return out;

  std::vector<size_t> from, to;  // axes whose length is not known to be 1
  for (size_t i = 0; i < before.size(); ++i)
    if (!before[i].is(1)) from.push_back(i);
  for (size_t i = 0; i < after.size(); ++i)
    if (!after[i].is(1)) to.push_back(i);
  const Dims& strides = args.input.strides;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i_end = i, j_end = j;
    Dim left(1);
    bool found = false;
    for (i_end = i + 1; i_end <= from.size() && !found; ++i_end) {
      left = left * before[from[i_end - 1]];
      Dim right(1);
      for (j_end = j + 1; j_end <= to.size() && !found; ++j_end) {
        right = right * after[to[j_end - 1]];
        found = left == right;
      }
    }
    if (!found) return std::nullopt;
    --i_end, --j_end;
    for (size_t k = i; k + 1 < i_end; ++k)
      if (!(strides[from[k]] == before[from[k + 1]] * strides[from[k + 1]])) return std::nullopt;
    Dim stride = strides[from[i_end - 1]];
    for (size_t k = j_end; k-- > j;) {
      out.strides[to[k]] = stride;
      stride = stride * after[to[k]];
    }
    i = i_end, j = j_end;
  }
  return out;
}

std::vector<Expr> gradient_reshape(const GradientArgs& args) {
  return {reshape(args.cotangent(), args.input(0).dims())};
}

std::vector<OpCase> cases_reshape() {
  auto reshaped = [](LengthList lengths) {
    return [lengths](const std::vector<Expr>& in) { return std::vector{reshape(in[0], lengths)}; };
  };
  auto of_transposed = [](LengthList lengths) {
    return [lengths](const std::vector<Expr>& in) { return std::vector{reshape(transpose(in[0]), lengths)}; };
  };
  return {
      {.name = "split_axis", .inputs = {{.dtype = DType::kFloat64, .dims = {3, 8}}}, .build = reshaped({3, 2, -1})},
      {.name = "merge_axes", .inputs = {{.dtype = DType::kFloat32, .dims = {2, 3, 4}}}, .build = reshaped({-1})},
      {.name = "across", .inputs = {{.dtype = DType::kInt32, .dims = {4, 6}}}, .build = reshaped({3, 8})},
      {.name = "to_scalar", .inputs = {{.dtype = DType::kFloat64, .dims = {1, 1}}}, .build = reshaped({})},
      {.name = "from_scalar", .inputs = {{.dtype = DType::kFloat64, .dims = {}}}, .build = reshaped({1, 1})},
      {.name = "empty", .inputs = {{.dtype = DType::kFloat32, .dims = {0, 4}}}, .build = reshaped({2, 0, 3})},
      {.name = "copied", .inputs = {{.dtype = DType::kFloat64, .dims = {5, 6}}}, .build = of_transposed({3, 10})},
      {.name = "copied_vector", .inputs = {{.dtype = DType::kFloat32, .dims = {3, 7}}}, .build = of_transposed({-1})},
      {.name = "split_of_transposed",
       .inputs = {{.dtype = DType::kFloat64, .dims = {4, 6}}},
       .build = of_transposed({2, 3, 2, 2})},
      {.name = "copied_bools", .inputs = {{.dtype = DType::kBool, .dims = {3, 5}}}, .build = of_transposed({15})},
      {.name = "copied_complex",
       .inputs = {{.dtype = DType::kComplex128, .dims = {3, 4}}},
       .build = of_transposed({2, 6})},
  };
}

// What stands for -1: the elements of x over those of the other lengths. Equal lengths cancel, so that a batch stays
// one.
Dim left_over(const Dims& all, Dims others) {
  Dim elements(1);
  for (const Dim& dim : all) {
    auto same = std::find(others.begin(), others.end(), dim);
    if (!dim.is(0) && same != others.end())
      others.erase(same);
    else
      elements = elements * dim;
  }
  Dim by = product(others);
  return floor_div(elements, by.is_known() ? by : max(by, Dim(1)));
}

}  // namespace

static Expr reshaped_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                       const std::vector<bool>&) {
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return reshape(inputs[0], lengths);
}
static constexpr IterationsRule kAllIterations_reshape{.all = reshaped_in_all_iterations};

const Op& reshape_op() {
  static const Op op{
      .name = "reshape",
      .doc =
          "The elements of x in row-major order, read under the lengths dims. A view where the strides of x allow it, "
          "else a copy.\n"
          "Shapes: the numbers of elements agree, which is checked when a call begins where it cannot be proved.\n"
          "dtypes: any.\n"
          "Gradient: the cotangent under the lengths of x.\n"
          "Edge cases: no elements stay none.\n"
          "Example: [1, 2, 3, 4] as 2 by 2 is [[1, 2], [3, 4]]",
      .infer = infer_reshape,
      .reference = reference_reshape,
      .error = moved_error,
      .gradient = gradient_reshape,
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { copy_kernel(b, 0, "reshape: elements in row-major order"); },
      .iterations = &kAllIterations_reshape,
      .aliases = {{.output = 0, .input = 0, .view = view_reshape}},
      .symbolic = [](const Node&, std::span<const Dim> values) -> std::optional<Dim> { return values[0]; },
      .cases = cases_reshape};
  return op;
}

Expr reshape(const Operand& operand, const LengthList& lengths) {
  Expr x = operand.expr();
  Dims dims = lengths.dims;
  size_t open = dims.size();
  Dims others;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is(-1)) {
      others.push_back(dims[i]);
      continue;
    }
    if (open != dims.size())
      fail_build(operand.where(), "reshape: more than one length is -1", "at most one", str("[", dims_text(dims), "]"));
    open = i;
  }
  if (open != dims.size()) {
    if (product(others).is(0))
      fail_build(operand.where(), "reshape: the length for -1 is not determined, since another length is 0",
                 "lengths above 0", str(value_text(x), " as [", dims_text(dims), "]"));
    dims[open] = left_over(x.dims(), others);
  }
  if (dims == x.dims()) return x;
  return apply(reshape_op(), {x}, {{"dims", std::move(dims)}}, operand.where());
}

Expr flatten(const Operand& operand, int64_t ndim) {
  Expr x = operand.expr();
  int64_t rank = static_cast<int64_t>(x.rank());
  if (ndim < 1 || ndim > std::max<int64_t>(rank, 1))
    fail_build(operand.where(), str("flatten: ", ndim, " axes are asked for"),
               str("from 1 to ", std::max<int64_t>(rank, 1)), value_text(x));
  Dims dims(x.dims().begin(), x.dims().begin() + (rank == 0 ? 0 : ndim - 1));
  dims.push_back(product(Dims(x.dims().begin() + (rank == 0 ? 0 : ndim - 1), x.dims().end())));
  return reshape(Operand(x, operand.where()), dims);
}

}  // namespace thtrain
