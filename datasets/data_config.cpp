#include "datasets/data_config.h"

#include <algorithm>

namespace thtrain {

constexpr double kLargestSplitSeed = 4294967295.0;  // what NumPy's RandomState takes

const std::vector<Kind<DataConfig>>& DataConfig::kinds() {
  static const std::vector<Kind<DataConfig>> kinds = {kind<MnistConfig, DataConfig>(), kind<DigitsConfig, DataConfig>(),
                                                      kind<NpyConfig, DataConfig>(), kind<IdxConfig, DataConfig>(),
                                                      kind<CsvConfig, DataConfig>()};
  return kinds;
}

// ---- declarations
// ----------------------------------------------------------------------------------------------------

template <class T>
void DataConfig::describe_common(Fields<T>& f) {
  using By = Standardization::By;
  f.choice("standardize", &T::standardize, {{"none", By::kNone}, {"features", By::kFeatures}, {"all", By::kAll}})
      .synonyms({"normalize", "standardise"})
      .help(
          "Subtract the mean of the training examples and divide by their standard deviation: those of each number of "
          "an "
          "example (`features`), or one of each over all numbers (`all`). Both are kept with the model.");
  f.field("class_names", &T::class_names)
      .help("Names of the classes, or of the labels, from 0 on; there are as many of them as names.");
}

template <class T>
void SplitConfig::describe_split(Fields<T>& f) {
  f.choice("split", &T::split,
           {{"last", SplitBy::kOrder}, {"shuffled", SplitBy::kShuffled}, {"stratified", SplitBy::kStratified}})
      .help(
          "Which examples of the training file `n_valid` takes: the last ones, ones drawn at random, or ones drawn at "
          "random from each class, as many as is its part.");
  f.field("split_seed", &T::split_seed)
      .range(between(0, kLargestSplitSeed))
      .help("Seed of that draw; the numbers are those of NumPy's RandomState.");
  f.field("folds", &T::folds)
      .range(at_least(0))
      .help(
          "Deal the examples of the training file into so many parts (as `split` says), and validate on the part "
          "`fold`; "
          "`thtrain train --folds 5` trains once for each. 0: no parts.");
  f.field("fold", &T::fold).range(at_least(1)).help("The part that validates, from 1 to `folds`.");
  describe_common(f);
}

// What `folds` takes the place of.
static void check_folds(const SplitConfig& c, const std::vector<std::pair<const char*, bool>>& others,
                        Findings& findings) {
  if (c.folds == 0 && c.fold != 1)
    findings.add({.what = "data.fold has no effect", .expected = "data.folds from 2 on", .config = c.at("fold")});
  if (c.folds == 1)
    findings.add({.what = "one fold leaves no examples to train on",
                  .expected = "data.folds from 2 on, or 0 for none",
                  .got = "1",
                  .config = c.at("folds")});
  if (c.folds > 1 && c.fold > c.folds)
    findings.add({.what = "there is no such fold",
                  .expected = str("from 1 to ", c.folds, ", as data.folds says"),
                  .got = std::to_string(c.fold),
                  .config = c.at("fold")});
  for (auto [other, is_given] : others)
    if (c.folds > 0 && is_given)
      findings.add({.what = str("data.folds and data.", other, " are both given"),
                    .expected = "one of them",
                    .config = c.at(other),
                    .hint = "one part of data.train validates"});
}

template <class T>
static void check_fractions(const T& c, Findings& findings) {
  auto both = [&](const char* fraction, const char* other) {
    findings.add({.what = str("data.", fraction, " and data.", other, " are both given"),
                  .expected = "one of them",
                  .config = c.at(fraction)});
  };
  if (c.valid_fraction > 0 && c.valid) both("valid_fraction", "valid");
  if (c.valid_fraction > 0 && c.n_valid > 0) both("valid_fraction", "n_valid");
  if (c.test_fraction > 0 && c.test) both("test_fraction", "test");
  if (c.valid_fraction + c.test_fraction < 1) return;
  findings.add({.what = "data.valid_fraction + data.test_fraction leave nothing to train on",
                .expected = "a sum below 1",
                .got = str(c.valid_fraction, " + ", c.test_fraction),
                .config = c.at(c.has("test_fraction") ? "test_fraction" : "valid_fraction")});
}

// What would change nothing is a mistake.
static void check_split(const SplitConfig& c, bool is_cut, Findings& findings) {
  if (c.split != SplitBy::kOrder && !is_cut)
    findings.add({.what = "data.split has no effect",
                  .expected = "data.n_valid above 0",
                  .config = c.at("split"),
                  .hint = "it says which examples data.n_valid takes from data.train"});
  if (c.split == SplitBy::kOrder && c.split_seed != 0)
    findings.add({.what = "data.split_seed has no effect",
                  .expected = "data.split = \"shuffled\" or \"stratified\"",
                  .config = c.at("split_seed")});
}

void MnistConfig::describe(Fields<MnistConfig>& f) {
  f.about(
      "MNIST's 70,000 handwritten digits of 28x28 pixels, looked for in the config's folder, then in "
      "`$THTRAIN_DATA`, then in the user's cache folder: `$XDG_CACHE_HOME/thtrain/data`, or `~/.cache/thtrain/data`.");
  f.field("n_train", &MnistConfig::n_train)
      .range(between(1, 60000))
      .unit("examples")
      .help("Training examples, the first of the training file unless `split` says otherwise.");
  f.field("n_valid", &MnistConfig::n_valid)
      .range(between(0, 59999))
      .unit("examples")
      .help("Validation examples, the last of the training file unless `split` says otherwise.");
  f.field("n_test", &MnistConfig::n_test)
      .range(between(0, 10000))
      .unit("examples")
      .help("Test examples, the first of the test file.");
  f.field("scale", &MnistConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_split(f);
  f.check([](const MnistConfig& c, Findings& findings) {
    check_split(c, true, findings);
    check_folds(c, {{"n_valid", c.n_valid > 0 && c.n_valid != MnistConfig().n_valid}}, findings);
    if (c.folds > 0 || c.n_train + c.n_valid <= 60000) return;
    findings.add({.what = "data.n_train + data.n_valid is more than there is",
                  .expected = "at most 60000 (examples)",
                  .got = str(c.n_train, " + ", c.n_valid),
                  .config = c.at(c.has("n_train") ? "n_train" : "n_valid"),
                  .hint = "both are taken from MNIST's training file"});
  });
}

void DigitsConfig::describe(Fields<DigitsConfig>& f) {
  f.about(
      "The built-in generator of handwritten-like digits of 28x28 pixels: the same seed gives the same digits "
      "everywhere.");
  f.field("n_train", &DigitsConfig::n_train).range(at_least(1)).unit("examples").help("Training examples.");
  f.field("n_valid", &DigitsConfig::n_valid).range(at_least(0)).unit("examples").help("Validation examples.");
  f.field("n_test", &DigitsConfig::n_test).range(at_least(0)).unit("examples").help("Test examples.");
  f.field("seed", &DigitsConfig::seed).range(between(0, kLargestSplitSeed)).help("Seed of the generator.");
  f.field("scale", &DigitsConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_common(f);
}

static void check_stratified(const SplitConfig& c, Findings& findings) {
  if (c.split != SplitBy::kStratified || c.target == Targets::kClasses) return;
  findings.add({.what = "data.split = \"stratified\" needs classes",
                .expected = "data.split = \"last\" or \"shuffled\"",
                .got = str("data.target = \"", name_of(c.target), '"'),
                .config = c.at("split")});
}

template <class T>
static void describe_target(Fields<T>& f) {
  f.choice("target", &T::target,
           {{"classes", Targets::kClasses}, {"values", Targets::kValues}, {"labels", Targets::kLabels}})
      .help(
          "What is learned: the number of the `classes` that an example is of, `values` to approximate (regression), "
          "or several `labels`, each of which an example has (1) or has not (0).");
  f.field("standardize_targets", &T::standardize_targets)
      .help("The same as `standardize` for `values`, each of them; predictions are in the units of the data.");
}

static void check_targets(const DataConfig& c, Findings& findings) {
  if (c.standardize_targets && c.target != Targets::kValues)
    findings.add({.what = "data.standardize_targets needs values to approximate",
                  .expected = "data.target = \"values\"",
                  .got = str("data.target = \"", name_of(c.target), '"'),
                  .config = c.at("standardize_targets")});
  if (!c.class_names.empty() && c.target == Targets::kValues)
    findings.add({.what = "data.class_names has no effect",
                  .expected = "data.target = \"classes\" or \"labels\"",
                  .got = "data.target = \"values\"",
                  .config = c.at("class_names")});
}

template <class T>
static void describe_fractions(Fields<T>& f) {
  f.field("valid_fraction", &T::valid_fraction)
      .range(from_below(0, 1))
      .help("In the place of `n_valid`: that part of the examples of `train`.");
  f.field("test_fraction", &T::test_fraction)
      .range(from_below(0, 1))
      .help("Where there is no `test`: that part of the examples of `train` tests.");
}

template <class T>
static void describe_memory_limit(Fields<T>& f) {
  f.field("memory_limit", &T::memory_limit)
      .range(above(0))
      .unit("GiB")
      .help(
          "What the examples may fill in memory. More is read while training from .npy files and IDX files that are "
          "not packed, and is an error elsewhere. Not given: half of the memory that there is.");
}

static void check_one_validation_set(const Section& c, bool has_file, int64_t n_valid, Findings& findings) {
  if (has_file && n_valid > 0)
    findings.add({.what = "data.valid and data.n_valid are both given",
                  .expected = "one of them",
                  .config = c.at("n_valid"),
                  .hint = "data.n_valid takes examples of data.train, where there is no data.valid"});
}

template <class T>
static bool is_cut(const T& c) {
  return (!c.valid && c.n_valid > 0) || c.valid_fraction > 0 || c.test_fraction > 0 || c.folds > 0;
}

template <class T>
void ArrayFiles::describe_files(Fields<T>& f) {
  f.field("train", &T::train).required().help("File of the training examples, one for each row.");
  f.field("train_labels", &T::train_labels)
      .required()
      .help("File of their labels: one integer from 0 for each row, or what `target` says.");
  f.field("valid", &T::valid).help("File of the validation examples.");
  f.field("valid_labels", &T::valid_labels).help("File of their labels.");
  f.field("test", &T::test).help("File of the test examples.");
  f.field("test_labels", &T::test_labels).help("File of their labels.");
  f.field("train_weights", &T::train_weights)
      .help("File of the training examples' weights, 0 or more: how much each counts in the loss.");
  f.field("valid_weights", &T::valid_weights).help("File of the validation examples' weights.");
  f.field("test_weights", &T::test_weights).help("File of the test examples' weights.");
  describe_target(f);
  f.field("n_valid", &T::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
  f.field("scale", &T::scale).range(above(0)).help("What the examples are multiplied by.");
  describe_fractions(f);
  describe_split(f);
  describe_memory_limit(f);
  f.check([](const T& c, Findings& findings) {
    check_split(c, is_cut(c), findings);
    check_targets(c, findings);
    check_folds(c,
                {{"valid", c.valid.has_value()},
                 {"n_valid", c.n_valid > 0},
                 {"valid_fraction", c.valid_fraction > 0},
                 {"test_fraction", c.test_fraction > 0}},
                findings);
    check_fractions(c, findings);
    auto pair = [&](const std::optional<std::string>& data, const std::optional<std::string>& labels,
                    std::string name) {
      if (data.has_value() == labels.has_value()) return;
      std::string have = data ? name : name + "_labels", lack = data ? name + "_labels" : name;
      findings.add({.what = str("data.", lack, " is missing"),
                    .expected = str("a file to go with data.", have),
                    .config = c.at(have)});
    };
    pair(c.valid, c.valid_labels, "valid");
    pair(c.test, c.test_labels, "test");
    auto weights = [&](bool data, bool there, std::string name) {
      if (data || !there) return;
      findings.add({.what = str("data.", name, " is missing"),
                    .expected = str("a file to go with data.", name, "_weights"),
                    .config = c.at(name + "_weights")});
    };
    weights(c.valid.has_value(), c.valid_weights.has_value(), "valid");
    weights(c.test.has_value(), c.test_weights.has_value(), "test");
    check_stratified(c, findings);
    check_one_validation_set(c, c.valid.has_value(), c.n_valid, findings);
  });
}

void NpyConfig::describe(Fields<NpyConfig>& f) {
  f.about(
      "Arrays in .npy files, or in .npz files as `file.npz[name]`. A path is looked for in the config's folder, then "
      "in "
      "`$THTRAIN_DATA`, then in `$XDG_CACHE_HOME/thtrain/data` or `~/.cache/thtrain/data`; one that was typed on the "
      "command line, in the working folder.");
  describe_files(f);
}

void IdxConfig::describe(Fields<IdxConfig>& f) {
  f.about("Arrays in files of MNIST's IDX format, with or without gzip. Paths are looked for as those of `npy`.");
  describe_files(f);
}

static void check_label_columns(const CsvConfig& c, Findings& findings) {
  bool several = !c.label_columns.empty() || c.label_count > 0;
  const char* key = c.label_columns.empty() ? "label_count" : "label_columns";
  if (!c.label_columns.empty() && c.label_count > 0)
    findings.add({.what = "data.label_columns and data.label_count are both given",
                  .expected = "one of them",
                  .config = c.at("label_count")});
  else if (several && c.label_column != "last")
    findings.add({.what = str("data.label_column and data.", key, " are both given"),
                  .expected = "one of them",
                  .config = c.at("label_column")});
  else if (several && c.target == Targets::kClasses)
    findings.add({.what = str("data.", key, " are no classes"),
                  .expected = "data.target = \"values\" or \"labels\"",
                  .got = "data.target = \"classes\"",
                  .config = c.at(key),
                  .hint = "data.label_column names the one column of the class"});
}

void CsvConfig::describe(Fields<CsvConfig>& f) {
  f.about("Tables of numbers in text files. Paths are looked for as those of `npy`.");
  f.field("train", &CsvConfig::train).required().help("File of the training examples, one in each line.");
  f.field("valid", &CsvConfig::valid).help("File of the validation examples.");
  f.field("test", &CsvConfig::test).help("File of the test examples.");
  f.field("label_column", &CsvConfig::label_column)
      .help("Column of the label: its name in the header, `first` or `last`.");
  f.field("label_columns", &CsvConfig::label_columns)
      .help(
          "Several columns of numbers in its place, for `target = \"values\"` or `\"labels\"`: their names in the "
          "header, or their numbers from 1 in a table without one.");
  f.field("label_count", &CsvConfig::label_count)
      .range(at_least(0))
      .unit("columns")
      .help("The same as a number: so many columns at the end of each line.");
  f.field("weight_column", &CsvConfig::weight_column)
      .help(
          "Column of the examples' weights, 0 or more: how much each counts in the loss; its name in the header, or "
          "its "
          "number from 1 in a table without one.");
  describe_target(f);
  f.field("header", &CsvConfig::header)
      .help("Whether the first line names the columns. Not given: it does if none of its cells is a number.");
  using Delimiter = CsvOptions::Delimiter;
  f.choice("delimiter", &CsvConfig::delimiter,
           {{"auto", Delimiter::kAuto},
            {"comma", Delimiter::kComma},
            {"semicolon", Delimiter::kSemicolon},
            {"tab", Delimiter::kTab},
            {"space", Delimiter::kSpace}})
      .synonyms({"sep", "separator", "delim"})
      .help("What stands between cells; `auto` finds a comma, semicolon or tab in the first line.");
  f.field("n_valid", &CsvConfig::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
  f.field("scale", &CsvConfig::scale).range(above(0)).help("What the columns are multiplied by, the label's apart.");
  describe_fractions(f);
  describe_split(f);
  describe_memory_limit(f);
  f.check([](const CsvConfig& c, Findings& findings) {
    check_split(c, is_cut(c), findings);
    check_targets(c, findings);
    check_folds(c,
                {{"valid", c.valid.has_value()},
                 {"n_valid", c.n_valid > 0},
                 {"valid_fraction", c.valid_fraction > 0},
                 {"test_fraction", c.test_fraction > 0}},
                findings);
    check_fractions(c, findings);
    check_one_validation_set(c, c.valid.has_value(), c.n_valid, findings);
    check_stratified(c, findings);
    check_label_columns(c, findings);
  });
}

}  // namespace thtrain
