#include "nn/layers/rbm.h"

namespace thtrain {

void Rbm::Options::describe(Fields<Options>& f) {
  f.about(
      "A restricted Boltzmann machine, whose hidden units give sigmoid(x W + b). The objective "
      "`contrastive_divergence` "
      "trains it, and its visible bias a.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("hidden units")
      .required()
      .synonyms({"outputs", "n_hidden", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of hidden units, the columns of W.");
  f.choice("visible", &Options::visible, {{"binary", Visible::kBinary}, {"gaussian", Visible::kGaussian}})
      .help("What its inputs are: numbers from 0 to 1, or any numbers, of variance 1 given the hidden units.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

Rbm::Rbm(const Options& options, const LayerInput& input) : MachineLayer(Options::kName, options, {options.units}) {
  const int64_t length = row_length(Options::kName, options, input);
  check_units(options, options.units, length, input.dtype);
  Tensor w = draw_weights(options.init, length, options.units, input.random);
  machine_.w = add_param("W", w, input.dtype, true).expr();
  machine_.b = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
  machine_.a = add_param("a", Tensor::zeros(input.dtype, {length}), input.dtype, false).expr();
  machine_.is_gaussian = options.visible == Visible::kGaussian;
  add_generators(length, options.units, input.random);
}

Expr Rbm::forward(std::span<const Expr> inputs, LayerPass&) const {
  return machine_.propup(inputs[0]);
}

LayerKind rbm_layer() {
  return layer_kind<Rbm>();
}

}  // namespace thtrain
