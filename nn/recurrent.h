// What recurrent layers share: their options, weights and states, and the loop over the steps of sequences.
#pragma once

#include <string>
#include <vector>

#include "nn/layer.h"

namespace thtrain {

/// How the matrix U [units, units] of each gate starts, times a scale.
enum class RecurrentInit {
  /// The law of Init::kOrthogonal: a product with it keeps lengths.
  kOrthogonal,
  /// U(-1 / sqrt(units), 1 / sqrt(units)), as PyTorch's recurrent layers.
  kUniform,
  /// 1 on the diagonal. Q. V. Le, N. Jaitly, G. E. Hinton, "A simple way to initialize recurrent networks of rectified
  /// linear units", 2015.
  kIdentity,
};

/// What a recurrent layer gives.
enum class RecurrentOutput {
  kAll,   // its output at every step: a sequence
  kLast,  // that of the last step that it walks
};

/// The options of every recurrent layer.
struct RecurrentOptions : LayerOptions {
  int64_t units = 1;
  Init init = {};
  RecurrentInit recurrent_init = RecurrentInit::kOrthogonal;
  double recurrent_scale = 1;
  bool bias = true;
  RecurrentOutput output = RecurrentOutput::kAll;
  bool go_backwards = false;
  bool carry = false;
  std::optional<int64_t> truncate = {};

  /// Carries its state. UserError where it walks backwards.
  void go_step_by_step(const std::string& what);
};

/// A layer that walks sequences x_t [batch, in] step by step, and goes from state to state [batch, units]:
///
///   z_t = x_t W + b,  s_t = step(z_t, s_(t-1)),  s_0 = 0,  the output at step t is the first state
///
/// x: [steps, batch, in], W: [in, gates * units] "<name>/W", U: [units, gates * units] "<name>/U", b: [gates * units]
/// "<name>/b"; all of one floating dtype. The output is [steps, batch, units], or [batch, units] for kLast. x W + b is
/// one product for all steps; only what needs the state is in the loop. Each gate's block of W and of U is drawn as a
/// matrix of its own, first those of W, in the order of the gates; b starts at 0. Behind the end of a sequence (where
/// the mask is 0) states stay as they are, so that kLast gives the state at each sequence's own end.
///
/// go_backwards: steps are walked from the last to the first; the output stays in the order of the input, so that it
/// has at step t what was made of the steps from t on. The padding comes first then, and leaves the states at 0.
/// truncate: gradients go back through so many steps, the last ones that are walked (ScanOptions::truncate_gradient).
/// carry: in training and generation the states begin as the minibatch before it left them, in "<name>/h" (and
/// others), [batch, units]; gradients do not go back there. Evaluation begins with zeros.
///
/// UserError: the input is no sequence, or its steps are no rows of numbers; `carry` where the size of minibatches is
/// not known, and with go_backwards.
class Recurrent : public Layer {
 public:
  static constexpr bool kTakesRows = true;
  static constexpr bool kIsRecurrent = true;
  bool takes_sequences() const override { return true; }
  bool gives_sequence() const override { return output_ == RecurrentOutput::kAll; }
  std::vector<Param> carried_state() const override { return state(); }

 protected:
  /// `gates`: blocks of columns of the weights. `states`: names of the states, the output's first.
  Recurrent(std::string_view type, const RecurrentOptions& options, const LayerInput& input, int64_t gates,
            std::vector<std::string> states);

  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;
  /// The states after a step: z [batch, gates * units], and before it, each [batch, units].
  virtual std::vector<Expr> step(const Expr& z, const std::vector<Expr>& before) const = 0;

  int64_t units() const { return output_shape()[0]; }
  const Expr& u() const { return u_; }
  /// Columns number * units to (number + 1) * units of z [batch, gates * units].
  Expr gate(const Expr& z, int64_t number) const;

 private:
  RecurrentOutput output_;
  bool go_backwards_;
  int64_t truncate_;  // -1: not
  std::vector<std::string> states_;
  std::vector<Shared> carried_;  // none without `carry`
  Expr w_, u_, b_;               // b_ is empty without a bias
};

// ---- what recurrent layers declare ----------------------------------------------------------------------------------

/// The size and the weights: keys that a layer of several directions has too.
void describe_recurrent_weights(Fields<RecurrentOptions> f);
/// The keys of a recurrent layer of one direction.
void describe_recurrent(Fields<RecurrentOptions> f);

}  // namespace thtrain
