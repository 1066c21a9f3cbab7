// AdaMax: Adam with a running maximum instead of the mean of squares.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With b = `beta1`, c = `beta2` and the number t = 1, 2, ... of the step, elementwise; m and u start at 0:
///
///   m <- b m + (1 - b) g
///   u <- max(c u, |g| + epsilon)
///   W <- W - r / (1 - b^t) m / u
///
/// D. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 2, which has no epsilon. As
/// PyTorch's Adamax; TensorFlow divides by u + epsilon.
class AdaMax : public Optimizer {
 public:
  static constexpr std::string_view kName = "adamax";
  struct Options {
    double learning_rate = 0.002;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<AdaMax>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, beta1, beta2, epsilon. State: "step", "mean/hidden/W" (m), "largest/hidden/W" (u).
  AdaMax(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  Expr beta1_, beta2_, epsilon_;
  std::vector<Shared> means_, largest_;  // m, u
};

}  // namespace thtrain
