// Connectionist temporal classification: labels in their order, without saying at which steps.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l_i = -log of the sum, over all paths that spell the labels of sequence i, of the products of their probabilities
///
/// as ctc() of compiler/ops/nnet/ctc.h, which has the formula, its source and its errors. z: the logits of a softmax
/// output of sequences, or an output without logits (a linear layer's), [steps * batch, classes]; labels: int64
/// [batch, L], classes other than the blank; -1 or blanks follow the last one. The cost is the mean over sequences.
class Ctc : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "ctc";
    int64_t blank = 0;
    std::unique_ptr<Objective> make() const override;
    std::optional<int64_t> blank_label() const override { return blank; }
    static void describe(Fields<Options>& f);
  };
  Ctc() : Ctc(Options()) {}
  explicit Ctc(const Options& options)
      : Objective(Options::kName, options), blank_(options.blank), blank_position_(options.at("blank")) {}

  int64_t blank() const { return blank_; }
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kLabelSequences}; }

 protected:
  std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const override;
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  int64_t blank_;
  ConfigPosition blank_position_;
};

}  // namespace thtrain
