// A restricted Boltzmann machine.
#pragma once

#include "nn/boltzmann_machine.h"

namespace thtrain {

/// One BoltzmannMachine of binary hidden units, and of visible units [n, in] that are binary or Gaussian.
///
/// W: [in, units] "<name>/W", b: [units] "<name>/b", a: [in] "<name>/a"; a and b start at 0. As a layer of a model it
/// gives P(h = 1 | v) = sigmoid(v W + b), [n, units], so that machines and other layers can be put on it; a plays no
/// part in that. Only the objective contrastive_divergence trains a. Y. Bengio, "Learning deep architectures for AI",
/// 2009, chapter 5; G. Hinton, "A practical guide to training restricted Boltzmann machines", 2010 (section 13.2:
/// Gaussian units).
class Rbm : public MachineLayer {
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
  static constexpr bool kIsAffine = true;
  Rbm(const Options& options, const LayerInput& input);

  const BoltzmannMachine& machine() const { return machine_; }
  BoltzmannMachine machine(const ModelOutput&) const override { return machine_; }
  bool is_one_machine() const override { return true; }
  bool is_gaussian() const override { return machine_.is_gaussian; }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  BoltzmannMachine machine_;
};

}  // namespace thtrain
