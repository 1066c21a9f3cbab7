#include "cli/load_experiment.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/config_bases.h"
#include "cli/overrides.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/nearest_name.h"
#include "datasets/warnings.h"
#include "trainers/config_edits.h"
#include "trainers/load_data.h"
#include "trainers/model_warnings.h"
#include "trainers/replaced_kinds.h"

namespace thtrain {

namespace fs = std::filesystem;

// It is of files alone: what is typed goes over the file already.
static void refuse_base(ConfigNode& root, Findings& findings) {
  const ConfigNode* base = root.find("_base_");
  if (!base) return;
  findings.add({.what = "_base_ belongs in experiment files only",
                .config = base->key_position,
                .hint = "name one file on the command line, which names the others by _base_"});
  std::erase_if(root.children, [](const ConfigNode& entry) { return entry.key == "_base_"; });
}

// The file may have keys of an optimizer, or another kind, that the command line replaces; a run's has them all.
static Experiment read(const std::string& file, const std::vector<std::string>& overrides) {
  Findings findings;
  ConfigNode root = read_config(file, findings);
  const ConfigNode before = root;
  apply_overrides(root, overrides, findings);
  refuse_base(root, findings);
  drop_replaced_kinds(before, root);
  Experiment experiment = read_experiment(root, findings);
  findings.raise();
  return experiment;
}

LoadedExperiment load_experiment(const std::string& config, const std::vector<std::string>& overrides) {
  std::error_code error;
  std::string folder = fs::absolute(config, error).lexically_normal().parent_path().string();
  if (error)
    throw UserError(Message{.what = "the working folder is gone", .hint = "go to a folder that exists, and try again"});
  return {with_absolute_paths(read(config, overrides), folder), config, folder, {}};
}

static LoadedExperiment load(const RunFolder& run, const std::string& config_folder,
                             const std::vector<std::string>& overrides) {
  Experiment experiment = read(run.config(), overrides);
  // The run's own paths are absolute, and may be gone where they are not needed any more.
  if (!overrides.empty()) experiment = with_absolute_paths(experiment, config_folder);
  return {experiment, run.config(), config_folder, run};
}

LoadedExperiment load_run(const std::string& folder, const std::vector<std::string>& overrides) {
  const RunFolder run = RunFolder::open(folder);
  return load(run, run.facts().config_folder, overrides);
}

LoadedExperiment load_run_to_use(const std::string& folder, const std::vector<std::string>& overrides) {
  std::string trouble;
  const RunFolder run = RunFolder::open_without_facts(folder, trouble);
  std::string config_folder = run.facts().config_folder;
  if (!trouble.empty()) {
    const bool is_unknown = config_folder.empty();
    std::fprintf(
        stderr, "warning: %s: the command line of the run and how it ended are not known%s\n",
        printable(trouble).c_str(),
        is_unknown ? ", nor is the folder of its experiment: data is looked for in the working folder instead" : "");
    std::error_code ignored;
    if (is_unknown) config_folder = fs::current_path(ignored).string();
  }
  return load(run, config_folder, overrides);
}

LoadedExperiment load_experiment_or_run(const std::string& path, const std::vector<std::string>& overrides) {
  std::error_code error;
  if (fs::is_directory(path, error)) return load_run_to_use(path, overrides);
  const bool is_missing = fs::status(path, error).type() == fs::file_type::not_found;
  if (is_missing && !path.ends_with(".toml")) {
    const fs::path folder = fs::path(path).parent_path();
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::erase(names, fs::path(path).filename().string());  // a link that leads nowhere
    const std::string near = nearest_name(fs::path(path).filename().string(), names), target = target_of_link(path);
    throw UserError(
        {.what = str("cannot read ", path),
         .expected = "a TOML file, or the folder of a run",
         .got = target.empty() ? "no such file or folder" : str("a link to ", target, ", which is not there"),
         .hint = near.empty() ? "" : str("did you mean ", (folder / near).string(), "?")});
  }
  return load_experiment(path, overrides);
}

void take_phase(LoadedExperiment& loaded, const std::string& name) {
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const PhaseConfig& phase : loaded.experiment.phase) names.push_back(phase.name);
  const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (at == names.size()) {
    const std::string near = nearest_name(name, names);
    throw UserError(Message{.what = str("there is no phase ", name),
                            .expected = names.empty() ? "an experiment with [[phase]]" : join(names, ", "),
                            .hint = near.empty() ? "" : str("did you mean ", near, '?')});
  }
  if (at + 1 < names.size()) loaded.earlier_phase = name;
  loaded.experiment = Experiment(phase_of(loaded.experiment, at));
}

