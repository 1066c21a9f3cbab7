// What is known of the elements of a matrix: as its maker says, or by the op that made it.
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool is(const Expr& x, const Op& op) {
  return x.node().op == &op;
}

MatrixKind transposed_kind(MatrixKind kind) {
  if (kind == MatrixKind::kLower) return MatrixKind::kUpper;
  return kind == MatrixKind::kUpper ? MatrixKind::kLower : kind;
}

// tril and triu: where(column - row <= k, x, 0), and >= k.
MatrixKind kind_of_choice(const Expr& x) {
  const Expr &condition = x.node().inputs[0], &last = x.node().inputs[2],
             &otherwise = is(last, cast_op()) ? last.node().inputs[0] : last;
  const bool lower = is(condition, le_op());
  if (!lower && !is(condition, ge_op())) return MatrixKind::kGeneral;
  const Expr &distance = condition.node().inputs[0], &limit = condition.node().inputs[1];
  if (!is(distance, sub_op()) || !constant_value(limit) || limit.rank() != 0 || x.node().inputs[1].type() != x.type())
    return MatrixKind::kGeneral;
  const auto numbers = [&](size_t i, const Ints& order) {
    const Expr& e = distance.node().inputs[i];
    if (!is(e, dimshuffle_op()) || e.node().props.get<Ints>("order") != order) return false;
    const Node& from = e.node().inputs[0].node();
    return from.op == &arange_op() && from.types[0].dtype == DType::kInt64 && from.props.get<int64_t>("step") == 1 &&
           from.props.get<Dims>("first")[0].is(0);
  };
  const Tensor* zero = constant_value(otherwise);
  if (!numbers(0, {-1, 0}) || !numbers(1, {0, -1}) || !zero || zero->rank() != 0 || is_complex(zero->dtype()) ||
      zero->as_double() != 0)
    return MatrixKind::kGeneral;
  const double k = constant_value(limit)->as_double();
  if (lower && k <= 0) return MatrixKind::kLower;
  return !lower && k >= 0 ? MatrixKind::kUpper : MatrixKind::kGeneral;
}

}  // namespace

MatrixKind known_kind(const Expr& x) {
  if (x.rank() < 2) return MatrixKind::kGeneral;
  const Node& node = x.node();
  if (node.op == &matrix_hint_op()) return static_cast<MatrixKind>(node.props.get<int64_t>("kind"));
  if (node.op == &cholesky_op()) return MatrixKind::kLower;
  if (node.op == &conj_op()) return known_kind(node.inputs[0]);
  if (node.op == &switch_op()) return kind_of_choice(x);
  if (node.op == &dimshuffle_op() && is_transpose_of_matrices(x)) return transposed_kind(known_kind(node.inputs[0]));
  if (node.op == &triangular_solve_op() && is_identity(node.inputs[1]))
    return node.props.get<bool>("lower") != node.props.get<bool>("transposed") ? MatrixKind::kLower
                                                                               : MatrixKind::kUpper;
  if (node.op == &solution_op() && node.props.get<bool>("definite") && is_identity(node.inputs[2]))
    return MatrixKind::kPositiveDefinite;
  return MatrixKind::kGeneral;
}

bool is_transpose_of_matrices(const Expr& x) {
  if (!is(x, dimshuffle_op()) || x.rank() < 2 || x.node().inputs[0].rank() != x.rank()) return false;
  Ints order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return x.node().props.get<Ints>("order") == order;
}

bool is_identity(const Expr& x) {
  if (is(x, broadcast_to_op())) return is_identity(x.node().inputs[0]);
  if (!is(x, eye_op())) return false;
  const Dims dims = x.node().props.get<Dims>("dims");
  return dims[0] == dims[1] && x.node().props.get<int64_t>("k") == 0;
}

const Op& matrix_hint_op() {
  static const Op op{
      .name = "matrix_hint",
      .doc =
          "x, of which is said that each of its matrices is of a kind: a view of x.\n"
          "Shapes: [..., n, n].\n"
          "dtypes: floats and complex numbers.\n"
          "Gradient: that of x.\n"
          "Edge cases: none; what is said is not checked.",
      .infer =
          [](const TypeArgs& a) {
            require_square_matrices(a, 0);
            return std::vector{a.type(0)};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector{a.inputs[0]}; },
      .error = passed_error,
      .gradient = [](const GradientArgs& a) { return std::vector{a.cotangent()}; },
      .jvp = [](const JvpArgs& a) { return std::vector{a.tangent(0)}; },
      .iterations = &kSameOpOfIterations,
      .only_derivatives = true,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .cases =
          [] {
            const auto build = [](const std::vector<Expr>& in) {
              return std::vector{sin(matrix_hint(in[0], MatrixKind::kSymmetric))};
            };
            return std::vector<OpCase>{
                {.name = "matrix", .inputs = {{.dtype = DType::kFloat64, .dims = {3, 3}}}, .build = build, .bound = 8},
                {.name = "complex",
                 .inputs = {{.dtype = DType::kComplex64, .dims = {2, 2, 2}}},
                 .build = build,
                 .bound = 64}};
          },
  };
  return op;
}

Expr matrix_hint(const Operand& operand, MatrixKind kind) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  return apply(matrix_hint_op(), {square_matrices_of(operand, "matrix_hint")}, {{"kind", static_cast<int64_t>(kind)}},
               operand.where());
}

}  // namespace thtrain
