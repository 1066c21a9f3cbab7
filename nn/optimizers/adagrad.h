// AdaGrad: a learning rate for each weight, which falls with the squares of its gradients.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// s <- s + g^2,  W <- W - r g / (sqrt(s) + epsilon), elementwise; s starts at `initial_square`.
///
/// J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR
/// 12, 2011, figure 1 with diagonal matrices; the paper has delta + sqrt(s). As PyTorch's Adagrad without lr_decay,
/// for which there is the schedule one_over_epoch; TensorFlow 1 starts s at 0.1 and has no epsilon.
class Adagrad : public Optimizer {
 public:
  static constexpr std::string_view kName = "adagrad";
  struct Options {
    double learning_rate = 0.01;
    double epsilon = 1e-10;
    double initial_square = 0;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  using Table = OptimizerKind<Adagrad>;
  static void describe(Fields<Table>& f);

  /// Numbers: learning_rate, epsilon. State: "square/hidden/W".
  Adagrad(const Options& options, std::vector<Param> params);

 protected:
  Expr step(const ParamStep& of) const override;

 private:
  Expr epsilon_;
  std::vector<Shared> squares_;  // s
};

}  // namespace thtrain
