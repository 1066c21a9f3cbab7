// Machines of binary hidden units whose visible units are binary or Gaussian: energies and Gibbs sampling of rows.
#pragma once

#include "compiler/ops/random/random.h"
#include "nn/layer.h"
#include "nn/predictions.h"

namespace thtrain {

/// What a step of Gibbs sampling from hidden units back to hidden units gives, and the generators after it.
struct GibbsStep {
  Expr visible_mean;  // E(v | h), [n, visible]
  Expr visible;       // drawn from P(v | h)
  Expr hidden_mean;   // P(h' = 1 | v), [n, hidden]
  Expr hidden;        // drawn from P(h' | v)
  Expr visible_random, hidden_random;
};

/// Restricted Boltzmann machines of one matrix W, of hidden units h [n, hidden] and visible units v [n, visible]:
///
///   E(v, h) = -a v - b h - v W h                    for binary v
///   E(v, h) = |v - a|^2 / 2 - b h - v W h           for v of any numbers, of variance 1 given h (Gaussian)
///
/// With biases [visible] and [hidden] it is one machine; with biases of rows, [n, visible] and [n, hidden], each row of
/// v and h belongs to a machine of its own. Generators are states of MRG31k3p: mrg_state_of().
struct BoltzmannMachine {
  Expr w;  // [visible, hidden]
  Expr a;  // of visible units
  Expr b;  // of hidden units
  bool is_gaussian = false;

  int64_t visible_units() const { return w.dims()[0].value(); }
  int64_t hidden_units() const { return w.dims()[1].value(); }

  /// -log sum over h of exp(-E(v, h)): [n].
  Expr free_energy(const Expr& v) const;
  /// P(h = 1 | v): [n, hidden].
  Expr propup(const Expr& v) const;
  /// E(v | h): [n, visible].
  Expr propdown(const Expr& h) const;
  /// h drawn from P(h | v).
  Drawn sample_hidden(const Expr& v, const Expr& hidden_random) const;
  /// h -> v -> h'.
  GibbsStep gibbs_hvh(const Expr& h, const Expr& visible_random, const Expr& hidden_random) const;
  /// So many steps of it, from h on, in a loop: the last one.
  GibbsStep gibbs_chain(const Expr& h, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const;
  /// v -> h -> v' so many times, in a loop: the last v' and the means that it was drawn from.
  GibbsStep gibbs_vhv(const Expr& v, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const;
  /// visible times the mean over the m rows of `units` of log P(x_i | the other x), an estimate of the sum over all
  /// units, and with all of them the sum itself: x = v rounded to 0 and 1, i = units[j, k] for the row k of v, or
  /// units[j, 0] for all rows; units: integers [m, n] or [m, 1], m known. [n]. Of binary visible units. It takes
  /// m hidden logarithms a row: of a unit that is flipped the other state's energy needs no product of its own.
  Expr pseudo_log_likelihood(const Expr& v, const Expr& units) const;
};

/// Sequences that a MachineLayer draws, and the generators after it.
struct GeneratedSequences {
  Expr visible;  // [steps, batch, in]
  Expr visible_random, hidden_random;
};

/// A layer that is such a machine, or one for each row: what the objective contrastive_divergence trains. Besides its
/// parameters it keeps two generators of random numbers, "<name>/visible_random" and "<name>/hidden_random"; who draws
/// from them updates them.
class MachineLayer : public Layer {
 public:
  static constexpr bool kTakesRows = true;

  /// The machine of the rows that this layer takes in `output`, which it gives; where it is one machine, of any.
  virtual BoltzmannMachine machine(const ModelOutput& output) const = 0;
  /// Is it the same for all rows?
  virtual bool is_one_machine() const = 0;
  virtual bool is_gaussian() const = 0;
  /// Draws `batch` sequences, step by step; of kinds that do (kGeneratesSequences). `steps`: an integer scalar.
  virtual GeneratedSequences generate(const Expr& steps, int64_t batch, int64_t gibbs_steps, const Expr& visible_random,
                                      const Expr& hidden_random) const;
  std::vector<Param> generators() const override { return state(); }
  const Shared& visible_random() const { return *visible_random_; }
  const Shared& hidden_random() const { return *hidden_random_; }

 protected:
  using Layer::Layer;
  /// The generators, seeded by words of `random`: first that of visible units.
  void add_generators(int64_t visible, int64_t hidden, RandomState& random);

 private:
  std::optional<Shared> visible_random_, hidden_random_;
};

}  // namespace thtrain
