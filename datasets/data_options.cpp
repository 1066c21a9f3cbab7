// What the [data] section says, in the terms of datasets/load.h.
#include <algorithm>

#include "datasets/data_config.h"

namespace thtrain {

// Bytes; 0 where it is not given.
static uint64_t memory_limit(const std::optional<double>& gibibytes) {
  constexpr double kMost = 0x1p62, kGibibyte = 0x1p30;
  return gibibytes ? static_cast<uint64_t>(std::clamp(*gibibytes * kGibibyte, 1.0, kMost)) : 0;
}

static void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::string& path) {
  out.push_back({key, part, &path});
}
static void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::optional<std::string>& path) {
  if (path) add_file(out, key, part, *path);
}

template <class T>
static void fill_sizes(DatasetOptions& out, const T& c) {
  out.train = c.n_train;
  out.valid = c.n_valid;
  out.test = c.n_test;
  out.train_where = c.at("n_train");
  out.valid_where = c.at("n_valid");
  out.test_where = c.at("n_test");
}

static void fill_split(DatasetOptions& out, const SplitConfig& c) {
  out.split = c.split;
  out.split_seed = c.split_seed;
  out.split_where = c.at("split");
  out.folds = c.folds;
  out.fold = c.fold - 1;
  out.folds_where = c.at("folds");
}

static void fill_streams(DatasetOptions& out, const FileConfig& c) {
  out.memory_limit = memory_limit(c.memory_limit);
  out.shuffle_window = c.shuffle_window;
}

// How many examples validate where they come from the training file.
template <class T>
static void fill_cut(DatasetOptions& out, const T& c) {
  fill_streams(out, c);
  fill_split(out, c);
  out.valid_fraction = c.valid_fraction;
  out.test_fraction = c.test_fraction;
  if (c.valid) return;
  out.valid = c.n_valid;
  out.valid_where = c.at("n_valid");
}

void DataConfig::fill_common(DatasetOptions& out) const {
  out.scale = scale;
  out.targets = target;
  out.standardize = standardize;
  out.standardize_targets = standardize_targets;
  out.standardize_where = at("standardize_targets");
  out.class_names = class_names;
  out.class_names_where = at("class_names");
  out.image_shape = image_shape;
  out.image_shape_where = at("image_shape");
}

std::vector<DataFile> DataConfig::all_files() {
  std::vector<DataFile> out = files();
  add_file(out, "class_names_file", "class_names", class_names_file);
  return out;
}

void MnistConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_split(out, *this);
  fill_sizes(out, *this);
}

void DigitsConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_sizes(out, *this);
  out.seed = seed;
}

void ArrayFiles::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_cut(out, *this);
}

std::vector<DataFile> ArrayFiles::files() {
  std::vector<DataFile> out;
  add_file(out, "train", "train_x", train);
  add_file(out, "train_labels", "train_y", train_labels);
  add_file(out, "valid", "valid_x", valid);
  add_file(out, "valid_labels", "valid_y", valid_labels);
  add_file(out, "test", "test_x", test);
  add_file(out, "test_labels", "test_y", test_labels);
  add_file(out, "train_weights", "train_w", train_weights);
  add_file(out, "valid_weights", "valid_w", valid_weights);
  add_file(out, "test_weights", "test_w", test_weights);
  return out;
}

void NpyConfig::fill(DatasetOptions& out) const {
  ArrayFiles::fill(out);
  out.sequences = sequences;
}

std::vector<DataFile> NpyConfig::files() {
  std::vector<DataFile> out = ArrayFiles::files();
  add_file(out, "train_lengths", "train_l", train_lengths);
  add_file(out, "valid_lengths", "valid_l", valid_lengths);
  add_file(out, "test_lengths", "test_l", test_lengths);
  return out;
}

// The valid rows only where they are cut from the training file.
void SetFiles::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_streams(out, *this);
  fill_split(out, *this);
  out.valid_fraction = valid_fraction;
  out.test_fraction = test_fraction;
  if (!valid.empty()) return;
  out.valid = n_valid;
  out.valid_where = at("n_valid");
}

std::vector<DataFile> SetFiles::files() {
  std::vector<DataFile> out;
  auto add = [&](const char* key, std::vector<std::string>& paths) {
    for (size_t i = 0; i < paths.size(); ++i) out.push_back({key, str(key, '.', i), &paths[i]});
  };
  add("train", train);
  add("valid", valid);
  add("test", test);
  return out;
}

void GeneratorConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_sizes(out, *this);
  out.seed = seed;
}

CsvOptions csv_options(const CsvConfig& c) {
  const char* labels = !c.label_columns.empty() ? "label_columns" : c.label_count > 0 ? "label_count" : "label_column";
  return {.delimiter = c.delimiter,
          .header = c.header,
          .label = c.label_column,
          .labels = c.label_columns,
          .label_count = static_cast<size_t>(c.label_count),
          .label_where = c.at(labels),
          .weight = c.weight_column.value_or(""),
          .weight_where = c.at("weight_column")};
}

void CsvConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  fill_cut(out, *this);
  out.csv = csv_options(*this);
}

std::vector<DataFile> CsvConfig::files() {
  std::vector<DataFile> out;
  add_file(out, "train", "train", train);
  add_file(out, "valid", "valid", valid);
  add_file(out, "test", "test", test);
  return out;
}

}  // namespace thtrain
