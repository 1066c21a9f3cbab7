// What trains a restricted Boltzmann machine.
#pragma once

#include "nn/boltzmann_machine.h"
#include "nn/objective.h"

namespace thtrain {

/// Descends along the gradient of
///
///   mean over the examples v of F(v) - mean over the chains' ends v' of F(v')
///
/// where F is the free energy of the machine of the layer that is judged (MachineLayer), and v' is held constant. A
/// chain of k steps of Gibbs sampling begins at hidden units drawn from P(h | v) (CD-k), or where the step before left
/// it (persistent: PCD-k, with as many chains as the first minibatch has examples, whose hidden units begin at 0; they
/// are the objective's state; only for an rbm layer). The layer's parameters alone are trained; what precedes it
/// is left alone.
///
/// Of sequences, the steps are the examples: those behind a sequence's end do not count. Where each step has biases of
/// its own (rnn_rbm), all chains run next to each other, and the gradient goes through the biases back to earlier
/// steps.
///
/// What is shown is another number, in nats: of binary visible units minus the pseudo-likelihood, sum_i log P(x_i | the
/// other x); of Gaussian ones half the squared distance between v and its reconstruction, summed over the units. A step
/// of training takes one unit of each example, in * log P(x_i | the other x), the next ones of a fixed random order in
/// the next step (where it has arrived is the objective's state too), and for Gaussian units the means of the chain's
/// end, or with persistent chains, which have other examples, E(v' | E(h | v)). On examples that are not trained on
/// (`losses`) all units are taken where in * units is at most 20,000, or a chunk of n examples has at most 100,000
/// pairs of an example and a unit (n = 1,000 where it is not known); else m = 100,000 / n units of each example, those
/// at the positions m k to m k + m - 1, modulo in, of that order for the example k of the chunk, so that each unit is
/// taken as often as any other. Of Gaussian units E(v' | E(h | v)). Weights of examples are not looked at
/// (check_machines refuses them).
///
/// G. Hinton, "Training products of experts by minimizing contrastive divergence", 2002; T. Tieleman, "Training
/// restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008; the pseudo-likelihood:
/// J. Besag, "Statistical analysis of non-lattice data", The Statistician 24(3), 1975, and as an estimate from one unit
/// a step in the Deep Learning Tutorials (rbm).
class ContrastiveDivergence : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "contrastive_divergence";
    int64_t k = 1;
    bool persistent = false;
    std::unique_ptr<Objective> make() const override;
    bool trains_machine() const override { return true; }
    static void describe(Fields<Options>& f);
  };
  ContrastiveDivergence() : ContrastiveDivergence(Options()) {}
  explicit ContrastiveDivergence(const Options& options) : Objective(Options::kName, options), options_(options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kNone}; }
  /// UserError where the judged layer is no MachineLayer, or is not trained.
  ObjectiveStep step(const ObjectiveInput& input) override;
  /// "chains", float [chains, hidden], of persistent chains, and "bit", int64, the unit of the next step, of binary
  /// visible units; none before the first step.
  std::vector<std::pair<std::string, Shared>> state() const override;
  /// Persistent chains stay persistent, and are as many as a minibatch has examples.
  std::optional<Message> misfit_of_state(const std::vector<std::pair<std::string, Tensor>>& kept) const override;

 protected:
  std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const override;
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  Expr shown(const BoltzmannMachine& machine, const Expr& v, const Expr& mask, const GibbsStep& end,
             std::vector<Update>& updates) const;

  Options options_;
  std::optional<Shared> chains_, bit_;
};

}  // namespace thtrain
