// A recurrent layer without gates.
#pragma once

#include "nn/recurrent.h"

namespace thtrain {

/// h_t = activation(x_t W + b + h_(t-1) U)
///
/// J. L. Elman, "Finding structure in time", Cognitive Science 14, 1990; PyTorch's nn.RNN, whose two biases are one
/// here. Weights, states and the loop: see Recurrent; the state is h.
class Rnn : public Recurrent {
 public:
  struct Options : RecurrentOptions {
    using Makes = Rnn;
    static constexpr std::string_view kName = "rnn";
    std::string activation = "tanh";  // see nn/activations.h
    static void describe(Fields<Options>& f);
  };
  Rnn(const Options& options, const LayerInput& input);

 protected:
  std::vector<Expr> step(const Expr& z, const std::vector<Expr>& before) const override;

 private:
  std::string activation_;
};

}  // namespace thtrain
