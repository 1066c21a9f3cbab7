#include "trainers/objective_step.h"

#include <algorithm>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/runtime/shared.h"
#include "nn/contraction.h"
#include "nn/model_pass.h"

namespace thtrain {

void add_contraction(ObjectiveStep& step, ModelPass& pass, const LossConfig& loss) {
  if (loss.contraction == 0) return;
  if (step.gradients)
    throw UserError(Message{.what = str("loss.contraction does not go with the objective \"", loss.objective.name(),
                                        "\", which gives gradients of its own"),
                            .expected = "an objective whose gradient is that of its cost",
                            .config = loss.at("contraction")});
  const Expr penalty = contraction_penalty(pass.model_output(loss.contracted), loss.at("contracted"));
  const Shared factor(Tensor(loss.contraction).cast(step.cost.dtype()), "contraction", true);
  step.cost = step.cost + factor * penalty;
}

void leave_unneeded(ObjectiveStep& step, const std::vector<Param>& params) {
  if (step.gradients) return;
  const std::vector<Expr> needed = leaves_of(std::vector<Expr>{step.cost});
  auto is_needed = [&](const Param& param) {
    return std::any_of(needed.begin(), needed.end(), [&](const Expr& e) { return e.same(param.expr()); });
  };
  std::vector<Expr> wrt;
  for (const Param& param : params)
    if (is_needed(param)) wrt.push_back(param.expr());
  if (wrt.size() == params.size() || wrt.empty()) return;
  const std::vector<Expr> gradients = grad(step.cost, wrt);
  step.gradients.emplace();
  for (size_t i = 0; const Param& param : params) step.gradients->push_back(is_needed(param) ? gradients[i++] : Expr());
}

}  // namespace thtrain
