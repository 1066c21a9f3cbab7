// The [data] section: where examples come from, a kind for each source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "datasets/load.h"

namespace thtrain {

inline constexpr double kPixelScale = 1.0 / 256;

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

struct DataConfig : Section {
  double scale = 1;  // of the examples
  Targets target = Targets::kClasses;
  Standardization::By standardize = Standardization::By::kNone;
  bool standardize_targets = false;
  std::vector<std::string> class_names;
  std::optional<std::string> class_names_file;  // in their place
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
  /// What it says beside its name and its files.
  virtual void fill(DatasetOptions& out) const = 0;
  static const std::vector<Kind<DataConfig>>& kinds();

 protected:
  /// Of what every kind has.
  void fill_common(DatasetOptions& out) const;
  template <class T>
  static void describe_common(Fields<T>& f);
  /// Of sources whose examples may be rows.
  template <class T>
  static void describe_image_shape(Fields<T>& f);
};

/// Which examples of the training file are kept for validation.
struct SplitConfig : DataConfig {
  SplitBy split = SplitBy::kOrder;
  int64_t split_seed = 0;
  int64_t folds = 0, fold = 1;  // from 1

  template <class T>
  static void describe_split(Fields<T>& f);
};

/// Examples in files that may be larger than memory.
struct FileConfig : SplitConfig {
  std::optional<double> memory_limit;  // GiB
  int64_t shuffle_window = 0;

 protected:
  template <class T>
  static void describe_streams(Fields<T>& f);
};

/// MNIST's 60,000 + 10,000 digits of 28x28 pixels; the validation examples are the last of the training file.
struct MnistConfig : SplitConfig {
  static constexpr std::string_view kName = "mnist";
  MnistConfig() { scale = kPixelScale; }
  int64_t n_train = 50000;
  int64_t n_valid = 10000;
  int64_t n_test = 10000;
  SetSizes sizes() const override { return {folds > 0 ? -1 : n_train, folds > 0 ? -1 : n_valid, n_test}; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<MnistConfig>& f);
};

/// The built-in generator of handwritten-like digits, 28x28 pixels.
struct DigitsConfig : DataConfig {
  static constexpr std::string_view kName = "digits";
  DigitsConfig() { scale = kPixelScale; }
  int64_t n_train = 10000;
  int64_t n_valid = 2000;
  int64_t n_test = 2000;
  int64_t seed = 1;
  SetSizes sizes() const override { return {n_train, n_valid, n_test}; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<DigitsConfig>& f);
};

/// Where validation examples come from: a file of their own, or the last n_valid examples of the training file.
struct ArrayFiles : FileConfig {
  std::string train, train_labels;
  std::optional<std::string> valid, valid_labels, test, test_labels, train_weights, valid_weights, test_weights;
  int64_t n_valid = 0;
  double valid_fraction = 0, test_fraction = 0;

  SetSizes sizes() const override {
    return {-1, valid || valid_fraction > 0 || folds > 0 ? -1 : n_valid, test || test_fraction > 0 ? -1 : 0};
  }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  template <class T>
  static void describe_files(Fields<T>& f);
};

/// Files that hold examples and targets together: lists of them, which stand one after the other.
struct SetFiles : FileConfig {
  std::vector<std::string> train, valid, test;
  int64_t n_valid = 0;
  double valid_fraction = 0, test_fraction = 0;

  SetSizes sizes() const override {
    return {-1, !valid.empty() || valid_fraction > 0 || folds > 0 ? -1 : n_valid,
            !test.empty() || test_fraction > 0 ? -1 : 0};
  }
  std::vector<DataFile> files() override;
  /// All but `read`.
  void fill(DatasetOptions& out) const override;
  template <class T>
  static void describe_sets(Fields<T>& f, const std::string& what);
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
  template <class T>
  static void describe_generator(Fields<T>& f);
};

struct NpyConfig : ArrayFiles {
  static constexpr std::string_view kName = "npy";
  bool sequences = false;
  std::optional<std::string> train_lengths, valid_lengths, test_lengths;
  bool has_sequences() const override { return sequences; }
  bool has_lengths() const override { return train_lengths.has_value(); }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<NpyConfig>& f);
};

struct IdxConfig : ArrayFiles {
  static constexpr std::string_view kName = "idx";
  static void describe(Fields<IdxConfig>& f);
};

struct CsvConfig : FileConfig {
  static constexpr std::string_view kName = "csv";
  std::string train;
  std::optional<std::string> valid, test;
  std::string label_column = "last";       // "first", "last", or its name in the header
  std::vector<std::string> label_columns;  // in its place, several: names in the header, or numbers from 1
  int64_t label_count = 0;                 // in its place, the last columns
  std::optional<std::string> weight_column;
  std::optional<bool> header;  // found out where not given
  CsvOptions::Delimiter delimiter = CsvOptions::Delimiter::kAuto;
  int64_t n_valid = 0;
  double valid_fraction = 0, test_fraction = 0;
  SetSizes sizes() const override {
    return {-1, valid || valid_fraction > 0 || folds > 0 ? -1 : n_valid, test || test_fraction > 0 ? -1 : 0};
  }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<CsvConfig>& f);
};

/// How the experiment says that a CSV file is to be read.
CsvOptions csv_options(const CsvConfig& config);

}  // namespace thtrain
