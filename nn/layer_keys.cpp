// The keys that many layers have.
#include "nn/layer.h"

namespace thtrain {

void describe_layer(Fields<LayerOptions> f) {
  const auto keys = f.group("every layer");
  f.field("name", &LayerOptions::name)
      .help(
          "Name of the layer in messages and of its weights in files: at most 1000 letters, digits, `_` and `-`. "
          "Empty: its type and a number.");
  f.field("inputs", &LayerOptions::inputs)
      .synonyms({"input", "inbound", "bottom"})
      .help("Names of the layers before it that it takes; `x` are the examples. Empty: the layer before it.");
  f.check(check_layer_name);
}

void describe_trained(Fields<LayerOptions> f) {
  const auto keys = f.group("training of the weights");
  f.field("trained", &LayerOptions::trained)
      .synonyms({"trainable", "requires_grad"})
      .help("Whether training changes its weights; without it they stay as they start.");
  f.field("rate_factor", &LayerOptions::rate_factor)
      .range(at_least(0))
      .synonyms({"lr_mult", "lr_factor", "learning_rate_factor"})
      .help("Factor of `trainer.learning_rate` for this layer; a batch method has no learning rate.");
}

void describe_init(Fields<LayerOptions> f, Init LayerOptions::*init) {
  const auto keys = f.group("initial weights");
  using Law = Init::Law;
  Fields<Init> start = f.part(init);
  start
      .choice("init", &Init::law,
              {{"glorot_uniform", Law::kGlorotUniform},
               {"glorot_normal", Law::kGlorotNormal},
               {"he_uniform", Law::kHeUniform},
               {"he_normal", Law::kHeNormal},
               {"normal", Law::kNormal},
               {"uniform", Law::kUniform},
               {"orthogonal", Law::kOrthogonal},
               {"constant", Law::kConstant},
               {"zeros", Law::kZeros}})
      .help("How the weights start; biases start at 0.");
  start.field("init_scale", &Init::scale)
      .range(above(0))
      .help("Factor of the weights of `glorot_*`, `he_*` and `orthogonal`.");
  start.field("init_std", &Init::deviation).range(above(0)).help("Standard deviation of `normal`.");
  start.field("init_range", &Init::range).range(above(0)).help("`uniform` draws from minus this to this.");
  start.field("init_value", &Init::value).help("Value of `constant`.");
  f.field("weight_decay", &LayerOptions::weight_decay)
      .range(at_least(0))
      .synonyms({"decay_mult"})
      .help("Weight decay of this layer's matrix. Not given: `trainer.weight_decay`.");
  f.field("seed", &LayerOptions::seed)
      .range(between(0, kLargestSeed))
      .help(
          "Seed of this layer alone. Not given: the layers draw one after the other from one generator, which begins "
          "with the experiment's seed.");
  f.check([init, &standard = start.defaults()](const LayerOptions& c, Findings& findings) {
    check_init(c.section, c.*init, standard, findings);
  });
}

void describe_noise_seed(Fields<LayerOptions> f) {
  f.field("seed", &LayerOptions::seed)
      .range(between(0, kLargestSeed))
      .help("Seed of this layer's random numbers alone. Not given: they follow from the experiment's seed.");
}

}  // namespace thtrain
