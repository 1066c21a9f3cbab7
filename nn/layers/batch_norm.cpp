#include "nn/layers/batch_norm.h"

#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/normalization.h"
#include "compiler/ops/nnet/normalize.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/activations.h"
#include "nn/minibatch_sum.h"

namespace thtrain {

void BatchNorm::Options::describe(Fields<Options>& f) {
  f.about(
      "y = activation(g (x - mean) / sqrt(variance + epsilon) + b), with mean and variance of the minibatch in "
      "training, and running averages of them otherwise: of each channel of images, or of each number of an example.");
  describe_layer(f);
  f.field("rate", &Options::rate)
      .range({.low = 0, .high = 1, .low_excluded = true})
      .synonyms({"momentum", "running_average_factor", "running_factor"})
      .help("Part of the running averages that each minibatch of training replaces.");
  f.field("epsilon", &Options::epsilon).range(above(0)).synonyms({"eps"}).help("Added to the variance.");
  f.field("affine", &Options::affine).help("Whether there are a factor g and a shift b that are learned.");
  f.field("sync", &Options::sync)
      .synonyms({"synchronized", "sync_bn"})
      .help("With trainer.shards: whether mean and variance are those of the whole minibatch, not of each shard.");
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .help("Function that is applied to each output.");
  describe_trained(f);
}

static const Shape& normalized_shape(const BatchNorm::Options& options, const LayerInput& input) {
  const Shape& shape = only_input(BatchNorm::Options::kName, options, input);
  if (input.has_sequence())
    fail_layer(BatchNorm::Options::kName, options, input, "examples that are no sequences",
               "a layer of type \"layer_norm\" normalizes each step by itself");
  return shape;
}

// Of an example: images have moments for each channel.
static bool is_image(const Shape& example) {
  return example.size() == 3;
}
static Shape moment_shape(const Shape& example) {
  return is_image(example) ? Shape{example[0]} : example;
}

static Tensor tensor_of_ones(const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = 1;
  return out;
}

BatchNorm::BatchNorm(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, normalized_shape(options, input)),
      rate_(options.rate),
      epsilon_(options.epsilon),
      sync_(options.sync),
      activation_(options.activation),
      mean_(add_state("mean", Tensor::zeros(input.dtype, moment_shape(output_shape())))),
      variance_(add_state("variance", tensor_of_ones(moment_shape(output_shape())).cast(input.dtype))) {
  const Shape lengths = moment_shape(output_shape());
  if (options.affine) {
    factor_ = add_param("g", tensor_of_ones(lengths), input.dtype, false).expr();
    shift_ = add_param("b", Tensor::zeros(input.dtype, lengths), input.dtype, false).expr();
  } else {
    factor_ = make_constant(tensor_of_ones({}).cast(input.dtype));
    shift_ = make_constant(Tensor::zeros(input.dtype, {}));
  }
}

static Axes axes_of(const Shape& example) {
  return is_image(example) ? Axes{0, 2, 3} : Axes{0};
}

BatchNorm::Normalized BatchNorm::over_shard(const Expr& x) const {
  const RunningMoments running{.mean = mean_.expr(), .variance = variance_.expr(), .factor = rate_};
  const BatchNormalization out =
      batch_normalization_training(x, factor_, shift_, axes_of(output_shape()), running, epsilon_);
  return {out.output, out.running_mean, out.running_variance};
}

// The shards meet twice, with their sums and with their sums of squares around the common mean, which cancel nothing;
// and twice in the backward pass, for the derivatives by both.
BatchNorm::Normalized BatchNorm::over_minibatch(const Expr& x) const {
  const Axes axes = axes_of(output_shape());
  const Shape lengths = moment_shape(output_shape());
  const Dims dims(lengths.begin(), lengths.end());
  Dim elements = x.dims()[0];
  if (is_image(output_shape())) elements = elements * x.dims()[2] * x.dims()[3];
  const Expr own = flatten(sum(x, axes)), count = reshape(count_as(x.dtype(), elements), {1});
  const Expr sums = minibatch_sum(concatenate({own, count}), name() + "/sums");
  const int64_t moments = element_count(lengths);
  const Expr all = stop_gradient(sums[moments]);
  const Expr mean = reshape(slice_axis(sums, 0, 0, moments) / all, dims);
  Ints order;
  for (size_t axis = 0; axis < x.rank(); ++axis)
    order.push_back(is_image(output_shape()) ? (axis == 1 ? 0 : -1) : static_cast<int64_t>(axis) - 1);
  const Expr distance = x - dimshuffle(mean, order);
  const Expr squares = minibatch_sum(sum(distance * distance, axes), name() + "/squares");
  const Expr variance = squares / all;
  auto updated = [&](const Shared& before, const Expr& now) { return before.expr() * (1 - rate_) + now * rate_; };
  return {batch_normalization_evaluation(x, factor_, shift_, mean, variance, axes, epsilon_), updated(mean_, mean),
          updated(variance_, squares / maximum(all - 1, 1))};
}

Expr BatchNorm::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  Expr y;
  if (pass.phase == Phase::kTraining) {
    const Normalized out = sync_ && pass.is_shard ? over_minibatch(x) : over_shard(x);
    pass.updates.push_back({mean_, out.running_mean});
    pass.updates.push_back({variance_, out.running_variance});
    y = out.output;
  } else {
    y = batch_normalization_evaluation(x, factor_, shift_, mean_.expr(), variance_.expr(), axes_of(output_shape()),
                                       epsilon_);
  }
  return apply_activation(activation_, y);
}

LayerKind batch_norm_layer() {
  return layer_kind<BatchNorm>();
}

}  // namespace thtrain
