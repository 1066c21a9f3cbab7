#include "nn/layers/dropout.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/noise.h"

namespace thtrain {

void Dropout::Options::describe(Fields<Options>& f) {
  f.about("Leaves elements out at random in training, and scales the others up; otherwise it gives what it takes.");
  describe_layer(f);
  f.field("rate", &Options::rate)
      .range(from_below(0, 1))
      .synonyms({"p", "probability", "dropout", "drop_rate"})
      .help("Probability that an element is left out.");
  describe_noise_seed(f);
}

Dropout::Dropout(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, only_input(Options::kName, options, input)),
      rate_(options.rate),
      random_(add_state("random", mrg_state_of(input.random, mrg_streams_of(output_shape())))) {}

Expr Dropout::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  if (pass.phase != Phase::kTraining || rate_ == 0) return x;
  const Drawn kept = draw_bernoulli(random_, x.dims(), 1 - rate_, x.dtype());
  pass.updates.push_back({random_, kept.next});
  return x * (kept.sample * (1 / (1 - rate_)));
}

LayerKind dropout_layer() {
  return layer_kind<Dropout>();
}

}  // namespace thtrain
