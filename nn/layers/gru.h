// A recurrent layer with gated units.
#pragma once

#include "nn/recurrent.h"

namespace thtrain {

/// A recurrent layer whose gates say how much of the state is kept, and how much of it a new value is made of:
///
///   [r, z, n] = x_t W + b, in this order of columns, as those of U = [U_r, U_z, U_n]
///   r_t = sigmoid(r + h_(t-1) U_r),  z_t = sigmoid(z + h_(t-1) U_z)
///   n_t = tanh(n + r_t (h_(t-1) U_n + b_n))  with reset_after, else  tanh(n + (r_t h_(t-1)) U_n)
///   h_t = (1 - z_t) n_t + z_t h_(t-1)
///
/// K. Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine translation",
/// EMNLP 2014, eq. 5 to 8, without reset_after; PyTorch's nn.GRU with it, whose biases of r and of z are one each here.
/// b_n: [units] "<name>/b_n", starts at 0. With reset_after a step has one product, else two. Weights, states and the
/// loop: see Recurrent; the state is h.
class Gru : public Recurrent {
 public:
  struct Options : RecurrentOptions {
    using Makes = Gru;
    static constexpr std::string_view kName = "gru";
    bool reset_after = true;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kExceedsShares = true;
  Gru(const Options& options, const LayerInput& input);

 protected:
  std::vector<Expr> step(const Expr& z, const std::vector<Expr>& before) const override;

 private:
  bool reset_after_;
  Expr b_n_;  // empty without a bias
};

/// The key `reset_after`.
template <class T>
FieldBuilder describe_reset_after(Fields<T>& f) {
  return f.field("reset_after", &T::reset_after)
      .help(
          "Whether the reset gate acts on the product with the state, as PyTorch has it, or on the state before the "
          "product, as the paper has it.");
}

}  // namespace thtrain
