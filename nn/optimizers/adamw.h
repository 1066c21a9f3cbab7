// AdamW: Adam with decoupled weight decay.
#pragma once

#include "nn/optimizers/adam.h"

namespace thtrain {

/// W <- W - r d W before Adam's step, d = `weight_decay`; see Adam and Optimizer.
///
/// I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2. As PyTorch's AdamW, whose
/// decay is multiplied by the learning rate and not, as in the paper, by the schedule's factor alone; and which decays
/// biases too.
class AdamW : public Adam {
 public:
  static constexpr std::string_view kName = "adamw";
  struct Options {
    static constexpr bool kDecoupledWeightDecay = true;
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    bool amsgrad = false;
    double weight_decay = 0.01;
  };
  static void describe(Fields<OptimizerKind<AdamW>>& f);

  /// Numbers and state are Adam's, and the number weight_decay.
  AdamW(const Options& options, std::vector<Param> params);
};

}  // namespace thtrain
