// The [data] section: where examples come from. Each kind is a source, a file in datasets/sources/; here is what
// several of them have in common, and data_fields.h has its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "datasets/load.h"

namespace thtrain {

/// Examples of each set, where the file alone says it; -1 where only the data can.
struct SetSizes {
  int64_t train = -1, valid = -1, test = -1;
};

/// A file that a source names: by which key, and what DatasetOptions::files calls it.
struct DataFile {
  const char* key;
  std::string part;
  std::string* path;
};

/// What a trained model knows of its data, so that other files are read in the same way.
struct KnownData {
  std::vector<std::string> classes = {};  // their names; none where they are numbers
  int64_t numbers = 0;                    // of an example that is a row; 0: not known
};

struct DataConfig : Section {
  double scale = 1;  // of the examples
  Targets target = Targets::kClasses;
  Standardization::By standardize = Standardization::By::kNone;
  bool standardize_targets = false;
  std::vector<std::string> class_names;
  std::optional<std::string> class_names_file;  // instead
  std::vector<int64_t> image_shape;             // of rows: [channels, height, width]; none: as the source has them

  virtual ~DataConfig() = default;
  virtual SetSizes sizes() const = 0;
  /// Those that are given.
  virtual std::vector<DataFile> files() { return {}; }
  /// files(), and that of the names of the classes, which is the part "class_names".
  std::vector<DataFile> all_files();
  /// Are its examples sequences?
  virtual bool has_sequences() const { return false; }
  /// Are they sequences that may have different numbers of steps?
  virtual bool has_lengths() const { return false; }
  /// Where sequence i + tracks goes on where sequence i ended: their number; 0 of other data.
  virtual int64_t tracks() const { return 0; }
  /// What it says besides its name and its files.
  virtual void fill(DatasetOptions& out) const = 0;
  /// The examples of another file in the source's own format, with targets where it has some; nothing where the source
  /// reads arrays or tables only, or generates, or the file holds an array. UserError for any fault of the file.
  virtual std::optional<Split> read_examples(const std::string& /*path*/, const KnownData& /*known*/) const {
    return {};
  }
  static const std::vector<Kind<DataConfig>>& kinds();

 protected:
  /// Of what every kind has.
  void fill_common(DatasetOptions& out) const;
  static void describe_common(Fields<DataConfig> f);
  /// Of sources whose examples may be rows.
  static void describe_image_shape(Fields<DataConfig> f);
};

/// Which examples of the training file are kept for validation.
struct SplitConfig : DataConfig {
  SplitBy split = SplitBy::kOrder;
  int64_t split_seed = 0;
  int64_t folds = 0, fold = 1;  // from 1

 protected:
  void fill_split(DatasetOptions& out) const;
  static void describe_split(Fields<SplitConfig> f);
};

/// "npy, idx and csv": the sources that have this key, for messages.
std::string sources_with(const std::string& key);

/// Examples in files that may be larger than memory. Validation and test examples come from files of their own, or are
/// cut from the training file.
struct FileConfig : SplitConfig {
  std::optional<double> memory_limit;  // GiB
  int64_t shuffle_window = 0;
  int64_t n_valid = 0;
  double valid_fraction = 0, test_fraction = 0;

  virtual bool has_valid() const = 0;  // is there a file of validation examples?
  virtual bool has_test() const = 0;
  /// Does the training file give validation or test examples too?
  bool is_cut() const;
  SetSizes sizes() const override;
  /// All but `read`.
  void fill(DatasetOptions& out) const override;

 protected:
  static void describe_streams(Fields<FileConfig> f);
  static void describe_n_valid(Fields<FileConfig> f);
};

/// Arrays of examples and of targets in files of their own (datasets/sources/array_sets.h).
struct ArrayFiles : FileConfig {
  std::string train, train_labels;
  std::optional<std::string> valid, valid_labels, test, test_labels, train_weights, valid_weights, test_weights;

  bool has_valid() const override { return valid.has_value(); }
  bool has_test() const override { return test.has_value(); }
  std::vector<DataFile> files() override;

 protected:
  static void describe_files(Fields<ArrayFiles> f);
};

/// Files that hold examples and targets together: lists of them, which follow one another
/// (datasets/sources/joined.h).
struct SetFiles : FileConfig {
  std::vector<std::string> train, valid, test;

  bool has_valid() const override { return !valid.empty(); }
  bool has_test() const override { return !test.empty(); }
  std::vector<DataFile> files() override;

 protected:
  static void describe_sets(Fields<SetFiles> f, const std::string& what);
};

/// A generator of examples.
struct GeneratorConfig : DataConfig {
  int64_t n_train = 10000;
  int64_t n_valid = 2000;
  int64_t n_test = 2000;
  int64_t seed = 1;
  SetSizes sizes() const override { return {n_train, n_valid, n_test}; }
  /// All but `read`.
  void fill(DatasetOptions& out) const override;

 protected:
  static void describe_sizes(Fields<GeneratorConfig> f);
  /// Those, and what every kind has.
  static void describe_generator(Fields<GeneratorConfig> f);
};

/// Of sources with n_train, n_valid and n_test.
template <class T>
void fill_sizes(DatasetOptions& out, const T& c) {
  out.train = c.n_train;
  out.valid = c.n_valid;
  out.test = c.n_test;
  out.train_where = c.at("n_train");
  out.valid_where = c.at("n_valid");
  out.test_where = c.at("n_test");
}

/// Adds a file that is given.
void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::string& path);
void add_file(std::vector<DataFile>& out, const char* key, const char* part, std::optional<std::string>& path);

}  // namespace thtrain
