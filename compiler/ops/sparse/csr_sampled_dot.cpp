// Inner products of rows of two dense matrices, at the stored elements of a pattern: what the gradient of a sparse
// product needs, without a matrix of the pattern's shape.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr size_t kWhere = 0, kEnds = 1, kLeft = 2, kRight = 3;
constexpr int kPartialSums = 4;

// Of vectors each row is one number.
Dim inner_length(const Type& left) {
  return left.rank() == 2 ? left.dims[1] : Dim(1);
}

std::vector<Type> infer_sampled_dot(const TypeArgs& args) {
  require_parts(args, -1, kWhere);
  const Type &a = args.type(kLeft), &b = args.type(kRight);
  args.require(a.rank() == b.rank() && (a.rank() == 1 || a.rank() == 2), "the operands are no vectors or matrices");
  args.require(a.dtype == b.dtype && is_float(a.dtype), "the operands have different dtypes, or are no floats");
  args.require_equal(a.dims[0], rows_of(args.type(kEnds)), "the pattern has other rows than the left operand");
  if (a.rank() == 2) args.require_equal(a.dims[1], b.dims[1], "inner lengths differ");
  return {{.dtype = a.dtype, .dims = args.type(kWhere).dims}};
}

std::vector<Tensor> reference_sampled_dot(const ReferenceArgs& args) {
  const Tensor &indices = args.inputs[kWhere], &indptr = args.inputs[kEnds], &a = args.inputs[kLeft],
               &b = args.inputs[kRight];
  Tensor out = args.make_output();
  const int64_t k = a.rank() == 2 ? a.dim(1) : 1;
  visit(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      each_csr_row(args, indptr, indices.size(), [&](int64_t i, const CsrRow& row) {
        for (int64_t e = row.begin; e < row.end; ++e) {
          const int64_t j = csr_index(args, indices, e, b.dim(0));
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) sum += double{a.data<T>()[i * k + l]} * double{b.data<T>()[j * k + l]};
          out.data<T>()[e] = static_cast<T>(sum);
        }
      });
    }
  });
  return {out};
}

std::vector<Expr> gradient_of_sampled(const GradientArgs& args) {
  const Expr &indices = args.input(kWhere), &indptr = args.input(kEnds);
  return {Expr(), Expr(), csr_dot(args.cotangent(), indices, indptr, args.input(kRight)),
          csr_dot(args.cotangent(), indices, indptr, args.input(kLeft), {args.input(kRight).dims()[0]})};
}

void lower_sampled_dot(kernel::StepBuilder& b) {
  const kernel::Operand &indices = b.input(kWhere), &indptr = b.input(kEnds), &left = b.input(kLeft),
                        &right = b.input(kRight), &out = b.output();
  const Dim inner = inner_length(left.type);
  const DType dtype = out.type.dtype;
  const int lanes = inner.is_known() && inner.value() < b.lanes_of(dtype) ? 1 : b.lanes_of(dtype);
  kernel::Code& code = b.code();
  finish_rows(b, indptr, indices.type.dims[0], work_of_element(inner), "csr_sampled_dot",
              "out0 = (in2 in3^T) at the stored elements", [&](const Term& i, const StoredRow& row) {
                const Term k = b.length(inner);
                code.loop("e", row.begin, row.end, 1, LoopMark::kSequential, [&](const Term& e) {
                  const Term j = stored_index(b, indices, e, right.type.dims[0]);
                  const Term a = code.let("a", i * k), c = code.let("c", j * k);
                  std::vector<Term> sums;
                  for (int s = 0; s < kPartialSums; ++s)
                    sums.push_back(code.var("sum", kernel::splat(kernel::constant(dtype, 0), lanes)));
                  const auto add = [&](const Term& l, int s) {
                    const Term& sum = sums[static_cast<size_t>(s)];
                    code.assign(sum, fma(b.load(left, a + l, lanes), b.load(right, c + l, lanes), sum));
                  };
                  const Term blocks = code.let("blocks", k / Term(kPartialSums * lanes) * Term(kPartialSums * lanes)),
                             whole = code.let("whole", k / Term(lanes) * Term(lanes));
                  code.loop("l", 0, blocks, kPartialSums * lanes, LoopMark::kSequential, [&](const Term& l) {
                    for (int s = 0; s < kPartialSums; ++s) add(l + Term(s * lanes), s);
                  });
                  code.loop("l", blocks, whole, lanes, LoopMark::kSequential, [&](const Term& l) { add(l, 0); });
                  const Term all = (sums[0] + sums[2]) + (sums[1] + sums[3]);
                  if (lanes == 1) return b.store(out, e, all);
                  const Term rest = code.var("rest", kernel::reduce_lanes("add", all));
                  code.loop("l", whole, k, 1, LoopMark::kSequential, [&](const Term& l) {
                    code.assign(rest, fma(b.load(left, a + l), b.load(right, c + l), rest));
                  });
                  b.store(out, e, rest);
                });
              });
}

