#include "nn/objectives/poisson.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Poisson::Options::describe(Fields<Options>& f) {
  f.about("The mean of exp(y) - t y: y is the logarithm of the rate of the count t.");
}

std::unique_ptr<Objective> Poisson::Options::make() const {
  return std::make_unique<Poisson>(*this);
}

Scores Poisson::scores(const ModelOutput& output) const {
  return {.value = exp(output.value)};
}

Expr Poisson::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  return exp(output.value) - targets * output.value;
}

Kind<ObjectiveOptions> poisson_objective() {
  return kind<Poisson::Options, ObjectiveOptions>();
}

}  // namespace thtrain
