// Adam: running means of the gradients and of their squares, corrected for their start at 0.
#pragma once

#include "nn/optimizer.h"

namespace thtrain {

/// With b = `beta1`, c = `beta2` and the number t = 1, 2, ... of the step, elementwise; m, v and u start at 0:
///
///   m <- b m + (1 - b) g
///   v <- c v + (1 - c) g^2
///   W <- W - r / (1 - b^t) m / (sqrt(v) / sqrt(1 - c^t) + epsilon)
///   amsgrad: u <- max(u, v), and u stands for v in the last line
///
/// D. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1. AMSGrad: S. Reddi, S. Kale,
/// S. Kumar, "On the convergence of Adam and beyond", ICLR 2018, algorithm 2, which corrects neither mean; as PyTorch's
/// Adam, which does. TensorFlow has the paper's epsilon hat, which is not divided by sqrt(1 - c^t).
class Adam : public Optimizer {
 public:
  static constexpr std::string_view kName = "adam";
  struct Options {
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    bool amsgrad = false;
    double weight_decay = 0;
    bool decoupled_weight_decay = false;
  };
  static void describe(Fields<OptimizerKind<Adam>>& f);

  /// Numbers: learning_rate, beta1, beta2, epsilon. State: "step", "mean/hidden/W" (m), "square/hidden/W" (v), with
  /// amsgrad "largest_square/hidden/W" (u).
  Adam(const Options& options, std::vector<Param> params);

 protected:
  /// Of a method with other defaults: its name, and options that have been checked.
  template <class Options>
  Adam(std::string_view name, const Options& options, std::vector<Param> params)
      : Optimizer(name, options, std::move(params)) {
    add_numbers(options.beta1, options.beta2, options.epsilon, options.amsgrad);
  }
  Expr step(const ParamStep& of) const override;

 private:
  void add_numbers(double beta1, double beta2, double epsilon, bool amsgrad);

  Expr beta1_, beta2_, epsilon_;
  std::vector<Shared> means_, squares_, largest_squares_;  // m, v, u
};

/// Declares what Adam and AdamW have besides the learning rate and the weight decay.
template <class Table>
void describe_adam(Fields<Table>& f) {
  f.field("beta1", &Table::beta1).range(from_below(0, 1)).help("Decay rate of the running mean of the gradients.");
  f.field("beta2", &Table::beta2).range(from_below(0, 1)).help("Decay rate of the running mean of their squares.");
  f.field("epsilon", &Table::epsilon).range(above(0)).synonyms({"eps"}).help("Added to the root before dividing.");
  f.field("amsgrad", &Table::amsgrad).help("Divide by the root of the largest mean of squares so far (AMSGrad).");
}

}  // namespace thtrain
