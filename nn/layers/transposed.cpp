#include "nn/layers/transposed.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/base/nearest_name.h"
#include "compiler/ops/linalg/linalg.h"
#include "nn/activations.h"
#include "nn/layers/dense.h"

namespace thtrain {

void Transposed::Options::describe(Fields<Options>& f) {
  f.about("y = activation(x W^T + b), with the weights W of another layer: an autoencoder's way back.");
  describe_layer(f);
  f.field("of", &Options::of)
      .required()
      .synonyms({"tied_to", "weights_of"})
      .help("Name of the layer before it whose matrix W it takes: a `dense` or `rbm` layer.");
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .help("Function that is applied to each output.");
  f.field("bias", &Options::bias).help("Whether a bias b is added, which starts at 0.");
  describe_trained(f);
}

// W of the layer `of`.
static const Param& matrix_of(const Transposed::Options& options, const LayerInput& input) {
  const std::string start = str("layer ", options.name, " (transposed) takes the weights of ");
  std::vector<std::string> names;
  for (const auto& layer : input.before) {
    names.push_back(layer->name());
    if (layer->name() != options.of) continue;
    for (const Param& param : layer->params())
      if (param.name == str(layer->name(), "/W") && param.variable.type().dims.size() == 2) return param;
    throw UserError(Message{.what = str(start, options.of, ", which has no matrix W"),
                            .expected = "a layer of type \"dense\" or \"rbm\"",
                            .got = str("type = \"", layer->type(), '"'),
                            .config = options.section.at("of")});
  }
  const std::string near = nearest_name(options.of, names);
  throw UserError(Message{.what = str(start, '"', excerpt(options.of), "\", and there is no such layer before it"),
                          .expected = join(names, ", "),
                          .config = options.section.at("of"),
                          .hint = near.empty() ? "" : str("did you mean ", near, '?')});
}

Transposed::Transposed(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {matrix_of(options, input).variable.type().known_shape()[0]}),
      activation_(options.activation),
      w_(matrix_of(options, input).expr()) {
  const int64_t length = row_length(Options::kName, options, input), columns = w_.dims()[1].value();
  if (length != columns)
    fail_layer(Options::kName, options, input, str(columns, " numbers, the units of ", options.of), "");
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {output_shape()[0]}), input.dtype, false).expr();
}

Expr Transposed::forward(std::span<const Expr> inputs, LayerPass&) const {
  return apply_activation(activation_, affine(inputs[0], w_.T(), b_));
}

LayerKind transposed_layer() {
  return layer_kind<Transposed>();
}

}  // namespace thtrain
