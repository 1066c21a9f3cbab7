#include "datasets/data_config.h"

#include "datasets/data_fields.h"

namespace thtrain {

Kind<DataConfig> mnist_source() {
  return kind<MnistConfig, DataConfig>();
}
Kind<DataConfig> digits_source() {
  return kind<DigitsConfig, DataConfig>();
}
Kind<DataConfig> npy_source() {
  return kind<NpyConfig, DataConfig>();
}
Kind<DataConfig> idx_source() {
  return kind<IdxConfig, DataConfig>();
}
Kind<DataConfig> csv_source() {
  return kind<CsvConfig, DataConfig>();
}

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
  f.field("seed", &DigitsConfig::seed).range(between(0, kLargestDataSeed)).help("Seed of the generator.");
  f.field("scale", &DigitsConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_common(f);
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
  describe_streams(f);
  describe_image_shape(f);
  f.check([](const T& c, Findings& findings) {
    check_split(c, is_cut(c), findings);
    check_targets(c, findings);
    check_sets(c, findings);
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

void NpyConfig::describe(Fields<NpyConfig>& f) {
  f.about(
      "Arrays in .npy files, or in .npz files as `file.npz[name]`. A path is looked for in the config's folder, then "
      "in "
      "`$THTRAIN_DATA`, then in `$XDG_CACHE_HOME/thtrain/data` or `~/.cache/thtrain/data`; one that was typed on the "
      "command line, in the working folder.");
  describe_files(f);
  f.field("sequences", &NpyConfig::sequences)
      .help(
          "Whether the examples are sequences, `[sequences, steps, numbers of a step...]`. Their targets belong to the "
          "sequences (classes `[sequences]`, values and labels `[sequences, numbers]`) or to the steps (`[sequences, "
          "steps]`, and `[sequences, steps, numbers]`), as the shape of the labels' array tells.");
  f.field("train_lengths", &NpyConfig::train_lengths)
      .help(
          "File of the training sequences' lengths, integers from 1 to the steps of `train`: what stands behind the "
          "end of a sequence is not looked at. Not given: all have the same length.");
  f.field("valid_lengths", &NpyConfig::valid_lengths).help("File of the validation sequences' lengths.");
  f.field("test_lengths", &NpyConfig::test_lengths).help("File of the test sequences' lengths.");
  f.check([](const NpyConfig& c, Findings& findings) {
    for (const auto& [given, data, key, name] :
         {std::tuple(c.train_lengths.has_value(), true, "train_lengths", ""),
          {c.valid_lengths.has_value(), c.valid.has_value(), "valid_lengths", "valid"},
          {c.test_lengths.has_value(), c.test.has_value(), "test_lengths", "test"}}) {
      if (given && !c.sequences)
        findings.add(
            {.what = str("data.", key, " has no effect"), .expected = "data.sequences = true", .config = c.at(key)});
      else if (given && !data)
        findings.add({.what = str("data.", name, " is missing"),
                      .expected = str("a file to go with data.", key),
                      .config = c.at(key)});
    }
  });
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
  describe_streams(f);
  describe_image_shape(f);
  f.check([](const CsvConfig& c, Findings& findings) {
    check_split(c, is_cut(c), findings);
    check_targets(c, findings);
    check_sets(c, findings);
    check_stratified(c, findings);
    check_label_columns(c, findings);
  });
}

}  // namespace thtrain
