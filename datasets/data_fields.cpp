// What the tables of several sources have in common: keys, and checks of keys together.
#include "datasets/data_fields.h"

namespace thtrain {

void DataConfig::describe_common(Fields<DataConfig> f) {
  const auto keys = f.group("standardization and names");
  using By = Standardization::By;
  f.choice("standardize", &DataConfig::standardize,
           {{"none", By::kNone}, {"features", By::kFeatures}, {"all", By::kAll}, {"scales", By::kScales}})
      .synonyms({"normalize", "standardise"})
      .help(
          "Subtract the mean of the training examples and divide by their standard deviation: those of each number of "
          "an "
          "example (`features`), or one of each over all numbers (`all`). `scales` divides as `features` and subtracts "
          "nothing: what is 0 stays 0. Means and deviations are kept with the model.");
  f.field("class_names", &DataConfig::class_names)
      .help("Names of the classes, or of the labels, from 0 on; there are as many of them as names.");
  f.field("class_names_file", &DataConfig::class_names_file)
      .help("A text file with a name in each line, instead of `class_names`; it is looked for as the data is.");
  f.check([](const DataConfig& c, Findings& findings) {
    if (c.class_names_file && !c.class_names.empty())
      findings.add({.what = "data.class_names and data.class_names_file are both given",
                    .expected = "one of them",
                    .config = c.at("class_names_file")});
  });
}

void DataConfig::describe_image_shape(Fields<DataConfig> f) {
  const auto keys = f.group("shape of images in rows");
  f.field("image_shape", &DataConfig::image_shape)
      .range(between(1, kLargestImageSide))
      .synonyms({"input_shape", "image_size"})
      .help(
          "`[channels, height, width]` of examples that are rows of their pixels, channel by channel and row by row. "
          "Empty: as the files have them; an example `[height, width]` has one channel.");
  f.check([](const DataConfig& c, Findings& findings) {
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

void SplitConfig::describe_split(Fields<SplitConfig> f) {
  const auto keys = f.group("validation and test examples");
  f.choice("split", &SplitConfig::split,
           {{"last", SplitBy::kOrder}, {"shuffled", SplitBy::kShuffled}, {"stratified", SplitBy::kStratified}})
      .help(
          "Which examples of the training file `n_valid` takes: the last ones, ones drawn at random, or ones drawn at "
          "random from each class, in proportion to its size.");
  f.field("split_seed", &SplitConfig::split_seed)
      .range(between(0, kLargestDataSeed))
      .help("Seed of that draw; the numbers are those of NumPy's RandomState.");
  f.field("folds", &SplitConfig::folds)
      .range(at_least(0))
      .help(
          "Number of parts for cross-validation: the examples of the training file are divided into them (as `split` "
          "says), and the part `fold` validates. `thtrain train --folds 5` trains once for each. 0: none.");
  f.field("fold", &SplitConfig::fold).range(at_least(1)).help("The part that validates, from 1 to `folds`.");
  describe_common(f);
}

void check_folds(const SplitConfig& c, const std::vector<std::pair<const char*, bool>>& others, Findings& findings) {
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

void check_sets(const FileConfig& c, Findings& findings) {
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

void check_split(const SplitConfig& c, bool is_cut, Findings& findings) {
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

void check_stratified(const SplitConfig& c, Findings& findings) {
  if (c.split != SplitBy::kStratified || c.target == Targets::kClasses) return;
  findings.add({.what = "data.split = \"stratified\" needs classes",
                .expected = "data.split = \"last\" or \"shuffled\"",
                .got = str("data.target = \"", name_of(c.target), '"'),
                .config = c.at("split")});
}

void describe_target(Fields<DataConfig> f) {
  const auto keys = f.group("targets");
  f.choice("target", &DataConfig::target,
           {{"classes", Targets::kClasses}, {"values", Targets::kValues}, {"labels", Targets::kLabels}})
      .help(
          "What is learned: the number of the `classes` that an example is of, `values` to approximate (regression), "
          "or several `labels`, each of which an example has (1) or has not (0).");
  f.field("standardize_targets", &DataConfig::standardize_targets)
      .help(
          "The same as `standardize` for `values`, each. The loss is of the standardized ones; predictions, and mean "
          "squared and absolute errors, are in the units of the data.");
}

void check_sparse(const DataConfig& c, Findings& findings) {
  using By = Standardization::By;
  if (c.standardize != By::kFeatures && c.standardize != By::kAll) return;
  findings.add({.what = "data.standardize would take means off sparse examples, and nearly none stayed 0",
                .expected = "\"scales\" or \"none\"",
                .got = c.standardize == By::kAll ? "\"all\"" : "\"features\"",
                .config = c.at("standardize"),
                .hint = "\"scales\" divides by the deviations alone"});
}

void check_targets(const DataConfig& c, Findings& findings) {
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

void describe_fractions(Fields<FileConfig> f) {
  const auto keys = f.group("validation and test examples");
  f.field("valid_fraction", &FileConfig::valid_fraction)
      .range(from_below(0, 1))
      .help("Instead of `n_valid`: the part of the examples of `train` that validates.");
  f.field("test_fraction", &FileConfig::test_fraction)
      .range(from_below(0, 1))
      .help("Where there is no `test`: the part of the examples of `train` that tests.");
}

void FileConfig::describe_streams(Fields<FileConfig> f) {
  const auto keys = f.group("memory and order");
  f.field("memory_limit", &FileConfig::memory_limit)
      .range(above(0))
      .unit("GiB")
      .help(
          "What the examples may fill in memory. What does not fit is read while training; arrays in Fortran order "
          "cannot be, and are an error. Not given: half of the memory that there is.");
  f.field("shuffle_window", &FileConfig::shuffle_window)
      .range(at_least(0))
      .unit("examples")
      .help(
          "An epoch's order is drawn among so many examples at a time, which come in blocks of an eighth of them. "
          "Where "
          "examples are read while training, so many are held in memory, and the files are read by blocks. 0: among "
          "all; of packed files that are read while training, among 64 MiB.");
}

void FileConfig::describe_n_valid(Fields<FileConfig> f) {
  const auto keys = f.group("validation and test examples");
  f.field("n_valid", &FileConfig::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
}

void check_files(const FileConfig& c, Findings& findings) {
  check_split(c, c.is_cut(), findings);
  check_targets(c, findings);
  check_sets(c, findings);
}

void ArrayFiles::describe_files(Fields<ArrayFiles> f) {
  const auto keys = f.group("files of arrays");
  f.field("train", &ArrayFiles::train).required().help("File of the training examples, one for each row.");
  f.field("train_labels", &ArrayFiles::train_labels)
      .required()
      .help("File of their labels: one integer from 0 for each row, or what `target` says.");
  f.field("valid", &ArrayFiles::valid).help("File of the validation examples.");
  f.field("valid_labels", &ArrayFiles::valid_labels).help("File of their labels.");
  f.field("test", &ArrayFiles::test).help("File of the test examples.");
  f.field("test_labels", &ArrayFiles::test_labels).help("File of their labels.");
  f.field("train_weights", &ArrayFiles::train_weights)
      .help("File of the training examples' weights, 0 or more: how much each counts in the loss.");
  f.field("valid_weights", &ArrayFiles::valid_weights).help("File of the validation examples' weights.");
  f.field("test_weights", &ArrayFiles::test_weights).help("File of the test examples' weights.");
  describe_target(f);
  describe_n_valid(f);
  f.field("scale", &ArrayFiles::scale).range(above(0)).help("What the examples are multiplied by.");
  describe_fractions(f);
  describe_split(f);
  describe_streams(f);
  f.check([](const ArrayFiles& c, Findings& findings) {
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

void SetFiles::describe_sets(Fields<SetFiles> f, const std::string& what) {
  {
    const auto keys = f.group("lists of files");
    f.field("train", &SetFiles::train).required().help(str(what, " of the training examples."));
    f.field("valid", &SetFiles::valid).help(str(what, " of the validation examples."));
    f.field("test", &SetFiles::test).help(str(what, " of the test examples."));
  }
  describe_n_valid(f);
  {
    const auto keys = f.group("lists of files");
    f.field("scale", &SetFiles::scale).range(above(0)).help("What the examples are multiplied by.");
  }
  describe_fractions(f);
  describe_split(f);
  describe_streams(f);
  f.check([](const SetFiles& c, Findings& findings) {
    check_files(c, findings);
    check_stratified(c, findings);
  });
}

void GeneratorConfig::describe_sizes(Fields<GeneratorConfig> f) {
  const auto keys = f.group("sizes of generated sets");
  f.field("n_train", &GeneratorConfig::n_train).range(at_least(1)).unit("examples").help("Training examples.");
  f.field("n_valid", &GeneratorConfig::n_valid).range(at_least(0)).unit("examples").help("Validation examples.");
  f.field("n_test", &GeneratorConfig::n_test).range(at_least(0)).unit("examples").help("Test examples.");
  f.field("seed", &GeneratorConfig::seed).range(between(0, kLargestDataSeed)).help("Seed of the generator.");
}
void GeneratorConfig::describe_generator(Fields<GeneratorConfig> f) {
  describe_sizes(f);
  describe_common(f);
}

}  // namespace thtrain
