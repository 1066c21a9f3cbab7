// The absolute error of values.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l = |y - t|
///
/// y: the value of the output, [n, ...]; t: values of its shape. d l / d y = sign(y - t), 0 at y = t. PyTorch's
/// l1_loss; R. Koenker, G. Bassett, "Regression quantiles", Econometrica 46, 1978.
class AbsoluteError : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "absolute_error";
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  AbsoluteError() : AbsoluteError(Options()) {}
  explicit AbsoluteError(const Options& options) : Objective(Options::kName, options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }

 protected:
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;
};

}  // namespace thtrain
