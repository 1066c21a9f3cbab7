#include "trainers/build_model.h"

#include "datasets/npz.h"
#include "trainers/load_data.h"

namespace thtrain {

static Init init_of(const InitConfig& c) {
  auto law = [&] {
    using Config = InitConfig::Init;
    switch (c.init) {
      case Config::kGlorotUniform:
        return Init::Law::kGlorotUniform;
      case Config::kGlorotNormal:
        return Init::Law::kGlorotNormal;
      case Config::kHeUniform:
        return Init::Law::kHeUniform;
      case Config::kHeNormal:
        return Init::Law::kHeNormal;
      case Config::kNormal:
        return Init::Law::kNormal;
      case Config::kUniform:
        return Init::Law::kUniform;
      case Config::kOrthogonal:
        return Init::Law::kOrthogonal;
      case Config::kConstant:
        return Init::Law::kConstant;
      case Config::kZeros:
        return Init::Law::kZeros;
    }
    return Init::Law::kZeros;
  };
  return {.law = law(), .scale = c.init_scale, .deviation = c.init_std, .range = c.init_range, .value = c.init_value};
}

static int64_t class_count(const SoftmaxConfig& c, int64_t classes) {
  if (!c.units && classes == 0)
    throw UserError(Message{.what = str("layer ", c.name, ": the number of classes is not known"),
                            .expected = str(c.name_of("units"), ", or data with labels"),
                            .config = c.position});
  if (c.units && *c.units < classes)
    throw UserError(Message{.what = str(c.name_of("units"), " is below the number of classes in the data"),
                            .expected = str("at least ", classes, " (classes)"),
                            .got = std::to_string(*c.units),
                            .config = c.at("units"),
                            .hint = "without units the layer takes as many as the data has"});
  return c.units.value_or(std::max<int64_t>(classes, 2));
}

Shape model_input(const Experiment& experiment, const Shape& example) {
  const LayerConfig& first = experiment.model.layers.front();
  bool rows = std::holds_alternative<DenseConfig>(first) || std::holds_alternative<SoftmaxConfig>(first);
  return rows ? Shape{element_count(example)} : example;
}

Model build_model(const Experiment& experiment, const Shape& input, int64_t classes) {
  Model model(input, experiment.compiler.floatX, experiment.seed);
  auto options_of = [](const auto& c) { return LayerOptions{.name = c.name, .position = c.position}; };
  auto add = [&](const auto& c) {
    using Config = std::decay_t<decltype(c)>;
    if constexpr (std::is_same_v<Config, DenseConfig>)
      model.add(Dense::Options{options_of(c), c.units, c.activation, c.bias, init_of(c)}, c.seed);
    else if constexpr (std::is_same_v<Config, SoftmaxConfig>)
      model.add(Softmax::Options{options_of(c), class_count(c, classes), c.bias, init_of(c)}, c.seed);
    else if constexpr (std::is_same_v<Config, ActivationConfig>)
      model.add(Activation::Options{options_of(c), c.activation});
    else
      model.add(Flatten::Options{options_of(c)});
  };
  for (const LayerConfig& layer : experiment.model.layers) std::visit(add, layer);
  return model;
}

std::map<std::string, Tensor> read_weights(const std::string& path) {
  NpzFile file(path);
  std::map<std::string, Tensor> out;
  for (const std::string& name : file.names())
    if (!name.starts_with("run.")) out[name] = file.read(name);
  return out;
}

void load_first_weights(Model& model, const Experiment& experiment, const std::string& config_folder) {
  if (!experiment.model.weights) return;
  std::string path = *with_absolute_paths(experiment, config_folder).model.weights;
  model.load(read_weights(path), path, experiment.model.at("weights"));
}

}  // namespace thtrain
