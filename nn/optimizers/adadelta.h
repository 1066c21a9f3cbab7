// AdaDelta: steps in the units of the weights, from running means of squares of gradients and of steps.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With a = `rho`, elementwise; s and u start at 0:
///
///   s <- a s + (1 - a) g^2
///   d = sqrt(u + epsilon) / sqrt(s + epsilon) g      (the old u)
///   u <- a u + (1 - a) d^2
///   W <- W - r d
///
/// M. Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1, where r is 1. As PyTorch's Adadelta:
/// u has the step without r.
class AdaDelta : public Optimizer {
 public:
  static constexpr std::string_view kName = "adadelta";
  struct Options {
    double learning_rate = 1;
    double rho = 0.9;
    double epsilon = 1e-6;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<AdaDelta>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, rho, epsilon. State: "square/hidden/W" (s), "step_square/hidden/W" (u).
  AdaDelta(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  Expr rho_, epsilon_;
  std::vector<Shared> squares_, step_squares_;  // s, u
};

}  // namespace thtrain
