// Normalizations: over a batch, for training and for evaluation; over the last axes of each example; over neighbouring
// channels.
#pragma once

#include <optional>

#include "compiler/ops/operand.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

/// Averages over the batches of a training: what an evaluation normalizes with. `factor` is the part of a new batch.
struct RunningMoments {
  Expr mean, variance;
  double factor = 0.1;
};

/// What a batch normalization gives for training: the output has the shape of x, the others have the lengths of the
/// axes that stay. The running averages are empty where none were given; they have no derivatives worth taking: a
/// function has them as updates.
struct BatchNormalization {
  Expr output, mean, inverse_deviation, running_mean, running_variance;
};

/// output = scale (x - mean) / sqrt(variance + epsilon) + shift, with mean and variance of x over `axes`: {0} for rows
/// of features, {0, 2, 3} for images [N, C, H, W]; none given: all. Ioffe and Szegedy, "Batch Normalization" (2015),
/// algorithm 1; defaults as Theano's. x: float32 or float64. Scale, shift and the running averages have the lengths of
/// the axes that stay (here [C]), or are scalars that stand for all. The variance is sum((x - mean)^2) / m of m
/// elements; inverse_deviation is 1 / sqrt(variance + epsilon). running_mean = (1 - factor) mean before + factor mean;
/// running_variance the same with the unbiased variance, sum((x - mean)^2) / max(m - 1, 1). UserError: another dtype,
/// an axis that is not there, other lengths, an epsilon that is not positive.
BatchNormalization batch_normalization_training(const Operand& x, const Operand& scale, const Operand& shift,
                                                const Axes& axes, const std::optional<RunningMoments>& running = {},
                                                double epsilon = 1e-4);

/// scale (x - mean) / sqrt(variance + epsilon) + shift with a mean and a variance that are given, as running averages.
/// Shapes and errors as batch_normalization_training's.
Expr batch_normalization_evaluation(const Operand& x, const Operand& scale, const Operand& shift, const Operand& mean,
                                    const Operand& variance, const Axes& axes, double epsilon = 1e-4);

/// (x - mean) / sqrt(variance + epsilon), with mean and variance of each example over its last `count` axes. Ba, Kiros
/// and Hinton, "Layer Normalization" (2016), equation 4, without gain and bias: these broadcast over the result. x:
/// float32 or float64. UserError: another dtype, a count that is not from 1 to the rank of x.
Expr layer_normalization(const Operand& x, int64_t count = 1, double epsilon = 1e-5);

/// The constants of a local response normalization, and over how many channels it goes.
struct LocalResponse {
  int64_t channels = 5;
  double k = 2, alpha = 1e-4, beta = 0.75;
};

/// x / (k + alpha s)^beta, s the sum of x^2 over `channels` neighbouring channels of x [N, C, ...]: from c -
/// channels / 2 (rounded down) on, those that exist. Krizhevsky, Sutskever and Hinton, "ImageNet Classification with
/// Deep Convolutional Neural Networks" (2012), section 3.3: alpha is not divided by the number of channels, as
/// PyTorch's is. x: float32 or float64. UserError: another dtype, fewer than 2 axes, fewer than 1 channel.
Expr local_response_normalization(const Operand& x, const LocalResponse& response = {});

}  // namespace thtrain
