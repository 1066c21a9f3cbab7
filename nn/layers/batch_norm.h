// Batch normalization, over rows of features or over the channels of images.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = activation(g (x - mean) / sqrt(variance + epsilon) + b). In training mean and variance are those of the
/// minibatch, for each channel of images [batch, channels, height, width] over batch, rows and columns, for each
/// element of other examples over the batch; otherwise they are running averages, "<name>/mean" and "<name>/variance",
/// which start at 0 and 1 and in each training step become (1 - rate) before + rate of the minibatch (its variance
/// unbiased, sum((x - mean)^2) / (count - 1)). S. Ioffe, C. Szegedy, "Batch normalization: accelerating deep network
/// training by reducing internal covariate shift", ICML 2015, algorithms 1 and 2; PyTorch's BatchNorm1d and 2d.
/// x and y: [batch, ...] of one shape; "<name>/g" and "<name>/b" start at 1 and 0. Gradients go through mean and
/// variance of the minibatch. Where minibatches are computed in shards, "the minibatch" is the shard, or with `sync`
/// all of it. No penalty of [loss] counts g or b. UserError for sequences.
class BatchNorm : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = BatchNorm;
    static constexpr std::string_view kName = "batch_norm";
    double rate = 0.1;
    double epsilon = 1e-5;
    bool affine = true;                 // are there g and b?
    std::string activation = "linear";  // see nn/activations.h
    bool sync = false;                  // are moments those of all shards?
    static void describe(Fields<Options>& f);
  };
  BatchNorm(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  struct Normalized {
    Expr output, running_mean, running_variance;
  };
  Normalized over_shard(const Expr& x) const;
  Normalized over_minibatch(const Expr& x) const;

  double rate_, epsilon_;
  bool sync_;
  std::string activation_;
  Shared mean_, variance_;
  Expr factor_, shift_;
};

}  // namespace thtrain
