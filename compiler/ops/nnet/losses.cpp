#include "compiler/ops/nnet/losses.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
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

}  // namespace thtrain
