// The row of each stored element.
#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

std::vector<Type> infer_csr_rows(const TypeArgs& args) {
  require_parts(args, -1, 0);
  return {args.type(0)};
}

std::vector<Tensor> reference_csr_rows(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  const Tensor& indptr = args.inputs[1];
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    each_csr_row(args, indptr, out.size(), [&](int64_t i, const CsrRow& row) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        std::fill(out.data<T>() + row.begin, out.data<T>() + row.end, static_cast<T>(i));
    });
  });
  return {out};
}

void lower_csr_rows(kernel::StepBuilder& b) {
  const kernel::Operand &out = b.output(), &indptr = b.input(1);
  finish_rows(b, indptr, out.type.dims[0], 2, "csr_rows", "out0 = the row of each stored element",
              [&](const kernel::Term& i, const StoredRow& row) {
                b.code().loop("e", row.begin, row.end, 1, kernel::LoopMark::kSequential,
                              [&](kernel::Term e) { b.store(out, e, kernel::cast(i, out.type.dtype)); });
              });
}

std::vector<OpCase> cases_csr_rows() {
  const auto rows = [](std::vector<int64_t> indptr, DType dtype) {
    return [indptr, dtype](const std::vector<Expr>& in) {
      return std::vector{csr_rows(constant_indices(indptr, dtype), in[0])};
    };
  };
  std::vector<OpCase> out;
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    const auto add = [&](const char* name, int64_t stored, std::vector<int64_t> indptr) {
      out.push_back({.name = str(name_of(dtype), "_", name),
                     .inputs = {{.dtype = dtype, .dims = {stored}}},
                     .build = rows(std::move(indptr), dtype)});
    };
    add("some", 7, {0, 2, 2, 5, 7});
    add("one", 3, {0, 3});
    add("empty", 0, {0, 0, 0});
    add("none", 0, {0});
  }
  return out;
}

}  // namespace

const Op& csr_rows_op() {
  static const Op op{.name = "csr_rows",
                     .doc =
                         "The row of each stored element of a matrix in compressed rows.\n"
                         "Shapes: indices [stored], indptr [m + 1], y [stored]; the indices' values are not read.\n"
                         "dtypes: int32 or int64, all the same.\n"
                         "Gradient: none.\n"
                         "Edge cases: an error where indptr is not ascending from 0 to the number of elements.\n"
                         "Example: indptr [0, 2, 2, 3]: [0, 0, 2]",
                     .infer = infer_csr_rows,
                     .reference = reference_csr_rows,
                     .lower = lower_csr_rows,
                     .accepts_layout =
                         [](const Node& node, size_t i, const Layout& layout) {
                           return i == 0 ||
                                  is_row_major(node.inputs[i].dims(), layout);  // nothing is read of the indices
                         },
                     .cost =
                         [](const Node& node) {
                           return Cost{0, Dim(static_cast<int64_t>(size_of(node.types[0].dtype))) *
                                              (node.types[0].dims[0] + node.inputs[1].dims()[0])};
                         },
                     .connection = [](const Node&, size_t, size_t) { return false; },
                     .cases = cases_csr_rows};
  return op;
}

Expr csr_rows(const Expr& indptr, const Expr& indices) {
  return apply(csr_rows_op(), {indices, indptr});
}

}  // namespace thtrain
