#include "nn/optimizers/sgd.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Sgd::describe(Fields<Table>& f) {
  f.about("Stochastic gradient descent, with momentum in two forms.");
  describe_rate_and_decay(f);
  f.field("momentum", &Table::momentum)
      .range(from_below(0, 1))
      .independent()
      .help("Part of the previous step that is added to the next one.");
  f.field("nesterov", &Table::nesterov)
      .help("Whether the gradient is taken where the momentum alone would lead (Nesterov's momentum).");
  f.check([](const Table& c, Findings& findings) {
    if (c.nesterov && c.momentum == 0)
      findings.add({.what = str(c.name_of("nesterov"), " has no effect"),
                    .expected = str(c.name_of("momentum"), " above 0"),
                    .got = "0",
                    .config = c.at("nesterov"),
                    .hint = "give a momentum such as 0.9, or leave nesterov out"});
  });
}

Sgd::Sgd(const Options& options, std::vector<Param> params)
    : Optimizer(kName, options, std::move(params)), nesterov_(options.nesterov) {
  check_options<Table>(kName, options);
  if (options.momentum == 0) return;
  momentum_ = add_number("momentum", options.momentum);
  velocities_ = add_state("velocity");
}

Expr Sgd::step(const ParamStep& of) const {
  Expr step = of.rate * of.gradient;
  if (!momentum_.has_value()) return of.w - step;
  Expr velocity = momentum_ * of.old(velocities_) - step;
  of.update(velocities_, velocity);
  return nesterov_ ? of.w + momentum_ * velocity - step : of.w + velocity;
}

Kind<OptimizerOptions> sgd_optimizer() {
  return kind<OptimizerKind<Sgd>, OptimizerOptions>();
}

}  // namespace thtrain
