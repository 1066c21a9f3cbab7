// A restricted Boltzmann machine for each step of a sequence, whose biases a recurrent network gives.
#pragma once

#include "nn/boltzmann_machine.h"

namespace thtrain {

/// For each step t of a sequence v(1), v(2), ... of binary units, a BoltzmannMachine of the visible units v(t) given
/// the steps before it, with the same W and biases of its own:
///
///   a(t) = a + u(t-1) W_uv,  b(t) = b + u(t-1) W_uh,  u(t) = tanh(b_u + v(t) W_vu + u(t-1) W_uu),  u(0) = 0
///
/// W: [in, units], a: [in], b: [units], W_uh: [recurrent_units, units], W_uv: [recurrent_units, in], W_vu:
/// [in, recurrent_units], W_uu: [recurrent_units, recurrent_units], b_u: [recurrent_units], each "<name>/" and its
/// name. Biases start at 0; W is drawn by `init`, then W_uh, W_uv, W_vu and W_uu are drawn from N(0, recurrent_std).
///
/// u comes from one loop over the steps, in which only the product with W_uu is; all other products, and Gibbs
/// sampling, are of all steps at once, as rows. As a layer it takes sequences [steps, batch, in] and gives P(h(t) = 1 |
/// v(1), ..., v(t)) = sigmoid(v(t) W + b(t)), [steps, batch, units]. Behind a sequence's end (where the mask is 0) u
/// stays as it is. The objective contrastive_divergence trains it.
///
/// N. Boulanger-Lewandowski, Y. Bengio, P. Vincent, "Modeling temporal dependencies in high-dimensional sequences:
/// application to polyphonic music generation and transcription", ICML 2012, in the notation and with the first weights
/// of the Deep Learning Tutorials (rnnrbm).
///
/// UserError: the input is no sequence, or its steps are no rows of numbers.
class RnnRbm : public MachineLayer {
 public:
  struct Options : LayerOptions {
    using Makes = RnnRbm;
    static constexpr std::string_view kName = "rnn_rbm";
    int64_t units = 1;
    int64_t recurrent_units = 1;
    Init init = {.law = Init::Law::kNormal};
    double recurrent_std = 0.0001;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kIsRecurrent = true;
  static constexpr bool kGeneratesSequences = true;
  RnnRbm(const Options& options, const LayerInput& input);

  bool takes_sequences() const override { return true; }
  /// The machines of all steps: of the row t * batch + i, that of step t of sequence i.
  BoltzmannMachine machine(const ModelOutput& output) const override;
  bool is_one_machine() const override { return false; }
  bool is_gaussian() const override { return false; }

  /// v(t) is where so many steps of Gibbs sampling of the machine of step t lead from v = 0.
  GeneratedSequences generate(const Expr& steps, int64_t batch, int64_t gibbs_steps, const Expr& visible_random,
                              const Expr& hidden_random) const override;

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  /// x: [steps, batch, in], mask: [steps, batch] or empty.
  BoltzmannMachine machine_of(const Expr& x, const Expr& mask) const;
  /// The machines after u [n, recurrent_units].
  BoltzmannMachine machine_after(const Expr& u) const;

  Expr w_, a_, b_, w_uh_, w_uv_, w_vu_, w_uu_, b_u_;
};

}  // namespace thtrain
