// What parts of a matrix must be before they are read as one: sorted indices, each once in its row.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

std::string text_of_order(const Node& node, const std::string& row) {
  return str(name_in_errors(*node.op, node.props), ": the indices of row ", row, " are not in order");
}
constexpr const char* kOrder = "ascending indices, each once";

std::vector<Type> infer_csr_checked(const TypeArgs& args) {
  require_parts(args, -1, 0);
  args.require(args.props.get<Dims>("columns").size() == 1, "one number of columns is given");
  return {args.type(1)};
}

std::vector<Tensor> reference_csr_checked(const ReferenceArgs& args) {
  const Tensor &indices = args.inputs[0], &indptr = args.inputs[1];
  const int64_t columns = columns_of(args.node.props).evaluate(args.length_of);
  each_csr_row(args, indptr, indices.size(), [&](int64_t i, const CsrRow& row) {
    for (int64_t e = row.begin, before = -1; e < row.end; ++e) {
      const int64_t j = csr_index(args, indices, e, columns);
      if (j <= before)
        throw UserError({.what = text_of_order(args.node, std::to_string(i)),
                         .expected = kOrder,
                         .node = args.node.origin.text(),
                         .config = args.node.origin.config()});
      before = j;
    }
  });
  return {indptr.copy()};
}

// Where all rows are in order, the index after an element is not greater exactly where a row begins with it: those
// elements are counted by vectors, and row by row. Where the numbers differ, the row is looked for.
class CsrCheck {
 public:
  explicit CsrCheck(kernel::StepBuilder& b)
      : b_(b),
        code_(b.code()),
        indices_(b.input(0)),
        indptr_(b.input(1)),
        out_(b.output()),
        stored_(indices_.type.dims[0]) {}

  void run() {
    require_rows(b_, indptr_, stored_);
    const Term falls = code_.let("falls", falls_between_neighbours()), at_rows = code_.var("at_rows", 0);
    const Term end = b_.length(stored_);
    each_row([&](const Term& i, const StoredRow& row) {
      code_.if_(row.begin < row.end, [&] {
        stored_index(b_, indices_, row.begin, columns());
        stored_index(b_, indices_, row.end - Term(1), columns());
        code_.if_(row.end < end, [&] {
          code_.assign(at_rows,
                       at_rows + kernel::cast(b_.load(indices_, row.end - Term(1)) >= b_.load(indices_, row.end),
                                              DType::kInt64));
        });
      });
      b_.store(out_, i, kernel::cast(row.begin, out_.type.dtype));
    });
    code_.if_(falls != at_rows, [&] {
      each_row([&](const Term& i, const StoredRow& row) {
        code_.loop("e", row.begin + Term(1), row.end, 1, LoopMark::kSequential, [&](const Term& e) {
          b_.require(b_.load(indices_, e - Term(1)) < b_.load(indices_, e),
                     {text_of_order(b_.node(), "{value}"), kOrder, b_.node().origin}, i, i);
        });
      });
    });
    b_.store(out_, b_.length(rows_of(indptr_.type)), kernel::cast(end, out_.type.dtype));
    b_.finish_kernel("csr_checked", "out0 = in1, which with in0 is the pattern of a matrix", 1);
  }

 private:
  const Dim& columns() const { return columns_of(b_.node().props); }

  void each_row(const std::function<void(const Term& i, const StoredRow& row)>& body) {
    code_.loop("i", b_.length(rows_of(indptr_.type)),
               [&](const Term& i) { body(i, stored_row(b_, indptr_, i, stored_)); });
  }

  Term falls_between_neighbours() {
    const DType dtype = indices_.type.dtype;
    const int lanes = b_.lanes_of(dtype);
    const Term pairs = b_.length(stored_) - Term(1),
               whole = code_.let("whole", kernel::select(pairs > Term(0), pairs / Term(lanes) * Term(lanes), Term(0)));
    const auto fall = [&](const Term& e, int count) {
      return kernel::cast(b_.load(indices_, e, count) >= b_.load(indices_, e + Term(1), count), dtype);
    };
    const Term falls = code_.var("falls_in_rest", kernel::constant_int(dtype, 0));
    code_.loop("e", whole, pairs, 1, LoopMark::kSequential,
               [&](const Term& e) { code_.assign(falls, falls + fall(e, 1)); });
    if (lanes == 1) return kernel::cast(falls, DType::kInt64);
    const Term of_lanes = code_.var("falls_of_lanes", kernel::splat(kernel::constant_int(dtype, 0), lanes));
    code_.loop("e", 0, whole, lanes, LoopMark::kSequential,
               [&](const Term& e) { code_.assign(of_lanes, of_lanes + fall(e, lanes)); });
    return kernel::cast(falls + kernel::reduce_lanes("add", of_lanes), DType::kInt64);
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  const kernel::Operand &indices_, &indptr_, &out_;
  const Dim& stored_;
};

void lower_csr_checked(kernel::StepBuilder& b) {
  CsrCheck(b).run();
}

std::vector<OpCase> cases_csr_checked() {
  const auto checked = [](DType dtype, std::vector<int64_t> indices, std::vector<int64_t> indptr) {
    return [dtype, indices, indptr](const std::vector<Expr>& in) {
      return std::vector{csr_checked(constant_indices(indices, dtype) + in[0] * 0, constant_indices(indptr, dtype), 5)};
    };
  };
  std::vector<OpCase> out;
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    out.push_back({.name = str(name_of(dtype)),
                   .inputs = {{.dtype = dtype, .dims = {6}}},
                   .build = checked(dtype, {1, 4, 0, 1, 3, 2}, {0, 2, 2, 5, 6})});
    out.push_back({.name = str(name_of(dtype), "_empty"),
                   .inputs = {{.dtype = dtype, .dims = {0}}},
                   .build = checked(dtype, {}, {0, 0, 0})});
  }
  return out;
}

}  // namespace

const Op& csr_checked_op() {
  static const Op op{
      .name = "csr_checked",
      .doc =
          "indptr itself, once it is known that it and `indices` are the pattern of a matrix in compressed "
          "rows: the elements of each row in ascending columns, each once.\n"
          "Shapes: indices [stored], indptr and y [m + 1].\n"
          "dtypes: int32 or int64, all the same.\n"
          "Gradient: none.\n"
          "Edge cases: an error where it is none.\n"
          "Example: indices [0, 2, 1], indptr [0, 2, 3]: [0, 2, 3]",
      .called = [](const Props&) { return std::string("sparse matrix"); },
      .infer = infer_csr_checked,
      .reference = reference_csr_checked,
      .lower = lower_csr_checked,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .cost =
          [](const Node& node) {
            return Cost{0, Dim(static_cast<int64_t>(size_of(node.types[0].dtype))) *
                               (node.inputs[0].dims()[0] + Dim(2) * node.types[0].dims[0])};
          },
      .connection = [](const Node&, size_t, size_t) { return false; },
      .cases = cases_csr_checked};
  return op;
}

Expr csr_checked(const Expr& indices, const Expr& indptr, const Dim& columns, const std::source_location& where) {
  return apply(csr_checked_op(), {indices, indptr}, {{"columns", Dims{columns}}}, where);
}

}  // namespace thtrain
