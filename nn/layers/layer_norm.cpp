#include "nn/layers/layer_norm.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/normalization.h"

namespace thtrain {

void LayerNorm::Options::describe(Fields<Options>& f) {
  f.about("y = g (x - mean) / sqrt(variance + epsilon) + b, with mean and variance of each example, or of each step.");
  describe_layer(f);
  f.field("axes", &Options::axes)
      .range(at_least(1))
      .help("How many last axes of an example are normalized together. Not given: all.");
  f.field("epsilon", &Options::epsilon).range(above(0)).synonyms({"eps"}).help("Added to the variance.");
  f.field("affine", &Options::affine)
      .synonyms({"elementwise_affine"})
      .help("Whether there are a factor g and a shift b of each element that are learned.");
  describe_trained(f);
}

static const Shape& normalized_shape(const LayerNorm::Options& options, const LayerInput& input) {
  const Shape& shape = only_input(LayerNorm::Options::kName, options, input);
  const int64_t least = options.axes.value_or(1);
  if (std::ssize(shape) < least)
    fail_layer(LayerNorm::Options::kName, options, input,
               str(input.has_sequence() ? "steps" : "examples", " of at least ", least, least == 1 ? " axis" : " axes"),
               "");
  return shape;
}

LayerNorm::LayerNorm(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, normalized_shape(options, input)),
      axes_(options.axes.value_or(std::ssize(output_shape()))),
      epsilon_(options.epsilon) {
  if (!options.affine) return;
  const Shape lengths(output_shape().end() - axes_, output_shape().end());
  Tensor ones = Tensor::empty(DType::kFloat64, lengths);
  for (int64_t i = 0; i < ones.size(); ++i) ones.data<double>()[i] = 1;
  factor_ = add_param("g", ones, input.dtype, false).expr();
  shift_ = add_param("b", Tensor::zeros(input.dtype, lengths), input.dtype, false).expr();
}

Expr LayerNorm::forward(std::span<const Expr> inputs, LayerPass&) const {
  const Expr y = layer_normalization(inputs[0], axes_, epsilon_);
  return factor_.has_value() ? factor_ * y + shift_ : y;
}

LayerKind layer_norm_layer() {
  return layer_kind<LayerNorm>();
}

}  // namespace thtrain
