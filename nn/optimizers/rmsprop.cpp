#include "nn/optimizers/rmsprop.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void RmsProp::describe(Fields<Table>& f) {
  f.about("RMSProp: gradients divided by the root of a running mean of their squares.");
  describe_rate_and_decay(f);
  f.field("rho", &Table::rho)
      .range(from_below(0, 1))
      .synonyms({"alpha", "decay_rate"})
      .help("Decay rate of the running means: the part that a step keeps.");
  f.field("epsilon", &Table::epsilon).range(above(0)).synonyms({"eps"}).help("Added to the root before dividing.");
  f.field("momentum", &Table::momentum)
      .range(from_below(0, 1))
      .independent()
      .help("Part of the previous step that is added to the next one.");
  f.field("centered", &Table::centered).help("Divide by a running standard deviation instead: the mean is taken off.");
}

RmsProp::RmsProp(const Options& options, std::vector<Param> params) : Optimizer(kName, options, std::move(params)) {
  check_options<Table>(kName, options);
  rho_ = add_number("rho", options.rho);
  epsilon_ = add_number("epsilon", options.epsilon);
  squares_ = add_state("square");
  if (options.centered) means_ = add_state("mean");
  if (options.momentum == 0) return;
  momentum_ = add_number("momentum", options.momentum);
  velocities_ = add_state("velocity");
}

Expr RmsProp::step(const ParamStep& of) const {
  auto running_mean = [&](const std::vector<Shared>& state, const Expr& value) {
    Expr mean = rho_ * of.old(state) + (1 - rho_) * value;
    of.update(state, mean);
    return mean;
  };
  Expr square = running_mean(squares_, sqr(of.gradient));
  if (!means_.empty()) square = maximum(square - sqr(running_mean(means_, of.gradient)), 0);
  Expr scaled = of.gradient / (sqrt(square) + epsilon_);
  if (!momentum_.has_value()) return of.w - of.rate * scaled;
  Expr velocity = momentum_ * of.old(velocities_) + scaled;
  of.update(velocities_, velocity);
  return of.w - of.rate * velocity;
}

Kind<OptimizerOptions> rmsprop_optimizer() {
  return kind<OptimizerKind<RmsProp>, OptimizerOptions>();
}

}  // namespace thtrain
