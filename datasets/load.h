// From the settings of an experiment to its data: which source, which files, which rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compiler/base/error.h"
#include "datasets/csv.h"
#include "datasets/dataset.h"
#include "datasets/split_rows.h"

namespace thtrain {

/// A path as the user wrote it, and where.
struct DataPath {
  std::string path;
  ConfigPosition where = {};
};

struct DatasetOptions;

/// What the files of a source hold, or what a generator makes. Arrays with a source are read while training.
struct SourceData {
  Split train;
  std::optional<Split> valid = {}, test = {};
  int64_t classes = 0;  // 0: 1 + the largest label
  std::vector<std::string> class_names = {};
};

struct DatasetOptions {
  /// Where given: what reads the data, in the place of what `name` says. UserError for any fault of it; errors without
  /// a place get `where`.
  std::function<SourceData(const DatasetOptions&, DType floatx)> read = nullptr;
  /// - "digits": the generator
  /// - "mnist": the four IDX files, in `files["folder"]` or found
  /// - "npy", "idx": one file for each array, train_x, train_y, valid_x, valid_y, test_x, test_y; train_x is required;
  ///   train_w, valid_w, test_w: weights of the examples; train_l, valid_l, test_l: lengths of sequences
  /// - "npz": files["npz"], which holds arrays of those names (or x_train, y_train, ...)
  /// - "csv": files["train"], files["valid"], files["test"]; train is required
  std::string name = "digits";
  ConfigPosition where = {};       // of the name
  std::string config_folder = "";  // where relative paths start; see locate.h
  std::map<std::string, DataPath> files = {};

  /// Examples of each split; -1: digits 10,000, 2,000 and 2,000, mnist 50,000, 10,000 and 10,000, files all that they
  /// have. With files, `train` takes the first rows; a split without a file of its own takes its rows from the end of
  /// the training file, the test's after the validation's (none if -1). MNIST's validation digits are the last of the
  /// training file.
  int64_t train = -1, valid = -1, test = -1;
  ConfigPosition train_where = {}, valid_where = {}, test_where = {};
  int64_t seed = 1;  // of the digits
  /// The same as parts of the training file's rows, rounded to the next number; 0: `valid` and `test` say it.
  double valid_fraction = 0, test_fraction = 0;
  /// Where `folds` is not 0: the rows of the training file (the first `train` of them) are dealt into so many parts,
  /// and those of the part `fold` (from 0) validate. In order they are parts of it; drawn, parts of
  /// RandomState(split_seed).permutation(rows); stratified, the rows of each class in that order are dealt in turn.
  int64_t folds = 0, fold = 0;
  ConfigPosition folds_where = {};
  /// Which rows of the training file are kept for the splits that are cut from it, and the seed of the draw.
  SplitBy split = SplitBy::kOrder;
  int64_t split_seed = 0;
  ConfigPosition split_where = {};

  /// Of "npy", "idx" and "npz": axis 1 of the examples counts the steps of sequences. With lengths they are so anyway.
  bool sequences = false;
  Targets targets = Targets::kClasses;
  int64_t classes = 0;  // 0: 1 + the largest label of the training split
  /// x is multiplied by it. 0: 1/256 for mnist, digits and for uint8 IDX files (the pixels of the Deep Learning
  /// Tutorials), else 1.
  double scale = 0;
  /// Whether x, and y of kValues, get mean 0 and standard deviation 1 on the training examples.
  Standardization::By standardize = Standardization::By::kNone;
  bool standardize_targets = false;
  ConfigPosition standardize_where = {};  // of `standardize_targets`
  /// Of the classes from 0 on, or of the labels; their number is that of the classes. None: numbers, or the table's.
  std::vector<std::string> class_names = {};
  ConfigPosition class_names_where = {};
  /// Channels, height and width of an example that is a row; none: as it stands in its file.
  std::vector<int64_t> image_shape = {};
  ConfigPosition image_shape_where = {};
  std::optional<ImageCrop> crop = {};  // of the examples of all sets, which are images then
  CsvOptions csv = {};  // of CSV files: label column, header, delimiter
  /// Bytes that the examples may fill. Of more, what does not fit stays in its files and is read while training; what
  /// cannot (arrays in Fortran order, generators) is refused. Labels, weights and where each line of a text file begins
  /// come into memory. 0: half of the memory that there is.
  uint64_t memory_limit = 0;
  /// See Dataset::shuffle_window. 0: all examples; of packed files, kPackedWindow bytes of them, and not more than a
  /// quarter of `memory_limit` where that is given.
  int64_t shuffle_window = 0;
};

/// Bytes of packed examples that are held in memory so that they can be shuffled.
inline constexpr uint64_t kPackedWindow = uint64_t{64} << 20;

/// options.memory_limit, or half of the memory that there is.
uint64_t most_bytes_of(const DatasetOptions& options);
/// The files of the parts "train.0", "train.1", ..., of `set` = "train".
std::vector<DataPath> files_of(const DatasetOptions& options, const std::string& set);
/// UserError in the name of `path`, where so many numbers of `from` and the examples that are made of them are more
/// than options.memory_limit.
void require_fits(const DatasetOptions& options, const std::string& path, int64_t numbers, DType from, DType floatx);

/// Finds, reads and checks: everything that fits in memory is free of NaN, infinities and labels out of range. `floatx`
/// is the dtype that the examples will be read as. UserError for any fault of the data or the options, at its place in
/// the configuration.
Dataset load_dataset(const DatasetOptions& options, DType floatx);

}  // namespace thtrain
