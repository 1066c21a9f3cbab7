#include "trainers/build_model.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "datasets/content.h"
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

// A matrix that no memory of this machine holds is no matter of how much is free just now.
static void check_units(const InitConfig& c, int64_t units, int64_t inputs, DType floatx) {
  double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double bytes = static_cast<double>(inputs) * static_cast<double>(units) * static_cast<double>(size_of(floatx));
  if (bytes <= memory) return;
  auto gibibytes = [](double count) { return number_text(std::round(count / (1 << 30))); };
  throw UserError(
      Message{.what = str(c.name_of("units"), " is too large: its weights do not fit into this machine"),
              .expected = str("at most ", gibibytes(memory), " GiB (all of its memory)"),
              .got = str(units, " units with ", inputs, " inputs: ", gibibytes(bytes), " GiB of ", name_of(floatx)),
              .config = c.at("units")});
}

Shape model_input(const Experiment& experiment, const Shape& example) {
  const LayerConfig& first = experiment.model.layers.front();
  bool rows = std::holds_alternative<DenseConfig>(first) || std::holds_alternative<SoftmaxConfig>(first);
  return rows ? Shape{element_count(example)} : example;
}

Model build_model(const Experiment& experiment, const Shape& input, int64_t classes) {
  Model model(input, experiment.compiler.floatX, experiment.seed);
  auto options_of = [](const auto& c) { return LayerOptions{.name = c.name, .position = c.position}; };
  int64_t inputs = element_count(input);
  auto add = [&](const auto& c) {
    using Config = std::decay_t<decltype(c)>;
    if constexpr (std::is_same_v<Config, DenseConfig> || std::is_same_v<Config, SoftmaxConfig>) {
      int64_t units = 0;
      if constexpr (std::is_same_v<Config, DenseConfig>)
        units = c.units;
      else
        units = class_count(c, classes);
      check_units(c, units, inputs, experiment.compiler.floatX);
      inputs = units;
    }
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

// A file that is no archive at all.
static void check_weights_file(const std::string& path) {
  const char* what = "these are no weights";
  const char* expected = "an .npz file that training wrote: best.npz in the folder of a run";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::string best = (std::filesystem::path(path) / "best.npz").string();
    const bool has_best = std::filesystem::exists(best, ignored);
    throw file_error(path, what, expected, "a folder", has_best ? str("did you mean ", best, '?') : "");
  }
  const std::string beginning = InputFile(path).beginning();
  const Content content = content_of(beginning);
  if (content != Content::kZip) throw file_error(path, what, expected, content_text(beginning));
}

std::map<std::string, Tensor> read_weights(const std::string& path, const ConfigPosition& where) {
  try {
    check_weights_file(path);
    NpzFile file(path);
    std::map<std::string, Tensor> out;
    for (const std::string& name : file.names())
      if (!name.starts_with("run.")) out[name] = file.read(name);
    return out;
  } catch (const UserError& error) {
    throw placed(error, where);
  }
}

void load_first_weights(Model& model, const Experiment& experiment, const std::string& config_folder) {
  if (!experiment.model.weights) return;
  std::string path = *with_absolute_paths(experiment, config_folder).model.weights;
  const ConfigPosition& where = experiment.model.at("weights");
  model.load(read_weights(path, where), path, where);
}

}  // namespace thtrain
