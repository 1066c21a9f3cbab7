#include "nn/losses.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

Expr negative_log_likelihood(const Expr& logits, const Expr& labels) {
  Scope scope("loss");
  return mean(categorical_crossentropy_logits(logits, labels));
}

Expr error_count(const Expr& p, const Expr& labels) {
  Scope scope("errors");
  return sum(neq(argmax(p, 1), labels));
}

static Expr penalty(const std::vector<Param>& params, Expr (*of)(const Expr& w)) {
  Scope scope("penalty");
  Expr total;
  for (const Param& param : params) {
    if (!param.penalized) continue;
    Expr term = [&] {
      Scope of_param(param.name, param.config);
      return of(param.expr());
    }();
    total = total.has_value() ? total + term : term;
  }
  return total;
}

Expr l1_penalty(const std::vector<Param>& params) {
  return penalty(params, [](const Expr& w) { return sum(abs(w)); });
}

Expr l2_penalty(const std::vector<Param>& params) {
  return penalty(params, [](const Expr& w) { return sum(sqr(w)); });
}

}  // namespace thtrain
