// The pattern of a transpose: elements in the order of their columns, by counting.
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

std::vector<Type> infer_csr_transposed(const TypeArgs& args) {
  require_parts(args, -1, 0);
  args.require(args.props.get<Dims>("columns").size() == 1, "one number of columns is given");
  const Type& indices = args.type(0);
  Type indptr = indices;
  indptr.dims = {columns_of(args.props) + Dim(1)};
  return {indices, indptr, indices};
}

std::vector<Tensor> reference_csr_transposed(const ReferenceArgs& args) {
  Tensor indices = args.make_output(0), indptr = args.make_output(1), order = args.make_output(2);
  const Tensor &from = args.inputs[0], &rows = args.inputs[1];
  const int64_t columns = indptr.size() - 1;
  visit(indices.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      int64_t count = 0;
      for (int64_t j = 0; j < columns; ++j) {
        each_csr_row(args, rows, from.size(), [&](int64_t i, const CsrRow& row) {
          for (int64_t e = row.begin; e < row.end; ++e) {
            if (csr_index(args, from, e, columns) != j) continue;
            indices.data<T>()[count] = static_cast<T>(i);
            order.data<T>()[count++] = static_cast<T>(e);
          }
        });
        indptr.data<T>()[j + 1] = static_cast<T>(count);
      }
    }
  });
  return {indices, indptr, order};
}

// Counts the elements of each column, adds up where each column begins, and hands the elements out in their order.
void lower_csr_transposed(kernel::StepBuilder& b) {
  const kernel::Operand &from = b.input(0), &rows = b.input(1), &indices = b.output(0), &indptr = b.output(1),
                        &order = b.output(2);
  const Dim &stored = from.type.dims[0], &columns = columns_of(b.node().props);
  const DType dtype = indices.type.dtype;
  const kernel::Operand next = b.workspace(DType::kInt64, columns);
  kernel::Code& code = b.code();
  require_rows(b, rows, stored);
  code.loop("j", b.length(columns), [&](const Term& j) { b.store(next, j, 0); });
  code.loop("e", b.length(stored), [&](const Term& e) {
    const Term j = stored_index(b, from, e, columns);
    b.store(next, j, b.load(next, j) + Term(1));
  });
  const Term sum = code.var("sum", 0);
  b.store(indptr, 0, kernel::constant_int(dtype, 0));
  code.loop("j", b.length(columns), [&](const Term& j) {
    const Term count = code.let("count", b.load(next, j));
    b.store(next, j, sum);
    code.assign(sum, sum + count);
    b.store(indptr, j + Term(1), kernel::cast(sum, dtype));
  });
  code.loop("i", b.length(rows_of(rows.type)), [&](const Term& i) {
    const StoredRow row = stored_row(b, rows, i, stored);
    code.loop("e", row.begin, row.end, 1, LoopMark::kSequential, [&](const Term& e) {
      const Term j = code.let("j", kernel::cast(b.load(from, e), DType::kInt64)), to = code.let("to", b.load(next, j));
      b.store(next, j, to + Term(1));
      b.store(indices, to, kernel::cast(i, dtype));
      b.store(order, to, kernel::cast(e, dtype));
    });
  });
  b.finish_kernel("csr_transposed", "the pattern of the transpose of in0, in1, and the order of its elements", 1);
}

std::vector<OpCase> cases_csr_transposed() {
  const auto transposed = [](DType dtype, std::vector<int64_t> indices, std::vector<int64_t> indptr) {
    return [dtype, indices, indptr](const std::vector<Expr>& in) {
      // An input, so that nothing is folded: as many elements as it has, all 0.
      const CsrPattern out =
          csr_transposed(constant_indices(indices, dtype) + in[0] * 0, constant_indices(indptr, dtype), 5);
      return std::vector{out.indices, out.indptr, out.order};
    };
  };
  std::vector<OpCase> out;
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    out.push_back({.name = str(name_of(dtype)),
                   .inputs = {{.dtype = dtype, .dims = {6}}},
                   .build = transposed(dtype, {1, 4, 0, 1, 3, 2}, {0, 2, 2, 5, 6})});
    out.push_back({.name = str(name_of(dtype), "_empty"),
                   .inputs = {{.dtype = dtype, .dims = {0}}},
                   .build = transposed(dtype, {}, {0, 0, 0})});
    out.push_back({.name = str(name_of(dtype), "_no_rows"),
                   .inputs = {{.dtype = dtype, .dims = {0}}},
                   .build = transposed(dtype, {}, {0})});
  }
  return out;
}

}  // namespace

const Op& csr_transposed_op() {
  static const Op op{
      .name = "csr_transposed",
      .doc =
          "The pattern of the transpose of a matrix in compressed rows, and for each of its elements the "
          "number of the element that it is.\n"
          "Shapes: indices [stored], indptr [m + 1]; gives [stored], [columns + 1], [stored].\n"
          "dtypes: int32 or int64, all the same.\n"
          "Gradient: none.\n"
          "Edge cases: an error where indptr is not ascending, or an index outside.\n"
          "Example: indices [1, 0], indptr [0, 1, 2], 2 columns: [1, 0], [0, 1, 2], [1, 0]",
      .infer = infer_csr_transposed,
      .reference = reference_csr_transposed,
      .lower = lower_csr_transposed,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .cost =
          [](const Node& node) {
            return Cost{0, Dim(static_cast<int64_t>(size_of(node.types[0].dtype))) *
                               (Dim(6) * node.types[0].dims[0] + Dim(3) * node.types[1].dims[0])};
          },
      .connection = [](const Node&, size_t, size_t) { return false; },
      .cases = cases_csr_transposed};
  return op;
}

CsrPattern csr_transposed(const Expr& indices, const Expr& indptr, const Dim& columns) {
  const auto node = make_node(csr_transposed_op(), {indices, indptr}, {{"columns", Dims{columns}}});
  return {(*node)[0], (*node)[1], (*node)[2]};
}

}  // namespace thtrain
