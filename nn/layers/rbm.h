// A restricted Boltzmann machine.
#pragma once

#include "compiler/ops/random/random.h"
#include "nn/layer.h"

namespace thtrain {

/// What a step of Gibbs sampling from hidden units back to hidden units gives, and the generators after it.
struct GibbsStep {
  Expr visible_input;  // h W^T + a: what the means are the sigmoid of where visible units are binary
  Expr visible_mean;   // E(v | h), [n, visible]
  Expr visible;        // drawn from P(v | h)
  Expr hidden_mean;    // P(h' = 1 | v), [n, hidden]
  Expr hidden;         // drawn from P(h' | v)
  Expr visible_random, hidden_random;
};

/// Binary hidden units h [n, units] and visible units v [n, in] of the energy
///
///   E(v, h) = -a v - b h - v W h                    for binary v
///   E(v, h) = |v - a|^2 / 2 - b h - v W h           for v of any numbers, of variance 1 given h (Gaussian)
///
/// W: [in, units] "<name>/W", b: [units] "<name>/b", a: [in] "<name>/a"; a and b start at 0. As a layer of a model it
/// gives P(h = 1 | v) = sigmoid(v W + b), [n, units], so that machines and other layers stand on it; a plays no part in
/// that. Only the objective contrastive_divergence trains a. Beside them it keeps two generators of random numbers,
/// "<name>/visible_random" and "<name>/hidden_random". Y. Bengio, "Learning deep architectures for AI", 2009, chapter
/// 5; G. Hinton, "A practical guide to training restricted Boltzmann machines", 2010 (section 13.2: Gaussian units).
class Rbm : public Layer {
 public:
  enum class Visible { kBinary, kGaussian };
  struct Options : LayerOptions {
    using Makes = Rbm;
    static constexpr std::string_view kName = "rbm";
    int64_t units = 1;
    Visible visible = Visible::kBinary;
    Init init = {.scale = 4};  // as the Deep Learning Tutorials start it: for sigmoids four times what is for tanh
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesRows = true;
  Rbm(const Options& options, const LayerInput& input);

  bool is_gaussian() const { return visible_ == Visible::kGaussian; }
  int64_t visible_units() const { return length_; }
  int64_t hidden_units() const { return output_shape()[0]; }
  const Expr& w() const { return w_; }
  const Expr& hidden_bias() const { return b_; }
  const Expr& visible_bias() const { return a_; }
  /// States of MRG31k3p: mrg_state_of(). Who draws from them updates them.
  const Shared& visible_random() const { return *visible_random_; }
  const Shared& hidden_random() const { return *hidden_random_; }

  /// -log sum over h of exp(-E(v, h)): [n].
  Expr free_energy(const Expr& v) const;
  /// P(h = 1 | v): [n, units].
  Expr propup(const Expr& v) const;
  /// E(v | h): [n, in].
  Expr propdown(const Expr& h) const;
  /// h drawn from P(h | v).
  Drawn sample_hidden(const Expr& v, const Expr& hidden_random) const;
  /// h -> v -> h'.
  GibbsStep gibbs_hvh(const Expr& h, const Expr& visible_random, const Expr& hidden_random) const;
  /// So many steps of it, from h on, in a loop: the last one.
  GibbsStep gibbs_chain(const Expr& h, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const;
  /// v -> h -> v' so many times, in a loop: the last v' and the means that it was drawn from.
  GibbsStep gibbs_vhv(const Expr& v, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const;
  /// in * log P(x_i | the other x), an estimate of sum_i log P(x_i | the others): x = v rounded to 0 and 1, i = bits[k]
  /// for the row k, or bits[0] for all rows; bits: integers [n] or [1]. [n]. Of binary visible units.
  Expr pseudo_log_likelihood(const Expr& v, const Expr& bits) const;

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Drawn sample_visible(const Expr& mean, const Expr& visible_random) const;

  Visible visible_;
  int64_t length_;
  Expr w_, b_, a_;
  std::optional<Shared> visible_random_, hidden_random_;
};

}  // namespace thtrain
