#include "nn/layers/batch_norm.h"

#include "compiler/ops/nnet/normalization.h"
#include "nn/activations.h"

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

Expr BatchNorm::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  const Axes axes = is_image(output_shape()) ? Axes{0, 2, 3} : Axes{0};
  Expr y;
  if (pass.phase == Phase::kTraining) {
    const RunningMoments running{.mean = mean_.expr(), .variance = variance_.expr(), .factor = rate_};
    BatchNormalization out = batch_normalization_training(x, factor_, shift_, axes, running, epsilon_);
    pass.updates.push_back({mean_, out.running_mean});
    pass.updates.push_back({variance_, out.running_variance});
    y = out.output;
  } else {
    y = batch_normalization_evaluation(x, factor_, shift_, mean_.expr(), variance_.expr(), axes, epsilon_);
  }
  return apply_activation(activation_, y);
}

LayerKind batch_norm_layer() {
  return layer_kind<BatchNorm>();
}

}  // namespace thtrain
