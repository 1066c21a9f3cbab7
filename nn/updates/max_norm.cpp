#include "nn/updates/max_norm.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

Expr limit_columns(const Expr& w, const Expr& bound) {
  if (require_value(w, "limit_columns: the weights", std::source_location::current()).rank() != 2)
    throw UserError(
        Message{.what = "limit_columns: the weights are no matrix", .expected = "rank 2", .got = w.type().text()});
  Expr norm = sqrt(sum(sqr(w), 0, true));
  return w * (bound / maximum(norm, bound));  // exactly w where the norm is at most the bound
}

std::vector<Update> limit_norms(std::vector<Update> updates, const std::vector<Param>& params, const Expr& bound) {
  Scope scope("max_norm");
  for (const Param& param : params) {
    if (!param.penalized || param.expr().rank() != 2) continue;
    Scope of_param(param.name, param.config);
    for (Update& update : updates)
      if (update.variable.same(param.expr())) update.value = limit_columns(update.value, bound);
  }
  return updates;
}

}  // namespace thtrain
