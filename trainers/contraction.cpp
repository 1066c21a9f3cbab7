#include "trainers/contraction.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/runtime/shared.h"
#include "nn/contraction.h"

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

}  // namespace thtrain
