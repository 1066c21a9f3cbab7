#include "trainers/build_model.h"

#include <algorithm>
#include <filesystem>

#include "datasets/content.h"
#include "datasets/npz.h"
#include "trainers/data_state.h"
#include "trainers/load_data.h"

namespace thtrain {

Shape model_input(const Experiment& experiment, const Shape& example) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  auto wants_rows = [&](const OneOf<LayerOptions>& layer) {
    const std::vector<std::string>& inputs = layer->inputs;
    const bool takes_examples =
        inputs.empty() ? &layer == &layers.front() : std::count(inputs.begin(), inputs.end(), "x") > 0;
    return takes_examples && layer.kind_of().maker.takes_rows;
  };
  return std::any_of(layers.begin(), layers.end(), wants_rows) ? Shape{element_count(example)} : example;
}

Model build_model(const Experiment& experiment, const Shape& input, int64_t classes) {
  Model model(input, experiment.compiler.floatX, experiment.seed, classes);
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) model.add(layer);
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
  std::map<std::string, Tensor> arrays = read_weights(path, where);
  take_standardization(arrays, path);  // the new run's data is its own
  model.load(arrays, path, where);
}

}  // namespace thtrain
