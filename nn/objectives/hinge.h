// The hinge loss of support vector machines: of several classes, of two, and of several labels.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// Several classes:   l_i = max(0, margin + max_{j != t_i} z_ij - z_i,t_i)
/// Two, or labels:    l = max(0, margin - s z), s = 1 where t > 0, else -1
///
/// z: the logits of a softmax or sigmoid, or an output without logits (a linear layer's). Several classes: z [n,
/// classes], t classes [n]. Two: z [n, 1], t classes [n], 0 or 1 (an error when it is read otherwise). Labels: t values
/// of the shape of z, 0 and 1 or -1 and 1. Where l > 0, dz is 1 at the first of the largest other scores and -1 at the
/// class's own; -s of two; else 0. `squared` squares l. K. Crammer, Y. Singer, "On the algorithmic implementation of
/// multiclass kernel-based vector machines", JMLR 2, 2001; C. Cortes, V. Vapnik, "Support-vector networks",
/// Machine Learning 20, 1995. scikit-learn's hinge_loss.
class Hinge : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "hinge";
    double margin = 1;
    bool squared = false;
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  Hinge() : Hinge(Options()) {}
  explicit Hinge(const Options& options) : Objective(Options::kName, options), options_(options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kClasses, TargetForm::kValues}; }
  Scores scores(const ModelOutput& output) const override;

 protected:
  std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const override;
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
