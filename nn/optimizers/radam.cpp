#include "nn/optimizers/radam.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void RAdam::describe(Fields<Table>& f) {
  f.about("RAdam: Adam that waits with its division until the mean of squares can be trusted.");
  describe_rate_and_decay(f);
  f.field("beta1", &Table::beta1).range(from_below(0, 1)).help("Decay rate of the running mean of the gradients.");
  f.field("beta2", &Table::beta2).range(from_below(0, 1)).help("Decay rate of the running mean of their squares.");
  f.field("epsilon", &Table::epsilon).range(above(0)).synonyms({"eps"}).help("Added to the root before dividing.");
}

RAdam::RAdam(const Options& options, std::vector<Param> params) : Optimizer(kName, options, std::move(params)) {
  check_options<Table>(kName, options);
  beta1_ = add_number("beta1", options.beta1);
  beta2_ = add_number("beta2", options.beta2);
  epsilon_ = add_number("epsilon", options.epsilon);
  count_steps();
  means_ = add_state("mean");
  squares_ = add_state("square");
}

Expr RAdam::step(const ParamStep& of) const {
  Expr mean = beta1_ * of.old(means_) + (1 - beta1_) * of.gradient;
  Expr square = beta2_ * of.old(squares_) + (1 - beta2_) * sqr(of.gradient);
  of.update(means_, mean);
  of.update(squares_, square);
  // Scalars in float64, as Adam's.
  const Expr t = step_number(), c = precise(beta2_), power = pow(c, t);
  const Expr most = 2 / (1 - c) - 1, length = most - 2 * t * power / (1 - power);
  const Expr trusted = gt(length, 5);
  const Expr known = where(trusted, length, most);  // the root is not taken of a number below 0
  const Expr factor = sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known) * (1 - power));
  const Expr step = cast(precise(of.rate) / (1 - pow(precise(beta1_), t)), dtype()) * mean;
  return of.w - where(trusted, step * cast(factor, dtype()) / (sqrt(square) + epsilon_), step);
}

Kind<OptimizerOptions> radam_optimizer() {
  return kind<OptimizerKind<RAdam>, OptimizerOptions>();
}

}  // namespace thtrain
