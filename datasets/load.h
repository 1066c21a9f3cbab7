// From the settings of an experiment to its data: which source, which files, which rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "compiler/base/error.h"
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
  TableColumns table = {};            // where the source is a table
  int64_t valid_default = 0;          // rows of `train` that validate, where nothing else is said
  std::optional<bool> streamed = {};  // not given: whether examples of a set stay in their file
};

/// Finds and reads what `options` name. UserError for any fault of it.
using ReadSource = std::function<SourceData(const DatasetOptions& options, DType floatx)>;

struct DatasetOptions {
  ReadSource read = nullptr;                   // of one of datasets/sources/; errors without a position get `where`
  std::string name = {};                       // of the source, for messages
  ConfigPosition where = {};                   // of the name
  std::string config_folder = "";              // where relative paths start; see locate.h
  std::map<std::string, DataPath> files = {};  // by the names of parts that the source asks for

  /// Examples of each split; -1: as many as the source has by itself. With files, `train` takes the first rows; a split
  /// without a file of its own takes its rows from the end of the training file, the test's after the validation's.
  int64_t train = -1, valid = -1, test = -1;
  ConfigPosition train_where = {}, valid_where = {}, test_where = {};
  int64_t seed = 1;  // of a generator
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

  Targets targets = Targets::kClasses;
  int64_t classes = 0;  // 0: 1 + the largest label of the training split
  /// x is multiplied by it. 0: what the source says, kPixelScale for pixels, else 1.
  double scale = 0;
  /// Whether x, and y of kValues, get mean 0 and standard deviation 1 on the training examples.
  Standardization::By standardize = Standardization::By::kNone;
  bool standardize_targets = false;
  ConfigPosition standardize_where = {};  // of `standardize_targets`
  /// What fills missing values of a table (datasets/imputation.h).
  Imputation::By impute = Imputation::By::kNone;
  ConfigPosition impute_where = {};
  /// Of the classes from 0 on, or of the labels; their number is that of the classes. None: numbers, or the table's.
  std::vector<std::string> class_names = {};
  ConfigPosition class_names_where = {};
  /// Channels, height and width of an example that is a row; none: as it is in its file.
  std::vector<int64_t> image_shape = {};
  ConfigPosition image_shape_where = {};
  std::optional<ImageCrop> crop = {};  // of the examples of all sets, which are images then
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

/// Of pixels from 0 to 255, as in the Deep Learning Tutorials.
inline constexpr double kPixelScale = 1.0 / 256;

// ---- what sources have in common ----

/// Runs `action`; a UserError that has no position in the configuration gets `where`.
template <class Action>
auto located(const ConfigPosition& where, Action action) {
  try {
    return action();
  } catch (const UserError& error) {
    throw placed(error, where);
  }
}

/// `where`, or the position of the source's name where there is none.
inline const ConfigPosition& position_of(const DatasetOptions& options, const ConfigPosition& where) {
  return where ? where : options.where;
}
inline double scale_or(const DatasetOptions& options, double otherwise) {
  return options.scale != 0 ? options.scale : otherwise;
}
/// The file of this part, where it is given.
const DataPath* file_of(const DatasetOptions& options, const std::string& part);
/// UserError where it is not.
const DataPath& required_file(const DatasetOptions& options, const std::string& part);
/// options.memory_limit, or half of the memory that there is.
uint64_t most_bytes_of(const DatasetOptions& options);
/// The files of the parts "train.0", "train.1", ..., of `set` = "train".
std::vector<DataPath> files_of(const DatasetOptions& options, const std::string& set);
/// UserError in the name of `path`, where so many numbers of `from` and the examples that are made of them are more
/// than options.memory_limit.
void require_fits(const DatasetOptions& options, const std::string& path, int64_t numbers, DType from, DType floatx);

// ---- loading ----

/// Finds, reads and checks: everything that fits in memory is free of NaN, infinities and labels out of range. `floatx`
/// is the dtype that the examples will be read as. UserError for any fault of the data or the options, at its position
/// in the configuration.
Dataset load_dataset(const DatasetOptions& options, DType floatx);

}  // namespace thtrain
