#include "trainers/load_data.h"

#include <algorithm>
#include <filesystem>

#include "datasets/load.h"
#include "datasets/locate.h"
#include "datasets/npz.h"

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

// Bytes; 0 where it is not given.
static uint64_t memory_limit(const std::optional<double>& gibibytes) {
  constexpr double kMost = 0x1p62, kGibibyte = 0x1p30;
  return gibibytes ? static_cast<uint64_t>(std::clamp(*gibibytes * kGibibyte, 1.0, kMost)) : 0;
}

namespace {

// What each source says, in the terms of datasets/.
struct OptionsOf {
  const std::string& config_folder;

  void add_file(DatasetOptions& out, const Section& c, const char* key, const char* name,
                const std::string& path) const {
    out.files[name] = {absolute_path(path, c.at(key), config_folder), c.at(key)};
  }
  void add_file(DatasetOptions& out, const Section& c, const char* key, const char* name,
                const std::optional<std::string>& path) const {
    if (path) add_file(out, c, key, name, *path);
  }
  DatasetOptions start(const Section& c, std::string_view name, double scale) const {
    return {.name = std::string(name), .where = c.position, .config_folder = config_folder, .scale = scale};
  }

  template <class T>
  void add_sizes(DatasetOptions& out, const T& c) const {
    out.train = c.n_train;
    out.valid = c.n_valid;
    out.test = c.n_test;
    out.train_where = c.at("n_train");
    out.valid_where = c.at("n_valid");
    out.test_where = c.at("n_test");
  }
  void add_split(DatasetOptions& out, const SplitConfig& c) const {
    out.split = c.split;
    out.split_seed = c.split_seed;
  }
  // How many examples validate where they come from the training file.
  template <class T>
  void add_cut(DatasetOptions& out, const T& c) const {
    out.memory_limit = memory_limit(c.memory_limit);
    add_split(out, c);
    if (c.valid) return;
    out.valid = c.n_valid;
    out.valid_where = c.at("n_valid");
  }

  DatasetOptions operator()(const MnistConfig& c) const {
    DatasetOptions out = start(c, c.kName, c.scale);
    add_split(out, c);
    add_sizes(out, c);
    return out;
  }
  DatasetOptions operator()(const DigitsConfig& c) const {
    DatasetOptions out = start(c, c.kName, c.scale);
    add_sizes(out, c);
    out.seed = c.seed;
    return out;
  }
  DatasetOptions arrays(const ArrayFiles& c, std::string_view name) const {
    DatasetOptions out = start(c, name, c.scale);
    add_cut(out, c);
    add_file(out, c, "train", "train_x", c.train);
    add_file(out, c, "train_labels", "train_y", c.train_labels);
    add_file(out, c, "valid", "valid_x", c.valid);
    add_file(out, c, "valid_labels", "valid_y", c.valid_labels);
    add_file(out, c, "test", "test_x", c.test);
    add_file(out, c, "test_labels", "test_y", c.test_labels);
    return out;
  }
  DatasetOptions operator()(const NpyConfig& c) const { return arrays(c, c.kName); }
  DatasetOptions operator()(const IdxConfig& c) const { return arrays(c, c.kName); }
  DatasetOptions operator()(const CsvConfig& c) const {
    DatasetOptions out = start(c, c.kName, c.scale);
    add_cut(out, c);
    out.csv = csv_options(c);
    add_file(out, c, "train", "train", c.train);
    add_file(out, c, "valid", "valid", c.valid);
    add_file(out, c, "test", "test", c.test);
    return out;
  }
};

// Makes the paths of a source absolute.
struct MakeAbsolute {
  const std::string& config_folder;

  void path(const Section& c, const char* key, std::string& value) const {
    value = absolute_path(value, c.at(key), config_folder);
  }
  void path(const Section& c, const char* key, std::optional<std::string>& value) const {
    if (value) path(c, key, *value);
  }
  void operator()(MnistConfig&) const {}
  void operator()(DigitsConfig&) const {}
  void operator()(ArrayFiles& c) const {
    path(c, "train", c.train);
    path(c, "train_labels", c.train_labels);
    path(c, "valid", c.valid);
    path(c, "valid_labels", c.valid_labels);
    path(c, "test", c.test);
    path(c, "test_labels", c.test_labels);
  }
  void operator()(CsvConfig& c) const {
    path(c, "train", c.train);
    path(c, "valid", c.valid);
    path(c, "test", c.test);
  }
};

// The paths of a source.
struct FilesOf {
  std::vector<std::string>& out;

  void add(const std::string& path) const { out.push_back(ArrayPath(path).file); }
  void add(const std::optional<std::string>& path) const {
    if (path) add(*path);
  }
  void operator()(const MnistConfig&) const {}
  void operator()(const DigitsConfig&) const {}
  void operator()(const ArrayFiles& c) const {
    add(c.train);
    add(c.train_labels);
    add(c.valid);
    add(c.valid_labels);
    add(c.test);
    add(c.test_labels);
  }
  void operator()(const CsvConfig& c) const {
    add(c.train);
    add(c.valid);
    add(c.test);
  }
};

}  // namespace

std::vector<std::string> named_files(const Experiment& experiment) {
  std::vector<std::string> out;
  FilesOf files{out};
  std::visit(files, experiment.data);
  files.add(experiment.model.weights);
  return out;
}

CsvOptions csv_options(const CsvConfig& c) {
  return {.delimiter = c.delimiter, .header = c.header, .label = c.label_column, .label_where = c.at("label_column")};
}

Dataset load_data(const Experiment& experiment, const std::string& config_folder) {
  return load_dataset(std::visit(OptionsOf{config_folder}, experiment.data), experiment.compiler.floatX);
}

Experiment with_absolute_paths(const Experiment& experiment, const std::string& config_folder) {
  Experiment out = experiment;
  std::visit(MakeAbsolute{config_folder}, out.data);
  if (out.model.weights) out.model.weights = absolute_path(*out.model.weights, out.model.at("weights"), config_folder);
  return out;
}

}  // namespace thtrain
