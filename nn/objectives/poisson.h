// The negative log-likelihood of counts under Poisson distributions.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l = exp(y) - t y, without log(t!), which no weight changes
///
/// y: the value of the output, [n, ...], the logarithm of the rate; t: counts of its shape, 0 or more. d l / d y =
/// exp(y) - t. Scores are the rates exp(y). PyTorch's poisson_nll_loss with log_input, not full; P. McCullagh, J. A.
/// Nelder, "Generalized linear models", 1983.
class Poisson : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "poisson";
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  Poisson() : Poisson(Options()) {}
  explicit Poisson(const Options& options) : Objective(Options::kName, options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }
  Scores scores(const ModelOutput& output) const override;

 protected:
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;
};

}  // namespace thtrain
