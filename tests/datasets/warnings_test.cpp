#include "datasets/warnings.h"

#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/npy.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using Lines = std::vector<std::string>;

struct Row {
  std::vector<int64_t> labels;
  int64_t n_valid;
  bool shuffled;
  Lines warnings;
  SplitBy split = SplitBy::kOrder;
};

Dataset load(const TemporaryFolder& folder, const Row& row) {
  auto n = static_cast<int64_t>(row.labels.size());
  write_npy(folder.path("x.npy"), Tensor::zeros(DType::kFloat32, {n, 2}));
  write_npy(folder.path("y.npy"), Tensor::of(row.labels, {n}));
  return load_dataset({.read = npy_reader(),
                       .name = "npy",
                       .config_folder = folder.path(),
                       .files = {{"train_x", {"x.npy"}}, {"train_y", {"y.npy"}}},
                       .valid = row.n_valid,
                       .split = row.split},
                      DType::kFloat32);
}

TEST(DataWarnings, AreALineForEachDoubt) {
  TemporaryFolder folder;
  const std::string y = folder.path("y.npy") + ": ";
  const std::string one = y +
                          "the labels begin at 1: class 0 has no examples, but the model learns it too; subtract 1 "
                          "from each label";
  const std::string stratified = "; data.split = \"stratified\" gives each set its part of each class";
  const std::string sorted_in_order =
      y +
      "the training examples are sorted by class, and are taken in order: a minibatch sees few classes; "
      "trainer.shuffle = true mixes them";
  const std::string sorted_at_end =
      y +
      "the examples are sorted by class, and the last ones are kept for validation: they are of other classes than "
      "the rest; data.split = \"stratified\" draws them from each class";
  const Row rows[] = {
      {{0, 1, 0, 1, 1, 0}, 2, false, {}},
      {{1, 2, 2, 1, 2, 1}, 0, true, {one}},
      {{1, 3, 3, 1, 3, 1},
       0,
       true,
       {one, y + "no training example is of class 2; the model cannot learn it; add some, or leave its number out"}},
      {{0, 1, 0, 1, 0, 1, 0, 2},
       2,
       true,
       {y + "no training example is of class 2" + stratified, y + "no validation example is of class 1" + stratified}},
      {{0, 1, 2, 1, 0, 1, 0, 2, 0}, 1, true, {y + "no validation example is of class 1, 2" + stratified}},
      {{10, 20, 10, 20, 20, 10, 10, 20, 10, 20, 20, 10, 10, 20, 10, 20, 20, 10, 10, 20, 10, 20, 20, 10},
       8,
       true,
       {y + "there are 2 distinct labels, of which the largest is 20; labels are numbered from 0, so the model has 21 "
            "classes for 16 training examples: number the labels from 0 to 1"}},
      {{0, 1, 2},
       0,
       true,
       {y + "as many classes (3) as training examples (3): is the label a name or a value of each "
            "example?"}},
      {{0, 0, 0, 1, 1, 1}, 0, false, {sorted_in_order}},
      {{0, 0, 0, 1, 1, 1}, 0, true, {}},
      {{0, 0, 0, 1, 1, 1, 2, 2, 2}, 3, true, {sorted_at_end}},
      {{0, 0, 0, 1, 1, 1, 2, 2, 2}, 3, false, {sorted_in_order, sorted_at_end}},
      {{0, 0, 0, 1, 1, 1, 2, 2, 2}, 3, true, {}, SplitBy::kStratified},
      {{0, 0, 0, 0, 0, 0}, 0, false, {y + "every training example is of class 0: there is nothing to tell apart"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(join(row.labels, " "));
    EXPECT_EQ(data_warnings(load(folder, row), row.shuffled), row.warnings);
  }
}

TEST(DataWarnings, NameTheClassesOfATable) {
  TemporaryFolder folder;
  std::string text = "a,b,kind\n", ids = "a,b,id\n";
  for (int i = 0; i < 12; ++i) {
    text += str("1,2,", i % 8 == 7 ? "g" : std::string(1, static_cast<char>('a' + i % 8)), "\n");
    ids += str("1,2,", "x", i, "\n");
  }
  folder.write("t.csv", text);
  folder.write("v.csv", "a,b,kind\n1,2,a\n");
  DatasetOptions options{
      .read = csv_reader(), .name = "csv", .config_folder = folder.path(), .files = {{"train", {"t.csv"}}}};
  options.files["valid"] = {"v.csv"};
  EXPECT_EQ(
      data_warnings(load_dataset(options, DType::kFloat32), true),
      Lines{folder.path("t.csv") +
            ": no validation example is of class 1 (\"b\"), 2 (\"c\"), 3 (\"d\"), 4 (\"e\"), 5 (\"f\") and 1 more; "
            "the validation error says nothing about it"});
  folder.write("ids.csv", ids);
  options.files = {{"train", {"ids.csv"}}};
  EXPECT_EQ(data_warnings(load_dataset(options, DType::kFloat32), true),
            Lines{folder.path("ids.csv") +
                  ": as many classes (12) as training examples (12): is the label a name or a value of each example? "
                  "data.label_column chooses another column"});
}

TEST(DataWarnings, AskWhetherLabelsAreValues) {
  TemporaryFolder folder;
  std::string text = "a,price\n";
  for (int i = 0; i < 60; ++i) text += str(i, ',', i < 20 ? 3 : i % 35 + 3, "\n");
  folder.write("t.csv", text);
  DatasetOptions options{.read = csv_reader(),
                         .name = "csv",
                         .config_folder = folder.path(),
                         .files = {{"train", {"t.csv"}}},
                         .valid = 10};
  EXPECT_EQ(data_warnings(load_dataset(options, DType::kFloat32), true),
            Lines{folder.path("t.csv") +
                  ": 30 classes in 50 training examples: is the label a value, not a class? "
                  "data.target = \"values\" takes numbers to approximate; data.label_column names another column"});
  text = "a,name\n";
  for (int i = 0; i < 60; ++i) text += str(i, ",n", i % 30, "\n");
  folder.write("t.csv", text);
  EXPECT_EQ(data_warnings(load_dataset(options, DType::kFloat32), true),
            Lines{folder.path("t.csv") +
                  ": 30 classes in 50 training examples: is the label a name of each example, not a class? "
                  "data.label_column names another column"});
}

TEST(DataWarnings, AskWhetherAHeaderIsAnExample) {
  TemporaryFolder folder;
  folder.write("t.csv", "1,2,0\n1,2,0\n2,1,1\n1,1,0\n");
  DatasetOptions options{
      .read = csv_reader(), .name = "csv", .config_folder = folder.path(), .files = {{"train", {"t.csv"}}}};
  options.read = csv_reader({.header = true});
  EXPECT_EQ(data_warnings(load_dataset(options, DType::kFloat32), true),
            Lines{folder.path("t.csv") +
                  ": the names in the header are numbers: is the first line an example? data.header = false takes it "
                  "as one"});
  folder.write("t.csv", "0,1,2\n1,2,0\n2,1,1\n1,1,0\n1,2,1\n");  // by pandas
  EXPECT_TRUE(data_warnings(load_dataset(options, DType::kFloat32), true).empty());
}

TEST(DataWarnings, AskWhetherAnExampleIsAHeader) {
  TemporaryFolder folder;
  DatasetOptions options{.read = csv_reader(),
                         .name = "csv",
                         .config_folder = folder.path(),
                         .files = {{"train", {"t.csv"}}},
                         .targets = Targets::kValues};
  auto warnings = [&](const std::string& text) {
    folder.write("t.csv", text);
    return data_warnings(load_dataset(options, DType::kFloat32), true);
  };
  const Lines ask = {folder.path("t.csv") +
                     ": the first line is taken as an example, but its numbers count on as the names of columns may: "
                     "data.header = true takes them as names, data.header = false as an example"};
  EXPECT_EQ(warnings("1,2,3\n7,2,5\n"), ask);
  EXPECT_EQ(warnings("2019,2020,2021\n7,2,5\n"), ask);
  for (const char* text : {"0,1\n7,2\n", "0,2,1\n7,2,5\n", "0.5,1.5,2.5\n7,2,5\n", "a,b,c\n0,1,2\n"})
    EXPECT_EQ(warnings(text), Lines()) << text;
  options.read = csv_reader({.header = false});
  EXPECT_EQ(warnings("1,2,3\n7,2,5\n"), Lines());
}

TEST(DataWarnings, AreNoneForTargetsThatAreNoClasses) {
  TemporaryFolder folder;
  folder.write("t.csv", "1,1\n2,2\n");
  EXPECT_EQ(data_warnings(load_dataset({.read = csv_reader(),
                                        .name = "csv",
                                        .config_folder = folder.path(),
                                        .files = {{"train", {"t.csv"}}},
                                        .targets = Targets::kValues},
                                       DType::kFloat32),
                          false),
            Lines());
}

}  // namespace
}  // namespace thtrain
