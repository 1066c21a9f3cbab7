// Stochastic gradient descent, with momentum in two forms.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With g = d cost / d W, learning rate r and momentum m:
///
///   plain      W <- W - r g
///   momentum   v <- m v - r g,  W <- W + v
///   nesterov   v <- m v - r g,  W <- W + m v - r g      (the new v on the right)
///
/// W, v and g have one shape; v starts at 0. Momentum: B. Polyak, "Some methods of speeding up the convergence of
/// iteration methods", 1964. Nesterov's: I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of
/// initialization and momentum in deep learning", ICML 2013, eq. 3 and 4, with W as the point where the gradient is
/// taken, as Y. Bengio, N. Boulanger- Lewandowski, R. Pascanu, "Advances in optimizing recurrent networks", ICASSP
/// 2013, eq. 7 writes it. PyTorch has v <- m v + g and W <- W - r v: the same weights while r stays as it is; where r
/// changes, its earlier steps go on with the new r, and here with theirs.
class Sgd : public Optimizer {
 public:
  static constexpr std::string_view kName = "sgd";
  struct Options {
    double learning_rate = 0.01;
    double momentum = 0;  // 0 leaves the velocities out of the program
    bool nesterov = false;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<Sgd>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, momentum. State: "velocity/hidden/W"; nothing without momentum.
  Sgd(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  bool nesterov_;
  Expr momentum_;                   // empty where it is 0
  std::vector<Shared> velocities_;  // v
};

}  // namespace thtrain
