#include "compiler/runtime/covariance_root.h"

#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/libraries/covariance_root.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

kernel::RuntimeCheck covariance_check(const Node& node) {
  return {"multivariate_normal: the matrix is no covariance", "a symmetric matrix without negative eigenvalues",
          node.origin};
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const Tensor& c = args.inputs[0];
  Tensor root = args.make_output();
  if (!find_covariance_root(c.data<double>(), c.dim(0), root.data<double>())) {
    const kernel::RuntimeCheck check = covariance_check(args.node);
    throw UserError({.what = check.what,
                     .expected = check.expected,
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  }
  return {root};
}

void lower(kernel::StepBuilder& b) {
  using kernel::PointerTo;
  b.call_library({{"covariance_root_f64", TH_TEXT_OF(TH_COVARIANCE_ROOT_PARAMETERS), true},
                  {b.output().type.dims[0], PointerTo{b.input(0).index}, PointerTo{b.output().index},
                   covariance_check(b.node())}});
}

/// What a derivative is made of: v^T, the rows of the root divided by their lengths, and 1 over the sums of two
/// lengths.
struct Directions {
  Expr rows, over_sums;
};
Directions directions_of(const Expr& root) {
  const Expr lengths = sqrt(sum(sqr(root), 1)), column = expand_dims(lengths, {1}),
             sums = column + expand_dims(lengths, {0});
  return {where(gt(column, 0.0), root / where(gt(column, 0.0), column, 1.0), 0.0),
          where(gt(sums, 0.0), 1.0 / where(gt(sums, 0.0), sums, 1.0), 0.0)};
}

std::vector<Expr> jvp(const JvpArgs& args) {
  const auto [rows, over_sums] = directions_of(args.outputs[0]);
  return {dot(dot(dot(rows, args.tangent()), transpose(rows)) * over_sums, rows)};
}

std::vector<Expr> gradient(const GradientArgs& args) {
  const auto [rows, over_sums] = directions_of(args.outputs[0]);
  const Expr dc = dot(dot(transpose(rows), dot(args.cotangent(), transpose(rows)) * over_sums), rows);
  return {0.5 * (dc + transpose(dc))};
}

}  // namespace

const Op& covariance_root_op() {
  static const Op op{
      .name = "covariance_root",
      .doc = "r with r^T r = c, from the singular value decomposition of a covariance c [n, n], float64.",
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0).rank() == 2 && a.type(0).dtype == DType::kFloat64,
                      "the covariance is no matrix of float64");
            a.require_equal(a.type(0).dims[0], a.type(0).dims[1], "multivariate_normal: rows and columns differ");
            return std::vector{a.type(0)};
          },
      .reference = reference,
      .error = unknown_errors,
      .gradient = gradient,
      .jvp = jvp,
      .lower = lower,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
      .foldable = false};
  return op;
}

Expr covariance_root(const Operand& covariance) {
  return apply(covariance_root_op(), {cast(covariance, DType::kFloat64)}, {{"version", std::string("1")}},
               covariance.where());
}

}  // namespace thtrain
