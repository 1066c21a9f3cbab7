// The cross-entropy of yes and no: of one class against another, or of several labels.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l = -(p t log sigmoid(z) + (1 - t) log(1 - sigmoid(z))) = p t softplus(-z) + (1 - t) softplus(z)
///
/// z: the logits of a sigmoid output, or an output without logits (a linear layer's). Values: t of the shape of z, from
/// 0 to 1, one for each label (multi-label) or pixel. Classes: t [n], 0 or 1, of a single z, [n, 1]; another class is
/// an error when it is read. p: pos_weight, of the last axis. d l / d z = (1 - t) sigmoid(z) - p t sigmoid(-z), without
/// p sigmoid(z) - t. Finite for every finite z. PyTorch's binary_cross_entropy_with_logits; C. M. Bishop, "Pattern
/// Recognition and Machine Learning", 2006, eq. 4.90.
class BinaryCrossentropy : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "binary_crossentropy";
    /// What a yes counts against a no: one number, or one for each label; empty: 1.
    std::vector<double> pos_weight;
    bool sum_outputs = false;  // l_i = sum_j l_ij
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  BinaryCrossentropy() : BinaryCrossentropy(Options()) {}
  explicit BinaryCrossentropy(const Options& options) : Objective(Options::kName, options), options_(options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues, TargetForm::kClasses}; }
  Scores scores(const ModelOutput& output) const override;
  bool gives_probabilities() const override { return true; }

 protected:
  std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const override;
  bool sums_outputs() const override { return options_.sum_outputs; }
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
