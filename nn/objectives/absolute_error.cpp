#include "nn/objectives/absolute_error.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void AbsoluteError::Options::describe(Fields<Options>& f) {
  f.about("The mean of |y - t| over examples and outputs.");
}

std::unique_ptr<Objective> AbsoluteError::Options::make() const {
  return std::make_unique<AbsoluteError>(*this);
}

Expr AbsoluteError::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  return abs(output.value - targets);
}

Kind<ObjectiveOptions> absolute_error_objective() {
  return kind<AbsoluteError::Options, ObjectiveOptions>();
}

}  // namespace thtrain
