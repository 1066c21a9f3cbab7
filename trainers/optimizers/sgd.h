// Stochastic gradient descent, with momentum in two forms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "nn/param.h"

namespace thtrain {

/// With g = d cost / d W, learning rate r and momentum m:
///
///   plain      W <- W - r g
///   momentum   v <- m v - r g,  W <- W + v
///   nesterov   v <- m v - r g,  W <- W + m v - r g      (the new v on the right)
///
/// W, v and g have one shape; v starts at 0. Momentum: B. Polyak, "Some methods of speeding up the convergence of
/// iteration methods", 1964. Nesterov's: I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of
/// initialization and momentum in deep learning", ICML 2013, eq. 3 and 4, with W standing where the gradient is taken,
/// as Y. Bengio, N. Boulanger- Lewandowski, R. Pascanu, "Advances in optimizing recurrent networks", ICASSP 2013, eq. 7
/// writes it.
class Sgd {
 public:
  struct Options {
    double learning_rate = 0.01;
    double momentum = 0;
    bool nesterov = false;
  };
  /// The learning rate and the momentum are shared scalars of the parameters' dtype: other values need no other
  /// program.
  Sgd(const Options& options, std::vector<Param> params);

  /// Of the parameters, and of the velocities where there is a momentum. `cost` is a scalar that all parameters reach.
  std::vector<Update> updates(const Expr& cost) const;
  /// What a checkpoint keeps: "velocity/hidden/W"; nothing without momentum.
  const std::vector<std::pair<std::string, Shared>>& state() const { return velocities_; }
  const Shared& learning_rate() const { return learning_rate_; }

 private:
  std::vector<Param> params_;
  bool has_momentum_, nesterov_;
  Shared learning_rate_, momentum_;
  std::vector<std::pair<std::string, Shared>> velocities_;
};

}  // namespace thtrain
