#include "nn/optimizers/adadelta.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void AdaDelta::describe(Fields<Table>& f) {
  f.about("AdaDelta: steps in the units of the weights, from running means of squares of gradients and of steps.");
  describe_rate_and_decay(f);
  f.field("rho", &Table::rho)
      .range(from_below(0, 1))
      .synonyms({"alpha", "decay_rate"})
      .help("Decay rate of the running means: the part that a step keeps.");
  f.field("epsilon", &Table::epsilon)
      .range(above(0))
      .synonyms({"eps"})
      .help("Added to both means below their roots; the first steps are about its root.");
}

AdaDelta::AdaDelta(const Options& options, std::vector<Param> params) : Optimizer(kName, options, std::move(params)) {
  check_options<Table>(kName, options);
  rho_ = add_number("rho", options.rho);
  epsilon_ = add_number("epsilon", options.epsilon);
  squares_ = add_state("square");
  step_squares_ = add_state("step_square");
}

Expr AdaDelta::step(const ParamStep& of) const {
  const Expr old_step_square = of.old(step_squares_);
  Expr square = rho_ * of.old(squares_) + (1 - rho_) * sqr(of.gradient);
  Expr step = sqrt(old_step_square + epsilon_) / sqrt(square + epsilon_) * of.gradient;
  of.update(squares_, square);
  of.update(step_squares_, rho_ * old_step_square + (1 - rho_) * sqr(step));
  return of.w - of.rate * step;
}

Kind<OptimizerOptions> adadelta_optimizer() {
  return kind<OptimizerKind<AdaDelta>, OptimizerOptions>();
}

}  // namespace thtrain
