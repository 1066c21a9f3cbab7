// RAdam: Adam that waits with its division until the mean of squares can be trusted.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With b = `beta1`, c = `beta2`, n = 2 / (1 - c) - 1 and the number t = 1, 2, ... of the step, elementwise; m and v
/// start at 0:
///
///   m <- b m + (1 - b) g,  v <- c v + (1 - c) g^2,  n_t = n - 2 t c^t / (1 - c^t)
///   W <- W - r m / (1 - b^t) s_t sqrt(1 - c^t) / (sqrt(v) + epsilon)       where n_t > 5,
///     with s_t^2 = (n_t - 4) (n_t - 2) n / ((n - 4) (n - 2) n_t)
///   W <- W - r m / (1 - b^t)                                               before that
///
/// L. Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020, algorithm 2, whose bound is 4.
/// As PyTorch's RAdam.
class RAdam : public Optimizer {
 public:
  static constexpr std::string_view kName = "radam";
  struct Options {
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<RAdam>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, beta1, beta2, epsilon. State: "step", "mean/hidden/W" (m), "square/hidden/W" (v).
  RAdam(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  Expr beta1_, beta2_, epsilon_;
  std::vector<Shared> means_, squares_;  // m, v
};

}  // namespace thtrain
