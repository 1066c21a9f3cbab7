// What the tables of several sources have in common: keys, and checks of keys together.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

inline constexpr double kLargestDataSeed = 4294967295.0;  // what NumPy's RandomState takes

template <class T>
void DataConfig::describe_common(Fields<T>& f) {
  const auto keys = f.group("standardization and names");
  using By = Standardization::By;
  f.choice("standardize", &T::standardize,
           {{"none", By::kNone}, {"features", By::kFeatures}, {"all", By::kAll}, {"scales", By::kScales}})
      .synonyms({"normalize", "standardise"})
      .help(
          "Subtract the mean of the training examples and divide by their standard deviation: those of each number of "
          "an "
          "example (`features`), or one of each over all numbers (`all`). `scales` divides as `features` and subtracts "
          "nothing: what is 0 stays 0. Means and deviations are kept with the model.");
  f.field("class_names", &T::class_names)
      .help("Names of the classes, or of the labels, from 0 on; there are as many of them as names.");
  f.field("class_names_file", &T::class_names_file)
      .help("A text file with a name in each line, instead of `class_names`; it is looked for as the data is.");
  f.check([](const T& c, Findings& findings) {
    if (c.class_names_file && !c.class_names.empty())
      findings.add({.what = "data.class_names and data.class_names_file are both given",
                    .expected = "one of them",
                    .config = c.at("class_names_file")});
  });
}

template <class T>
void DataConfig::describe_image_shape(Fields<T>& f) {
  const auto keys = f.group("shape of images in rows");
  f.field("image_shape", &T::image_shape)
      .range(between(1, kLargestImageSide))
      .synonyms({"input_shape", "image_size"})
      .help(
          "`[channels, height, width]` of examples that are rows of their pixels, channel by channel and row by row. "
          "Empty: as the files have them; an example `[height, width]` has one channel.");
  f.check([](const T& c, Findings& findings) {
    if (!c.image_shape.empty() && c.image_shape.size() != 3)
      findings.add({.what = "data.image_shape is no shape of images",
                    .expected = "[channels, height, width]",
                    .got = str('[', join(c.image_shape, ", "), ']'),
                    .config = c.at("image_shape")});
    if (!c.image_shape.empty() && c.has_sequences())
      findings.add({.what = "data.image_shape has no effect",
                    .expected = "examples that are no sequences",
                    .config = c.at("image_shape")});
  });
}

template <class T>
void SplitConfig::describe_split(Fields<T>& f) {
  const auto keys = f.group("validation and test examples");
  f.choice("split", &T::split,
           {{"last", SplitBy::kOrder}, {"shuffled", SplitBy::kShuffled}, {"stratified", SplitBy::kStratified}})
      .help(
          "Which examples of the training file `n_valid` takes: the last ones, ones drawn at random, or ones drawn at "
          "random from each class, in proportion to its size.");
  f.field("split_seed", &T::split_seed)
      .range(between(0, kLargestDataSeed))
      .help("Seed of that draw; the numbers are those of NumPy's RandomState.");
  f.field("folds", &T::folds)
      .range(at_least(0))
      .help(
          "Number of parts for cross-validation: the examples of the training file are divided into them (as `split` "
          "says), and the part `fold` validates. `thtrain train --folds 5` trains once for each. 0: none.");
  f.field("fold", &T::fold).range(at_least(1)).help("The part that validates, from 1 to `folds`.");
  describe_common(f);
}

