#include "nn/objectives/huber.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Huber::Options::describe(Fields<Options>& f) {
  f.about("The mean of (y - t)^2 / 2 where |y - t| is at most delta, and of delta (|y - t| - delta / 2) elsewhere.");
  f.field("delta", &Options::delta).range(above(0)).help("From which error on it grows linearly.");
}

std::unique_ptr<Objective> Huber::Options::make() const {
  return std::make_unique<Huber>(*this);
}

Expr Huber::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  Expr size = abs(output.value - targets);
  Expr part = minimum(size, options_.delta);
  return part * (size - 0.5 * part);
}

Kind<ObjectiveOptions> huber_objective() {
  return kind<Huber::Options, ObjectiveOptions>();
}

}  // namespace thtrain
