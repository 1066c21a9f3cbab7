// A rectifier whose slope for negative numbers is learned.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = x where x > 0, else a x. K. He, X. Zhang, S. Ren, J. Sun, "Delving deep into rectifiers", ICCV 2015, eq. 1.
/// x and y: [batch, ...] of one shape; a "<name>/slope": the lengths of one example, or a scalar where it is shared.
/// Gradient: dx = dy where x > 0, else a dy; da = sum of dy x where x <= 0. No penalty of [loss] counts a, as the paper
/// recommends (section 2.1).
class Prelu : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Prelu;
    static constexpr std::string_view kName = "prelu";
    double slope = 0.25;  // what a starts at
    bool shared = false;  // one a for all elements
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kExceedsShares = true;
  Prelu(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Expr slope_;
};

}  // namespace thtrain
