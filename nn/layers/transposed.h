// A layer with the transposed weights of another one: the decoder of an autoencoder with tied weights.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = activation(x W^T + b), W: [out, in] that of the layer `of`, which precedes it.
/// x: [batch, in], b: [out] "<name>/b", which starts at 0, y: [batch, out]. Both layers train W: its gradient is the
/// sum of dW of the layer `of` and dz^T x, dz = dy activation'(z). UserError where there is no such layer, it has no
/// matrix, or x has another length than W has columns.
class Transposed : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Transposed;
    static constexpr std::string_view kName = "transposed";
    std::string of;
    std::string activation = "linear";  // see nn/activations.h
    bool bias = true;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesRows = true;
  Transposed(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  std::string activation_;
  Expr w_, b_;  // w_: of the other layer; b_ is empty without a bias
};

}  // namespace thtrain
