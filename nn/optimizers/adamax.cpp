#include "nn/optimizers/adamax.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void AdaMax::describe(Fields<Table>& f) {
  f.about("AdaMax: Adam with a running maximum of the gradients instead of the mean of their squares.");
  describe_rate_and_decay(f);
  f.field("beta1", &Table::beta1).range(from_below(0, 1)).help("Decay rate of the running mean of the gradients.");
  f.field("beta2", &Table::beta2).range(from_below(0, 1)).help("Decay rate of the running maximum.");
  f.field("epsilon", &Table::epsilon)
      .range(above(0))
      .synonyms({"eps"})
      .help("Added to the absolute gradient, so that the maximum is not 0.");
}

AdaMax::AdaMax(const Options& options, std::vector<Param> params) : Optimizer(kName, options, std::move(params)) {
  check_options<Table>(kName, options);
  beta1_ = add_number("beta1", options.beta1);
  beta2_ = add_number("beta2", options.beta2);
  epsilon_ = add_number("epsilon", options.epsilon);
  count_steps();
  means_ = add_state("mean");
  largest_ = add_state("largest");
}

Expr AdaMax::step(const ParamStep& of) const {
  Expr mean = beta1_ * of.old(means_) + (1 - beta1_) * of.gradient;
  Expr largest = maximum(beta2_ * of.old(largest_), abs(of.gradient) + epsilon_);
  of.update(means_, mean);
  of.update(largest_, largest);
  Expr length = cast(precise(of.rate) / (1 - pow(precise(beta1_), step_number())), dtype());
  return of.w - length * mean / largest;
}

Kind<OptimizerOptions> adamax_optimizer() {
  return kind<OptimizerKind<AdaMax>, OptimizerOptions>();
}

}  // namespace thtrain
