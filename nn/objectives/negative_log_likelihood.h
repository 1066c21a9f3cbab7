// The negative log-likelihood of classes: what a softmax classifier is trained by.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l_i = -log softmax(z_i)[t_i]
///
/// z: the logits of a softmax output, or an output without logits (a linear layer's), [n, classes]; t: classes [n].
/// d l_i / d z_i = softmax(z_i) - onehot(t_i). Finite for every finite z, since log softmax is taken as a whole. A
/// class that is out of range is an error when it is read. PyTorch's cross_entropy; C. M. Bishop, "Pattern Recognition
/// and Machine Learning", 2006, eq. 4.108.
class NegativeLogLikelihood : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "negative_log_likelihood";
    std::unique_ptr<Objective> make() const override;
    bool judges_classifier() const override { return true; }
    static void describe(Fields<Options>& f);
  };
  NegativeLogLikelihood() : NegativeLogLikelihood(Options()) {}
  explicit NegativeLogLikelihood(const Options& options) : Objective(Options::kName, options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses}; }
  /// Of logits their softmax.
  Scores predictions(const ModelOutput& output) const override;
  bool gives_probabilities() const override { return true; }

 protected:
  std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const override;
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;
};

}  // namespace thtrain