std::vector<OpCase> cases_sampled_dot() {
  const auto sampled = [](const std::vector<Expr>& in) {
    const Expr indices = make_constant(Tensor::vector<int32_t>({1, 4, 0, 1, 3, 2})),
               indptr = make_constant(Tensor::vector<int32_t>({0, 2, 2, 5, 6}));
    return std::vector{csr_sampled_dot(indices, indptr, in[0], in[1])};
  };
  std::vector<OpCase> out;
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (int64_t k : {0, 1, 3, 16, 93})
      out.push_back({.name = str(name_of(dtype), "_", k),
                     .inputs = {{.dtype = dtype, .dims = {4, k}}, {.dtype = dtype, .dims = {5, k}}},
                     .build = sampled,
                     .bound = 8});
  out.push_back(
      {.name = "any",
       .inputs = {{.dtype = DType::kFloat32, .dims = {4, "k"}}, {.dtype = DType::kFloat32, .dims = {"k", "k"}}},
       .build = sampled,
       .bound = 8});
  return out;
}

}  // namespace

const Op& csr_sampled_dot_op() {
  static const Op op{
      .name = "csr_sampled_dot",
      .doc =
          "For each stored element of a pattern in compressed rows, in row i and column j, the sum over l of a[i, l] "
          "b[j, l].\n"
          "Shapes: indices [stored], indptr [m + 1], a [m, k], b [n, k], or vectors a [m], b [n], y [stored].\n"
          "dtypes: a and b the same floats, indices and indptr int32 or int64.\n"
          "Gradient: da = dY b, db = dY^T a, for the sparse matrix dY of the elements dy.\n"
          "Edge cases: zeros where k is 0; an error where indptr is not ascending, or an index outside.\n"
          "Example: [[1, 2]] and [[3, 4], [5, 6]] at (0, 1): 17",
      .called = [](const Props&) { return std::string("sampled_dot"); },
      .infer = infer_sampled_dot,
      .reference = reference_sampled_dot,
      .error =
          [](const ErrorArgs& a) {
            return multilinear_error(a, static_cast<double>(a.inputs[kLeft].shape().back()) + 2);
          },
      .gradient = gradient_of_sampled,
      .jvp = multilinear_jvp,
      .lower = lower_sampled_dot,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .cost =
          [](const Node& node) {
            const Dim stored = node.types[0].dims[0], k = inner_length(node.inputs[kLeft].type()),
                      size(static_cast<int64_t>(size_of(node.types[0].dtype)));
            return Cost{Dim(2) * stored * k, size * (stored * k * Dim(2) + stored) + Dim(4) * stored};
          },
      .connection = [](const Node&, size_t input, size_t) { return input >= kLeft; },
      .cases = cases_sampled_dot};
  return op;
}

Expr csr_sampled_dot(const Expr& indices, const Expr& indptr, const Expr& a, const Expr& b) {
  return apply(csr_sampled_dot_op(), {indices, indptr, a, b});
}

}  // namespace thtrain
