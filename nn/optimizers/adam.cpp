#include "nn/optimizers/adam.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Adam::describe(Fields<OptimizerKind<Adam>>& f) {
  f.about("Adam: running means of the gradients and of their squares, corrected for their start at 0.");
  describe_rate_and_decay(f);
  describe_adam(f);
}

Adam::Adam(const Options& options, std::vector<Param> params)
    : Adam(kName, (check_options<OptimizerKind<Adam>>(kName, options), options), std::move(params)) {}

void Adam::add_numbers(double beta1, double beta2, double epsilon, bool amsgrad) {
  beta1_ = add_number("beta1", beta1);
  beta2_ = add_number("beta2", beta2);
  epsilon_ = add_number("epsilon", epsilon);
  count_steps();
  means_ = add_state("mean");
  squares_ = add_state("square");
  if (amsgrad) largest_squares_ = add_state("largest_square");
}

Expr Adam::step(const ParamStep& of) const {
  Expr mean = beta1_ * of.old(means_) + (1 - beta1_) * of.gradient;
  Expr square = beta2_ * of.old(squares_) + (1 - beta2_) * sqr(of.gradient);
  of.update(means_, mean);
  of.update(squares_, square);
  if (!largest_squares_.empty()) {
    square = maximum(of.old(largest_squares_), square);
    of.update(largest_squares_, square);
  }
  // Scalars in float64: in float32 1 - beta2^t would have lost most of its digits.
  Expr t = step_number();
  Expr length = cast(precise(of.rate) / (1 - pow(precise(beta1_), t)), dtype());
  Expr root_scale = cast(sqrt(1 - pow(precise(beta2_), t)), dtype());
  return of.w - length * mean / (sqrt(square) / root_scale + epsilon_);
}

Kind<OptimizerOptions> adam_optimizer() {
  return kind<OptimizerKind<Adam>, OptimizerOptions>();
}

}  // namespace thtrain
