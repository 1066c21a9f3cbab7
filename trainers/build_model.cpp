#include "trainers/build_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/base/nearest_name.h"
#include "datasets/content.h"
#include "datasets/images.h"
#include "datasets/npz.h"

namespace thtrain {

ModelInput model_input(const Experiment& experiment, const Shape& example, bool is_sequence) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  bool takes_rows = false, takes_images = false;
  for (const OneOf<LayerOptions>& layer : layers) {
    const std::vector<std::string>& inputs = layer->inputs;
    const bool takes_examples =
        inputs.empty() ? &layer == &layers.front() : std::count(inputs.begin(), inputs.end(), "x") > 0;
    takes_rows = takes_rows || (takes_examples && layer.kind_of().maker.takes_rows);
    takes_images = takes_images || (takes_examples && layer.kind_of().maker.takes_images);
  }
  ModelInput out{"x", example, is_sequence, is_sequence ? std::nullopt : image_shape(example)};
  if (takes_rows) out.shape = {element_count(example)};
  if (takes_images && !takes_rows && out.image) out.shape = Shape(out.image->begin(), out.image->end());
  return out;
}

ModelInput input_of_rows(const Experiment& experiment, const Shape& rows) {
  const bool is_sequence = experiment.data.has_value() && experiment.data->has_sequences();
  const std::ptrdiff_t outer = is_sequence ? 2 : 1;
  if (std::ssize(rows) < outer)
    throw UserError(Message{.what = "these are no examples for the model",
                            .expected = is_sequence ? "an array of sequences, steps and numbers of a step"
                                                    : "an array of real numbers, one example for each row",
                            .got = str("an array ", shape_text(rows))});
  Shape example(rows.begin() + outer, rows.end());
  if (experiment.data.has_value() && !is_sequence && example.size() == 1 &&
      element_count(experiment.data->image_shape) == example[0] && !experiment.data->image_shape.empty())
    example = experiment.data->image_shape;
  return model_input(experiment, example, is_sequence);
}

Model build_model(const Experiment& experiment, const ModelInput& input, int64_t classes) {
  Model model = Model::with_inputs({input}, experiment.compiler.floatX, experiment.seed, classes);
  const TrainerConfig& trainer = experiment.trainer;
  model.set_batch(trainer.batch_size / std::max<int64_t>(1, trainer.shards));
  for (OneOf<LayerOptions> layer : experiment.model.layers) {
    layer->trained = is_trained(experiment, *layer);
    model.add(std::move(layer));
  }
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
  const bool is_missing =
      std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::not_found;
  if (is_missing) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored))
      if (entry.path().extension() == ".npz") names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(std::filesystem::path(path).filename().string(), names);
    throw file_error(path, "no such file", expected, {},
                     near.empty() ? "" : str("did you mean ", (folder / near).string(), '?'));
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

// Of one layer, or of all of a model.
template <class T>
static std::vector<Param> handed_arrays(const T& of) {
  std::vector<Param> out = of.params();
  std::set<std::string> carried;
  for (const Param& state : of.carried_state()) carried.insert(state.name);
  for (const Param& state : of.state())
    if (!carried.contains(state.name)) out.push_back(state);
  return out;
}

Handed handed_by(const Model& model) {
  Handed out;
  for (const auto& layer : model.layers())
    for (const Param& array : handed_arrays(*layer)) {
      out.shapes[array.name] = array.variable.type().known_shape();
      out.type_of_layer[array.name] = layer->type();
    }
  return out;
}

static bool is_affine(std::string_view type) {
  const std::vector<LayerKind>& kinds = LayerOptions::kinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const LayerKind& kind) { return kind.name == type && kind.maker.is_affine; });
}

void check_handed(const Model& model, const Handed& before, const Experiment& experiment) {
  const std::string own = phase_name(experiment), &earlier = experiment.phase.at(experiment.phase.size() - 2).name;
  const char* hint = "a layer of another name begins with weights of its own";
  for (const auto& layer : model.layers())
    for (const Param& array : handed_arrays(*layer)) {
      auto found = before.shapes.find(array.name);
      if (found == before.shapes.end()) continue;
      const std::string& type = before.type_of_layer.at(array.name);
      if (type != layer->type() && !(is_affine(type) && is_affine(layer->type())))
        throw UserError(Message{
            .what = str("phase ", own, ": ", array.name, " is of a layer of another type than in phase ", earlier),
            .expected = str("type = \"", type, '"'),
            .got = str("type = \"", layer->type(), '"'),
            .config = array.config,
            .hint = hint});
      const Shape shape = array.variable.type().known_shape();
      if (found->second != shape)
        throw UserError(
            Message{.what = str("phase ", own, ": ", array.name, " has another shape than in phase ", earlier),
                    .expected = shape_text(found->second),
                    .got = shape_text(shape),
                    .config = array.config,
                    .hint = hint});
    }
}

void hand_weights(const Model& model, const NamedArrays& arrays) {
  const std::map<std::string, Tensor> given(arrays.begin(), arrays.end());
  for (const Param& array : handed_arrays(model))
    if (auto found = given.find(array.name); found != given.end())
      array.variable.set_value(found->second.cast(array.variable.type().dtype));
}

}  // namespace thtrain
