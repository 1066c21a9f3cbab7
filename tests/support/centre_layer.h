// A layer with state, for tests of it: a mean of its own dtype, and a count of minibatches.
#pragma once

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/layer.h"

namespace thtrain {

/// x minus a mean: in training that of the minibatch, which also moves the running mean; in evaluation the running
/// mean. x: [batch, in].
class Centre : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Centre;
    static constexpr std::string_view kName = "centre";
    double rate = 0.25;
    static void describe(Fields<Options>& f) {
      describe_layer(f);
      f.field("rate", &Options::rate).help("Part of the minibatch's mean.");
    }
  };
  static constexpr bool kTakesRows = true;
  Centre(const Options& options, const LayerInput& input)
      : Layer(Options::kName, options, {row_length(Options::kName, options, input)}),
        rate_(options.rate),
        mean_(add_state("mean", Tensor::zeros(DType::kFloat64, output_shape()))),
        count_(add_state("count", Tensor(int64_t{0}))) {}

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override {
    const Expr& x = inputs[0];
    if (pass.phase == Phase::kEvaluation) return x - cast(mean_.expr(), x.dtype());
    Expr of_batch = mean(x, 0);
    pass.updates.push_back({mean_, mean_ + rate_ * (cast(of_batch, DType::kFloat64) - mean_)});
    pass.updates.push_back({count_, count_ + int64_t{1}});
    return x - of_batch;
  }

 private:
  double rate_;
  Shared mean_, count_;
};

}  // namespace thtrain
