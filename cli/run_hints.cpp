#include "cli/run_hints.h"

#include <cstdio>

#include "compiler/base/escape.h"
#include "datasets/npz.h"
#include "trainers/load_data.h"

namespace thtrain {

// "data.train" of the line `train = "x.npy"` in [data].
static std::string key_of(const ConfigPosition& position) {
  const std::string key = position.source_line.substr(0, position.source_line.find_first_of(" ="));
  return key.starts_with("data.") ? key : str("data.", key.empty() ? "train" : key);
}

static bool is_missing(const UserError& error) {
  return error.messages().back().what.ends_with(": no such file");
}

static std::string moved_hint(const RunFolder& run, const std::string& key, bool resumes) {
  if (resumes)
    return str("where the data was moved: set ", key, " in ", run.config(), ", then `thtrain resume ", run.path(),
               " --accept-edits`");
  return str("where the data was moved: `", key, "=NEW` behind the command names the new path");
}

Dataset load_run_data(const LoadedExperiment& loaded, bool resumes) {
  try {
    return load_data(loaded.experiment, loaded.config_folder);
  } catch (const UserError& error) {
    if (!loaded.run) throw;
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    if (!is_missing(error)) throw;
    hint += str(hint.empty() ? "" : ";\n", moved_hint(*loaded.run, key_of(messages.back().config), resumes));
    throw UserError(std::move(messages));
  }
}

std::optional<Dataset> load_run_data_if_there(const LoadedExperiment& loaded, std::string& missing) {
  try {
    return load_run_data(loaded, false);
  } catch (const UserError& error) {
    if (!is_missing(error)) throw;
    missing = error.messages().back().what;
    return {};
  }
}

void warn_of_first_weights(const LoadedExperiment& loaded, const std::string& weights) {
  if (!loaded.run || weights != loaded.run->checkpoint()) return;
  NpzFile file(weights);
  bool has_position = false;
  for (const std::string& name : file.names()) has_position |= name == "run.position";
  if (!has_position) return;
  Tensor position = file.read("run.position");
  if (position.size() < 3 || position.as_int(2) != 0) return;
  std::fprintf(stderr, "warning: %s: these are the first weights of the run, of step 0: nothing was trained yet\n",
               printable(weights).c_str());
}

void warn_of_unused_arrays(const std::string& weights, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::fprintf(stderr, "warning: %s: the model has no use for %s\n", printable(weights).c_str(),
               printable(excerpt(join(names, ", "), 200)).c_str());
}

}  // namespace thtrain
