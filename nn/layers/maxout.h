// A fully connected layer of which each unit is the largest of several linear pieces.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y_u = max over j of z_(u, j), z = x W + b: a convex function that is learned, in place of a fixed activation.
/// I. Goodfellow, D. Warde-Farley, M. Mirza, A. Courville, Y. Bengio, "Maxout networks", ICML 2013, section 3.
/// x: [batch, in], W: [in, units * pieces] "<name>/W", b: [units * pieces] "<name>/b", y: [batch, units]; column
/// u * pieces + j is piece j of unit u. The derivative goes to the largest piece, and whole to each of equal ones.
/// b starts at 0, W as `init` says, with units * pieces outputs. UserError where one example is not a row of numbers.
class Maxout : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Maxout;
    static constexpr std::string_view kName = "maxout";
    int64_t units = 1;
    int64_t pieces = 2;
    bool bias = true;
    Init init = {};
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesRows = true;
  static constexpr bool kExceedsShares = true;
  Maxout(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t pieces_;
  Expr w_, b_;  // b_ is empty without a bias
};

}  // namespace thtrain