// What `folds` replaces.
inline void check_folds(const SplitConfig& c, const std::vector<std::pair<const char*, bool>>& others,
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

// Where validation and test examples come from.
inline void check_sets(const FileConfig& c, Findings& findings) {
  check_folds(c,
              {{"valid", c.has_valid()},
               {"n_valid", c.n_valid > 0},
               {"valid_fraction", c.valid_fraction > 0},
               {"test_fraction", c.test_fraction > 0}},
              findings);
  auto both = [&](const char* fraction, const char* other) {
    findings.add({.what = str("data.", fraction, " and data.", other, " are both given"),
                  .expected = "one of them",
                  .config = c.at(fraction)});
  };
  if (c.valid_fraction > 0 && c.has_valid()) both("valid_fraction", "valid");
  if (c.valid_fraction > 0 && c.n_valid > 0) both("valid_fraction", "n_valid");
  if (c.test_fraction > 0 && c.has_test()) both("test_fraction", "test");
  if (c.has_valid() && c.n_valid > 0)
    findings.add({.what = "data.valid and data.n_valid are both given",
                  .expected = "one of them",
                  .config = c.at("n_valid"),
                  .hint = "data.n_valid takes examples of data.train, where there is no data.valid"});
  if (c.valid_fraction + c.test_fraction < 1) return;
  findings.add({.what = "data.valid_fraction + data.test_fraction leave nothing to train on",
                .expected = "a sum below 1",
                .got = str(c.valid_fraction, " + ", c.test_fraction),
                .config = c.at(c.has("test_fraction") ? "test_fraction" : "valid_fraction")});
}

// What would change nothing is a mistake.
inline void check_split(const SplitConfig& c, bool is_cut, Findings& findings) {
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

inline void check_stratified(const SplitConfig& c, Findings& findings) {
  if (c.split != SplitBy::kStratified || c.target == Targets::kClasses) return;
  findings.add({.what = "data.split = \"stratified\" needs classes",
                .expected = "data.split = \"last\" or \"shuffled\"",
                .got = str("data.target = \"", name_of(c.target), '"'),
                .config = c.at("split")});
}

template <class T>
void describe_target(Fields<T>& f) {
  const auto keys = f.group("targets");
  f.choice("target", &T::target,
           {{"classes", Targets::kClasses}, {"values", Targets::kValues}, {"labels", Targets::kLabels}})
      .help(
          "What is learned: the number of the `classes` that an example is of, `values` to approximate (regression), "
          "or several `labels`, each of which an example has (1) or has not (0).");
  f.field("standardize_targets", &T::standardize_targets)
      .help(
          "The same as `standardize` for `values`, each. The loss is of the standardized ones; predictions, and mean "
          "squared and absolute errors, are in the units of the data.");
}

// Of examples of which only the numbers that are not 0 are kept.
inline void check_sparse(const DataConfig& c, Findings& findings) {
  using By = Standardization::By;
  if (c.standardize != By::kFeatures && c.standardize != By::kAll) return;
  findings.add({.what = "data.standardize would take means off sparse examples, and nearly none stayed 0",
                .expected = "\"scales\" or \"none\"",
                .got = c.standardize == By::kAll ? "\"all\"" : "\"features\"",
                .config = c.at("standardize"),
                .hint = "\"scales\" divides by the deviations alone"});
}

inline void check_targets(const DataConfig& c, Findings& findings) {
  if (c.standardize_targets && c.target != Targets::kValues)
    findings.add({.what = "data.standardize_targets needs values to approximate",
                  .expected = "data.target = \"values\"",
                  .got = str("data.target = \"", name_of(c.target), '"'),
                  .config = c.at("standardize_targets")});
  const char* names = c.class_names_file ? "class_names_file" : "class_names";
  if ((c.class_names_file || !c.class_names.empty()) && c.target == Targets::kValues)
    findings.add({.what = str("data.", names, " has no effect"),
                  .expected = "data.target = \"classes\" or \"labels\"",
                  .got = "data.target = \"values\"",
                  .config = c.at(names)});
}

template <class T>
void describe_fractions(Fields<T>& f) {
  const auto keys = f.group("validation and test examples");
  f.field("valid_fraction", &T::valid_fraction)
      .range(from_below(0, 1))
      .help("Instead of `n_valid`: the part of the examples of `train` that validates.");
  f.field("test_fraction", &T::test_fraction)
      .range(from_below(0, 1))
      .help("Where there is no `test`: the part of the examples of `train` that tests.");
}

template <class T>
void FileConfig::describe_streams(Fields<T>& f) {
  const auto keys = f.group("memory and order");
  f.field("memory_limit", &T::memory_limit)
      .range(above(0))
      .unit("GiB")
      .help(
          "What the examples may fill in memory. What does not fit is read while training; arrays in Fortran order "
          "cannot be, and are an error. Not given: half of the memory that there is.");
  f.field("shuffle_window", &T::shuffle_window)
      .range(at_least(0))
      .unit("examples")
      .help(
          "An epoch's order is drawn among so many examples at a time, which come in blocks of an eighth of them. "
          "Where "
          "examples are read while training, so many are held in memory, and the files are read by blocks. 0: among "
          "all; of packed files that are read while training, among 64 MiB.");
}

template <class T>
void FileConfig::describe_n_valid(Fields<T>& f) {
  const auto keys = f.group("validation and test examples");
  f.field("n_valid", &T::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
}

// What the keys of a source with files say together.
inline void check_files(const FileConfig& c, Findings& findings) {
  check_split(c, c.is_cut(), findings);
  check_targets(c, findings);
  check_sets(c, findings);
}

template <class T>
void ArrayFiles::describe_files(Fields<T>& f) {
  const auto keys = f.group("files of arrays");
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
  describe_n_valid(f);
  f.field("scale", &T::scale).range(above(0)).help("What the examples are multiplied by.");
  describe_fractions(f);
  describe_split(f);
  describe_streams(f);
  f.check([](const T& c, Findings& findings) {
    check_files(c, findings);
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
  });
}

/// `train`, `valid` and `test`, each with examples and targets together.
template <class T>
void SetFiles::describe_sets(Fields<T>& f, const std::string& what) {
  {
    const auto keys = f.group("lists of files");
    f.field("train", &T::train).required().help(str(what, " of the training examples."));
    f.field("valid", &T::valid).help(str(what, " of the validation examples."));
    f.field("test", &T::test).help(str(what, " of the test examples."));
  }
  describe_n_valid(f);
  {
    const auto keys = f.group("lists of files");
    f.field("scale", &T::scale).range(above(0)).help("What the examples are multiplied by.");
  }
  describe_fractions(f);
  describe_split(f);
  describe_streams(f);
  f.check([](const T& c, Findings& findings) {
    check_files(c, findings);
    check_stratified(c, findings);
  });
}

template <class T>
void GeneratorConfig::describe_sizes(Fields<T>& f) {
  const auto keys = f.group("sizes of generated sets");
  f.field("n_train", &T::n_train).range(at_least(1)).unit("examples").help("Training examples.");
  f.field("n_valid", &T::n_valid).range(at_least(0)).unit("examples").help("Validation examples.");
  f.field("n_test", &T::n_test).range(at_least(0)).unit("examples").help("Test examples.");
  f.field("seed", &T::seed).range(between(0, kLargestDataSeed)).help("Seed of the generator.");
}
template <class T>
void GeneratorConfig::describe_generator(Fields<T>& f) {
  describe_sizes(f);
  describe_common(f);
}

}  // namespace thtrain
