// The squared error of values.
#pragma once

#include "nn/objective.h"

namespace thtrain {

/// l = (y - t)^2
///
/// y: the value of the output, [n, ...]; t: values of its shape. d l / d y = 2 (y - t). PyTorch's mse_loss; C. F.
/// Gauss, "Theoria motus corporum coelestium", 1809.
class SquaredError : public Objective {
 public:
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "squared_error";
    bool sum_outputs = false;  // l_i = sum_j l_ij
    std::unique_ptr<Objective> make() const override;
    static void describe(Fields<Options>& f);
  };
  SquaredError() : SquaredError(Options()) {}
  explicit SquaredError(const Options& options) : Objective(Options::kName, options), options_(options) {}

  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }

 protected:
  bool sums_outputs() const override { return options_.sum_outputs; }
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const override;

 private:
  Options options_;
};

}  // namespace thtrain
