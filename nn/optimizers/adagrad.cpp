#include "nn/optimizers/adagrad.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Adagrad::describe(Fields<Table>& f) {
  f.about("AdaGrad: the learning rate of each weight falls with the squares of its gradients.");
  describe_rate_and_decay(f);
  f.field("epsilon", &Table::epsilon)
      .range(above(0))
      .synonyms({"eps"})
      .help("Added to the root of the sum of squares before dividing.");
  f.field("initial_square", &Table::initial_square)
      .range(at_least(0))
      .synonyms({"initial_accumulator_value"})
      .help("Where the sums of squares start.");
}

Adagrad::Adagrad(const Options& options, std::vector<Param> params) : Optimizer(kName, options, std::move(params)) {
  check_options<Table>(kName, options);
  epsilon_ = add_number("epsilon", options.epsilon);
  squares_ = add_state("square", options.initial_square);
}

Expr Adagrad::step(const ParamStep& of) const {
  Expr square = of.old(squares_) + sqr(of.gradient);
  of.update(squares_, square);
  return of.w - of.rate * of.gradient / (sqrt(square) + epsilon_);
}

Kind<OptimizerOptions> adagrad_optimizer() {
  return kind<OptimizerKind<Adagrad>, OptimizerOptions>();
}

}  // namespace thtrain
