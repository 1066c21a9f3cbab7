#include "trainers/load_data.h"

#include <algorithm>
#include <filesystem>

#include "datasets/class_names.h"
#include "datasets/load.h"
#include "datasets/locate.h"
#include "datasets/npz.h"
#include "datasets/sources/npy.h"
#include "trainers/image_data.h"

namespace thtrain {

// The folder that a path starts from: the working folder for one that was typed.
static std::string start_of(const ConfigPosition& where, const std::string& config_folder) {
  return where.file == kCommandLine ? "" : config_folder;
}

// "a.npz[x]" is looked for as a.npz.
static std::string absolute_path(const std::string& path, const ConfigPosition& where,
                                 const std::string& config_folder) {
  ArrayPath parts(path);
  std::string found = find_data_file(parts.file, start_of(where, config_folder), true, where);
  // Without the ".gz" that only this search put there.
  if (found.ends_with(".gz") && !parts.file.ends_with(".gz")) found.resize(found.size() - 3);
  found = std::filesystem::absolute(found).lexically_normal().string();
  return parts.name.empty() ? found : str(found, '[', parts.name, ']');
}

std::vector<std::string> named_files(const Experiment& experiment) {
  std::vector<std::string> out;
  OneOf<DataConfig> data = experiment.data;
  for (const DataFile& file : data->all_files()) out.push_back(ArrayPath(*file.path).file);
  if (experiment.model.weights) out.push_back(ArrayPath(*experiment.model.weights).file);
  return out;
}

// Does an output learn label sequences? Then arrays in files hold those.
static bool learns_label_sequences(const Experiment& experiment) {
  const std::vector<OutputLossConfig> outputs = output_losses(experiment);
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputLossConfig& output) {
    const std::vector<TargetForm> forms = output.objective->make()->target_forms();
    return output.compare_with == CompareWith::kTargets && forms == std::vector{TargetForm::kLabelSequences};
  });
}

Dataset load_data(const Experiment& experiment, const std::string& config_folder) {
  OneOf<DataConfig> data = experiment.data;
  DatasetOptions options{.name = std::string(data.name()), .where = data->position, .config_folder = config_folder};
  data->fill(options);
  options.crop = crop_of(experiment);
  if (data.is<NpyConfig>() && options.targets == Targets::kClasses && learns_label_sequences(experiment))
    options.targets = Targets::kLabelSequences;
  for (const DataFile& file : data->all_files()) {
    const ConfigPosition& where = data->at(file.key);
    options.files[file.part] = {absolute_path(*file.path, where, config_folder), where};
  }
  if (auto names = options.files.find("class_names"); names != options.files.end()) {
    options.class_names = read_class_names(names->second.path, names->second.where);
    options.class_names_where = names->second.where;
    options.files.erase(names);
  }
  return load_dataset(options, experiment.compiler.floatX);
}

std::vector<std::string> class_names_of(const Experiment& experiment, const std::string& config_folder) {
  const DataConfig& data = *experiment.data;
  if (!data.class_names_file) return data.class_names;
  const ConfigPosition& where = data.at("class_names_file");
  return read_class_names(absolute_path(*data.class_names_file, where, config_folder), where);
}

static void make_candidate_files_absolute(Experiment& experiment, const std::string& config_folder) {
  for (std::string& path : experiment.compiler.candidate_files)
    path = std::filesystem::absolute(std::filesystem::path(config_folder) / path).lexically_normal().string();
}

// The files of a phase that is over may be gone.
static Experiment phase_with_absolute_paths(const Experiment& phase, const std::string& config_folder) {
  Experiment out = phase;
  auto make_absolute = [&](std::string& path, const ConfigPosition& where) {
    if (!path.starts_with('/')) path = absolute_path(path, where, config_folder);
  };
  for (const DataFile& file : out.data->all_files()) make_absolute(*file.path, out.data->at(file.key));
  if (out.model.weights) make_absolute(*out.model.weights, out.model.at("weights"));
  make_candidate_files_absolute(out, config_folder);
  return out;
}

Experiment with_absolute_paths(const Experiment& experiment, const std::string& config_folder) {
  Experiment out = experiment;
  for (const DataFile& file : out.data->all_files())
    *file.path = absolute_path(*file.path, out.data->at(file.key), config_folder);
  if (out.model.weights) out.model.weights = absolute_path(*out.model.weights, out.model.at("weights"), config_folder);
  make_candidate_files_absolute(out, config_folder);
  for (Experiment& phase : out.phases) phase = phase_with_absolute_paths(phase, config_folder);
  return out;
}

}  // namespace thtrain
