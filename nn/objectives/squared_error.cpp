#include "nn/objectives/squared_error.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void SquaredError::Options::describe(Fields<Options>& f) {
  f.about("The mean of (y - t)^2 over examples and outputs.");
  describe_sum_outputs(f);
}

std::unique_ptr<Objective> SquaredError::Options::make() const {
  return std::make_unique<SquaredError>(*this);
}

Expr SquaredError::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  return sqr(output.value - targets);
}

Kind<ObjectiveOptions> squared_error_objective() {
  return kind<SquaredError::Options, ObjectiveOptions>();
}

}  // namespace thtrain
