#include "datasets/data_config.h"

#include <algorithm>

namespace thtrain {

#define TH_SOURCE(name) Kind<DataConfig> name##_source();
#include "datasets/source_list.inc"
#undef TH_SOURCE

const std::vector<Kind<DataConfig>>& DataConfig::kinds() {
  static const std::vector<Kind<DataConfig>> kinds = {
#define TH_SOURCE(name) name##_source(),
#include "datasets/source_list.inc"
#undef TH_SOURCE
  };
  return kinds;
}

std::string sources_with(const std::string& key) {
  std::vector<std::string_view> names;
  for (const Kind<DataConfig>& source : DataConfig::kinds())
    if (source.schema().find(key)) names.push_back(source.name);
  if (names.size() < 2) return join(names, "");
  const std::string_view last = names.back();
  names.pop_back();
  return str(join(names, ", "), " and ", last);
}

// ---- in the terms of datasets/load.h ----

void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::string& path) {
  out.push_back({key, part, &path});
}
void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::optional<std::string>& path) {
  if (path) add_file(out, key, part, *path);
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

void SplitConfig::fill_split(DatasetOptions& out) const {
  out.split = split;
  out.split_seed = split_seed;
  out.split_where = at("split");
  out.folds = folds;
  out.fold = fold - 1;
  out.folds_where = at("folds");
}

bool FileConfig::is_cut() const {
  return (!has_valid() && n_valid > 0) || valid_fraction > 0 || test_fraction > 0 || folds > 0;
}

SetSizes FileConfig::sizes() const {
  return {-1, has_valid() || valid_fraction > 0 || folds > 0 ? -1 : n_valid, has_test() || test_fraction > 0 ? -1 : 0};
}

// The valid rows only where they are cut from the training file.
void FileConfig::fill(DatasetOptions& out) const {
  constexpr double kMost = 0x1p62, kGibibyte = 0x1p30;
  fill_common(out);
  fill_split(out);
  if (memory_limit) out.memory_limit = static_cast<uint64_t>(std::clamp(*memory_limit * kGibibyte, 1.0, kMost));
  out.shuffle_window = shuffle_window;
  out.valid_fraction = valid_fraction;
  out.test_fraction = test_fraction;
  if (has_valid()) return;
  out.valid = n_valid;
  out.valid_where = at("n_valid");
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

}  // namespace thtrain
