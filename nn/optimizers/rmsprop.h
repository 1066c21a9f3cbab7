// RMSProp: gradients divided by the root of a running mean of their squares.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With a = `rho` and m = `momentum`, elementwise; every state starts at 0:
///
///   s <- a s + (1 - a) g^2
///   plain      d = sqrt(s) + epsilon
///   centered   c <- a c + (1 - a) g,  d = sqrt(max(s - c^2, 0)) + epsilon
///   without momentum   W <- W - r g / d
///   with momentum      v <- m v + g / d,  W <- W - r v
///
/// T. Tieleman, G. Hinton, "Lecture 6.5 - rmsprop", COURSERA: Neural networks for machine learning, 2012. Centered, and
/// with momentum: A. Graves, "Generating sequences with recurrent neural networks", 2013, eq. 38 to 45, which have
/// epsilon below the root and r in v. As PyTorch's RMSprop; TensorFlow has epsilon below the root and v <- m v + r g /
/// d. The maximum is ours: rounding may make s - c^2 negative, and PyTorch's weight a NaN.
class RmsProp : public Optimizer {
 public:
  static constexpr std::string_view kName = "rmsprop";
  struct Options {
    double learning_rate = 0.01;
    double rho = 0.99;
    double epsilon = 1e-8;
    double momentum = 0;  // 0 leaves the velocities out of the program
    bool centered = false;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<RmsProp>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, rho, epsilon, momentum. State: "square/hidden/W", centered "mean/hidden/W", with
  /// momentum "velocity/hidden/W".
  RmsProp(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  Expr rho_, epsilon_, momentum_;                     // momentum_ is empty where it is 0
  std::vector<Shared> squares_, means_, velocities_;  // s, c, v
};

}  // namespace thtrain
