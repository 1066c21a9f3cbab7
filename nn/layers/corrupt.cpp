#include "nn/layers/corrupt.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/noise.h"

namespace thtrain {

void Corrupt::Options::describe(Fields<Options>& f) {
  f.about("Adds noise in training, for an autoencoder that learns to take it away; otherwise gives what it takes.");
  describe_layer(f);
  f.choice("noise", &Options::noise,
           {{"masking", Noise::kMasking}, {"salt_and_pepper", Noise::kSaltAndPepper}, {"gaussian", Noise::kGaussian}})
      .help("`masking` sets elements to 0, `salt_and_pepper` to 0 or 1, `gaussian` adds normal numbers.");
  f.field("rate", &Options::rate)
      .range(between(0, 1))
      .synonyms({"p", "probability", "corruption_level"})
      .help("Probability that an element is changed by `masking` or `salt_and_pepper`.");
  f.field("deviation", &Options::deviation)
      .range(at_least(0))
      .synonyms({"std", "stdev", "sigma"})
      .help("Standard deviation of `gaussian`.");
  describe_noise_seed(f);
  f.check([](const Options& c, Findings& findings) {
    const bool is_gaussian = c.noise == Noise::kGaussian;
    auto useless = [&](const char* key, const char* expected) {
      findings.add({.what = str(c.section.name_of(key), " has no effect"),
                    .expected = str("noise = ", expected),
                    .config = c.section.at(key)});
    };
    if (is_gaussian && c.rate != Options().rate) useless("rate", "\"masking\" or \"salt_and_pepper\"");
    if (!is_gaussian && c.deviation != Options().deviation) useless("deviation", "\"gaussian\"");
  });
}

Corrupt::Corrupt(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, only_input(Options::kName, options, input)),
      noise_(options.noise),
      rate_(options.rate),
      deviation_(options.deviation),
      random_(add_state("random", mrg_state_of(input.random, mrg_streams_of(output_shape())))) {}

Expr Corrupt::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  const bool is_gaussian = noise_ == Noise::kGaussian;
  if (pass.phase != Phase::kTraining || (is_gaussian ? deviation_ : rate_) == 0) return x;
  if (is_gaussian) {
    const Drawn z = draw_standard_normal(random_, x.dims(), x.dtype());
    pass.updates.push_back({random_, z.next});
    return x + deviation_ * z.sample;
  }
  const Drawn kept = draw_bernoulli(random_, x.dims(), 1 - rate_, x.dtype());
  if (noise_ == Noise::kMasking) {
    pass.updates.push_back({random_, kept.next});
    return x * kept.sample;
  }
  const Drawn salt = draw_bernoulli(kept.next, x.dims(), 0.5, x.dtype());
  pass.updates.push_back({random_, salt.next});
  return where(gt(kept.sample, 0), x, salt.sample);
}

LayerKind corrupt_layer() {
  return layer_kind<Corrupt>();
}

}  // namespace thtrain
