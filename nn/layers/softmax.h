// The classifier at the end of a model.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// p = softmax(z), z = x W + b: the probability of each class.
/// x: [batch, in], W: [in, classes] "<name>/W", b: [classes] "<name>/b", z and p: [batch, classes].
/// Losses are built from z (nn/losses.h), which keeps them exact where a p rounds to 0.
/// W and b start at 0 unless `init` says otherwise. UserError where one example is not a row of numbers, and where
/// there are fewer units than classes in the data.
class Softmax : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Softmax;
    static constexpr std::string_view kName = "softmax";
    std::optional<int64_t> units = {};  // the number of classes; none: that of the data
    bool bias = true;
    Init init = {.law = Init::Law::kZeros};
    static void describe(Fields<Options>& f);
    std::optional<int64_t> outputs() const { return units; }
  };
  static constexpr bool kTakesRows = true;
  static constexpr bool kIsClassifier = true;
  static constexpr bool kIsAffine = true;
  Softmax(const Options& options, const LayerInput& input);

  int64_t classes() const { return output_shape()[0]; }
  Expr logits(const Expr& x, const SparseExamples* sparse) const override;

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Expr w_, b_;
};

}  // namespace thtrain
