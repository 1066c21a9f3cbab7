// A fully connected layer.
#pragma once

#include "nn/layer.h"
#include "nn/sparse_examples.h"

namespace thtrain {

/// y = activation(x W + b).
/// x: [batch, in], W: [in, units] "<name>/W", b: [units] "<name>/b", y: [batch, units]; all of one floating dtype.
/// Gradient: dz = dy activation'(z); dW = x^T dz, db = sum of dz over the batch, dx = dz W^T.
/// Of sparse examples, only the rows of W of the columns that are in the minibatch are read, and have a gradient.
/// b starts at 0, W as `init` says. UserError where one example is not a row of numbers.
class Dense : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Dense;
    static constexpr std::string_view kName = "dense";
    int64_t units = 1;
    std::string activation = "linear";  // see nn/activations.h
    bool bias = true;
    Init init = {};
    static void describe(Fields<Options>& f);
    std::optional<int64_t> outputs() const { return units; }
  };
  static constexpr bool kTakesRows = true;
  static constexpr bool kIsAffine = true;
  Dense(const Options& options, const LayerInput& input);

  const std::string& activation() const { return activation_; }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  std::string activation_;
  Expr w_, b_;  // b_ is empty without a bias
};

/// x W + b, or x W where b is empty. Where x is that of `sparse`, the product is SparseExamples::times().
Expr affine(const Expr& x, const Expr& w, const Expr& b, const SparseExamples* sparse = nullptr);

}  // namespace thtrain
