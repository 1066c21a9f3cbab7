// Dropout: units that are left out at random while a model learns.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// In training y = m x / (1 - rate), where each element of m is 0 with the probability `rate` and else 1, so that the
/// mean of y is x; otherwise y = x ("inverted" dropout). x and y: [batch, ...] of one shape. dx = m dy / (1 - rate). It
/// keeps a generator of random numbers, "<name>/random" (nn/noise.h). N. Srivastava, G. Hinton, A. Krizhevsky, I.
/// Sutskever, R. Salakhutdinov, "Dropout: a simple way to prevent neural networks from overfitting", 2014.
class Dropout : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Dropout;
    static constexpr std::string_view kName = "dropout";
    double rate = 0.5;
    static void describe(Fields<Options>& f);
  };
  Dropout(const Options& options, const LayerInput& input);
  std::vector<Param> generators() const override { return state(); }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  double rate_;
  Shared random_;
};

}  // namespace thtrain
