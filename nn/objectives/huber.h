// The error of values that is squared where it is small and absolute where it is large.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l = (y - t)^2 / 2 where |y - t| <= delta, delta (|y - t| - delta / 2) elsewhere
///
/// y: the value of the output, [n, ...]; t: values of its shape. d l / d y = y - t, moved into [-delta, delta].
/// Computed as c (|y - t| - c / 2) with c = min(|y - t|, delta), which does not overflow. PyTorch's huber_loss; P. J.
/// Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35, 1964.
class Huber : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "huber";
    double delta = 1;
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  Huber() : Huber(Options()) {}
  explicit Huber(const Options& options) : Objective(Options::kName, options), options_(options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }

 protected:
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
