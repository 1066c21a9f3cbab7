#include "compiler/ops/nnet/losses.h"

#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool are_labels(const Expr& targets, const Expr& classes) {
  return is_int(targets.dtype()) && targets.rank() + 1 == classes.rank();
}

void require_targets(const std::string& what, const Expr& x, const Expr& targets, const std::source_location& where) {
  if (x.rank() == 0)
    fail_build(where, str(what, ": a scalar has no classes"), "classes along the last axis", value_text(x));
  if (are_labels(targets, x) || targets.rank() == x.rank()) return;
  fail_build(where, str(what, ": the targets fit neither as labels nor as a value for each class"),
             str("integers of rank ", x.rank() - 1, ", or any numbers of rank ", x.rank()),
             str(value_text(x), ", targets ", value_text(targets)),
             is_int(targets.dtype()) ? "" : "labels are integers: cast them");
}

// x[..., label], of a matrix or of a value with more or fewer axes before the last.
Expr picked(const Expr& x, const Expr& labels) {
  if (x.rank() == 2) return pick_rows(x, labels, Negative::kRefused);
  Dims before(x.dims().begin(), x.dims().end() - 1);
  Expr rows = reshape(x, Dims{product(before), x.dims().back()});
  return reshape(pick_rows(rows, reshape(labels, Dims{product(before)}), Negative::kRefused), before);
}

Expr cross_entropy(const Expr& logarithms, const Expr& targets) {
  return are_labels(targets, logarithms) ? -picked(logarithms, targets) : -sum(targets * logarithms, -1);
}

}  // namespace

Expr categorical_crossentropy(const Operand& p, const Operand& targets) {
  Origin origin = Origin::here(p.where());
  InheritOrigin inherit(origin);
  Expr x = p.expr(), t = targets.expr();
  require_targets("categorical_crossentropy", x, t, p.where());
  return cross_entropy(log(x), t);
}

Expr categorical_crossentropy_logits(const Operand& z, const Operand& targets) {
  Origin origin = Origin::here(z.where());
  InheritOrigin inherit(origin);
  Expr x = z.expr(), t = targets.expr();
  require_targets("categorical_crossentropy_logits", x, t, z.where());
  return cross_entropy(log_softmax(x), t);
}

Expr binary_crossentropy(const Operand& p, const Operand& targets) {
  Origin origin = Origin::here(p.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> both = resolve({&p, &targets});
  const Expr &x = both[0], &t = both[1];
  return -(t * log(x) + (1 - t) * log1p(-x));
}

Expr binary_crossentropy_logits(const Operand& z, const Operand& targets) {
  Origin origin = Origin::here(z.where());
  InheritOrigin inherit(origin);
  std::vector<Expr> both = resolve({&z, &targets});
  const Expr &x = both[0], &t = both[1];
  return softplus(x) - x * t;
}

Expr multiclass_hinge(const Operand& z, const Operand& labels, double margin) {
  const Origin origin = Origin::here(z.where());
  InheritOrigin inherit(origin);
  const Expr x = z.expr(), t = labels.expr();
  if (x.rank() != 2 || !are_labels(t, x))
    fail_build(z.where(), "multiclass_hinge: no rows of scores with a label each", "scores [n, classes], integers [n]",
               str(value_text(x), ", labels ", value_text(t)));
  // Of each row the largest score but that of the label; -inf where there is no other.
  const Expr is_own = eq(arange(length(x, 1)), expand_dims(t, {1}));
  const Expr others = where(is_own, -std::numeric_limits<double>::infinity(), x);
  const Expr largest = pick_rows(others, argmax(others, 1));
  return maximum(0, margin + largest - pick_rows(x, t, Negative::kRefused));  // a tie's derivative goes to the 0
}

ConfusionCounts confusion_matrix(const Operand& actual, const Operand& predicted) {
  const Origin origin = Origin::here(actual.where());
  InheritOrigin inherit(origin);
  const Expr a = actual.expr(), p = predicted.expr();
  if (!is_int(a.dtype()) || !is_int(p.dtype()) || a.rank() != 1 || p.rank() != 1)
    fail_build(actual.where(), "confusion_matrix: the classes are no vectors of integers", "integers [n], integers [n]",
               str(value_text(a), ", predicted ", value_text(p)));
  const Expr classes = unique(concatenate({a, p}, 0)).values;
  const auto is_class = [&](const Expr& x) { return cast(eq(expand_dims(x, {1}), classes), DType::kInt64); };
  return {dot(is_class(a).T(), is_class(p)), classes};
}

}  // namespace thtrain