void require_same(const LoadedExperiment& named, const LoadedExperiment& run) {
  std::vector<std::string> different = config_edits(resolved_toml(run.experiment), resolved_toml(named.experiment));
  if (different.empty()) return;
  throw UserError(
      Message{.what = str(run.run->path(), ": the run in this folder is of another experiment"),
              .expected = str("what ", run.config_file, " says"),
              .got = join(different, "\n"),
              .hint = str("`thtrain resume ", run.run->path(), "` goes on with it as it is; after an edit of ",
                          run.config_file, ", with --accept-edits")});
}

// The best ones; the last ones of an earlier phase are not kept.
static std::string weights_of_earlier(const RunFolder& run, const std::string& phase) {
  std::error_code error;
  const std::string path = run.best_of(phase);
  if (fs::exists(path, error)) return path;
  throw UserError(Message{.what = str(run.path(), ": no weights of phase ", phase, " are kept"),
                          .expected = path,
                          .hint = "a phase leaves its best weights where it has validation examples"});
}

std::string weights_of(const LoadedExperiment& loaded, const std::string& weights) {
  if (!weights.empty()) return weights;
  if (loaded.run && !loaded.earlier_phase.empty()) return weights_of_earlier(*loaded.run, loaded.earlier_phase);
  if (loaded.run) return loaded.run->weights();
  throw UserError(Message{.what = str("no weights are given for the experiment ", loaded.config_file),
                          .expected = "--weights FILE.npz, or the folder of a run in place of the experiment file"});
}

void refuse_to_overwrite(const std::string& option, const std::string& output, const std::string& read,
                         const std::string& what) {
  if (!is_same_file(output, read)) return;
  throw UserError(Message{.what = str(output, ": the output would overwrite ", what),
                          .expected = str(option, " with another name")});
}

static void refuse_to_overwrite_files_of(const std::string& option, const std::string& output,
                                         const Experiment& experiment) {
  const bool has_weights = experiment.model.weights.has_value();  // named last
  std::vector<std::string> files = named_files(experiment);
  for (size_t i = 0; i < files.size(); ++i) {
    const bool is_weights = has_weights && i + 1 == files.size();
    for (const std::string& file : {files[i], files[i] + ".gz"})
      refuse_to_overwrite(option, output, file, is_weights ? "the weights" : "the data of the experiment");
  }
}

void refuse_to_overwrite(const std::string& option, const std::string& output, const LoadedExperiment& loaded) {
  refuse_to_overwrite(option, output, loaded.config_file, "the experiment");
  for (const Experiment& phase : loaded.experiment.phases) refuse_to_overwrite_files_of(option, output, phase);
  refuse_to_overwrite_files_of(option, output, loaded.experiment);
  if (!loaded.run) return;
  const RunFolder& run = *loaded.run;
  for (const PhaseConfig& phase : loaded.experiment.phase)
    refuse_to_overwrite(option, output, run.best_of(phase.name), "a file of the run");
  for (const std::string& file : {run.facts_file(), run.table(), run.metrics(), run.checkpoint(), run.best(),
                                  run.plot() + ".png", run.plot() + ".svg"})
    refuse_to_overwrite(option, output, file, "a file of the run");
}

// Does an output learn the targets? An autoencoder does not, nor does contrastive divergence.
static bool learns_targets(const Experiment& experiment) {
  const std::vector<OutputLossConfig> outputs = output_losses(experiment);
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputLossConfig& output) {
    return output.compare_with == CompareWith::kTargets &&
           output.objective->make()->target_forms() != std::vector{TargetForm::kNone};
  });
}

void print_warnings(const Experiment& experiment, const Dataset& data) {
  for (const std::string& warning : data_warnings(data, experiment.trainer.shuffle, learns_targets(experiment)))
    std::fprintf(stderr, "warning: %s\n", printable(warning).c_str());
  for (const std::string& warning : model_warnings(experiment, data))
    std::fprintf(stderr, "warning: %s\n", printable(warning).c_str());
}

}  // namespace thtrain
