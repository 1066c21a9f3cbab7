#include <limits>

#include "datasets/data_config.h"
#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

/// x: float64 [6, 2]; y as it is given.
DatasetOptions options_with(const TemporaryFolder& folder, const Tensor& y, Targets targets) {
  Tensor x = Tensor::empty(k64, {6, 2});
  for (int i = 0; i < 12; ++i) x.data<double>()[i] = i;
  write_npy(folder.path("x.npy"), x);
  write_npy(folder.path("y.npy"), y);
  DatasetOptions out{.read = npy_reader(), .name = "npy", .where = data_at(3), .config_folder = folder.path()};
  out.files["train_x"] = {"x.npy", data_at(3)};
  out.files["train_y"] = {"y.npy", data_at(3)};
  out.targets = targets;
  return out;
}

DatasetOptions table_options(const TemporaryFolder& folder, const std::string& text, Targets targets,
                             CsvOptions csv = {}) {
  folder.write("t.csv", text);
  csv.label_where = csv.weight_where = data_at(3);
  DatasetOptions out{
      .read = csv_reader(std::move(csv)), .name = "csv", .where = data_at(3), .config_folder = folder.path()};
  out.files["train"] = {"t.csv", data_at(3)};
  out.targets = targets;
  return out;
}

TEST(Targets, ValuesOfAnArrayAreNumbersOfItsRows) {
  TemporaryFolder folder;
  Tensor y = Tensor::of(std::vector<double>{0.5, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {6, 2});
  DatasetOptions options = options_with(folder, y, Targets::kValues);
  options.valid = 2;
  Dataset data = load_dataset(options, k32);
  EXPECT_EQ(std::tuple(data.targets(), data.classes(), data.outputs()), std::tuple(Targets::kValues, 0, 2));
  Batch train = data.train.all(k32), valid = data.valid.all(k32);
  EXPECT_EQ(train.y.type_text(), "float32[4, 2]");
  EXPECT_TRUE(same_bits(train.y, y.rows(0, 4).cast(k32)));
  EXPECT_TRUE(same_bits(valid.y, y.rows(4, 2).cast(k32)));
  EXPECT_EQ(data.text(), str("data set npy: examples of [2], targets of [2]\n  train 4 examples from ",
                             folder.path("x.npy"), " and ", folder.path("y.npy"), "\n  valid 2 examples from ",
                             folder.path("x.npy"), " and ", folder.path("y.npy")));
}

TEST(Targets, LabelsAreBytes) {
  TemporaryFolder folder;
  Tensor y = Tensor::of(std::vector<double>{0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1}, {6, 2});
  for (DType dtype : {DType::kBool, DType::kUInt8, DType::kInt64, k64}) {
    Dataset data = load_dataset(options_with(folder, y.cast(dtype), Targets::kLabels), k32);
    EXPECT_EQ(data.outputs(), 2);
    EXPECT_TRUE(same_bits(data.train.all(k32).y, y.cast(DType::kUInt8))) << name_of(dtype);
    std::vector<int64_t> chosen = {4, 1};
    Tensor two = data.train.read(chosen, k32).y;
    EXPECT_EQ(std::vector<uint8_t>(two.data<uint8_t>(), two.data<uint8_t>() + 4), (std::vector<uint8_t>{0, 1, 1, 1}));
  }
}

TEST(Targets, OtherNumbersThanZeroAndOneAreNoLabels) {
  TemporaryFolder folder;
  Tensor y = Tensor::of(std::vector<double>{0, 1, 1, 1, 0, 2.5, 1, 0, 0, 1, 1, 1}, {6, 2});
  EXPECT_EQ(error_text([&] { load_dataset(options_with(folder, y, Targets::kLabels), k32); }),
            "error: " + folder.path("y.npy") +
                ": row 2, column 1: not a label that an example has or has not\n"
                "  expected: 0 or 1\n"
                "  got:      2.5" +
                data_caret(3) + "\n  hint:     rows and columns count from 0");
}

TEST(Targets, ARowOfNumbersIsNoClass) {
  TemporaryFolder folder;
  EXPECT_EQ(error_text([&] {
              load_dataset(options_with(folder, Tensor::zeros(k64, {6, 2}), Targets::kClasses), k32);
            }),
            "error: " + folder.path("y.npy") +
                ": the labels are not one number for each example\n"
                "  expected: an array [6]\n"
                "  got:      float64[6, 2]" +
                data_caret(3) +
                "\n  hint:     rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); "
                "several labels of an example are data.target = \"labels\", values to approximate are data.target = "
                "\"values\"");
}

TEST(Targets, NoColumnsAreNoTargets) {
  TemporaryFolder folder;
  EXPECT_EQ(error_text([&] {
              load_dataset(options_with(folder, Tensor::zeros(k64, {6, 0}), Targets::kValues), k32);
            }),
            "error: " + folder.path("y.npy") +
                ": the examples have no targets to learn\n"
                "  expected: at least one column\n"
                "  got:      float64[6, 0]" +
                data_caret(3));
}

TEST(Targets, InfiniteValuesAreRefused) {
  TemporaryFolder folder;
  Tensor y = Tensor::of(std::vector<double>{0, 1, 1e39, 3, 4, 5}, {6});
  EXPECT_EQ(error_text([&] { load_dataset(options_with(folder, y, Targets::kValues), k32); }),
            "error: " + folder.path("y.npy") +
                ": row 2: not a finite number\n"
                "  expected: numbers that are finite in float32\n"
                "  got:      1e+39" +
                data_caret(3) + "\n  hint:     rows and columns count from 0");
}

TEST(Targets, WeightsAreReadWithTheExamples) {
  TemporaryFolder folder;
  DatasetOptions options = options_with(folder, Tensor::zeros(DType::kInt64, {6}), Targets::kClasses);
  Tensor weights = Tensor::of(std::vector<double>{1, 0, 2.5, 3, 4, 5}, {6, 1});
  write_npy(folder.path("w.npy"), weights);
  options.files["train_w"] = {"w.npy", data_at(3)};
  options.valid = 2;
  Dataset data = load_dataset(options, k32);
  Tensor expected = weights.cast(k32).reshape({6});
  EXPECT_TRUE(same_bits(data.train.all(k32).weights, expected.rows(0, 4)));
  EXPECT_TRUE(same_bits(data.valid.read(0, 2, k32).weights, expected.rows(4, 2)));
  EXPECT_EQ(data.train.bytes(k32), 4u * (8 + 8 + 4));
}

TEST(Targets, BadWeights) {
  TemporaryFolder folder;
  auto text = [&](const Tensor& weights) {
    DatasetOptions options = options_with(folder, Tensor::zeros(DType::kInt64, {6}), Targets::kClasses);
    write_npy(folder.path("w.npy"), weights);
    options.files["train_w"] = {"w.npy", data_at(3)};
    return error_text([&] { load_dataset(options, k32); });
  };
  const std::string file = "error: " + folder.path("w.npy");
  EXPECT_EQ(text(Tensor::of(std::vector<double>{1, 0, 2, -0.5, 4, 5}, {6})),
            file + ": row 3: the weight is negative\n  expected: 0 or more\n  got:      -0.5" + data_caret(3) +
                "\n  hint:     rows and columns count from 0");
  EXPECT_EQ(text(Tensor::of(std::vector<double>{1, 0, 2, std::numeric_limits<double>::infinity(), 4, 5}, {6})),
            file + ": row 3: not a finite number\n  expected: numbers that are finite in float32\n  got:      inf" +
                data_caret(3) + "\n  hint:     rows and columns count from 0");
  EXPECT_EQ(text(Tensor::zeros(k64, {5})), "error: examples and weights differ in number\n  expected: 6 rows, as in " +
                                               folder.path("x.npy") + "\n  got:      5 rows in " +
                                               folder.path("w.npy") + data_caret(3));
  EXPECT_EQ(text(Tensor::zeros(k64, {6, 2})),
            file +
                ": the weights are not one number for each example\n  expected: an array [6]\n  got:      "
                "float64[6, 2]" +
                data_caret(3));
}

TEST(Targets, SeveralColumnsOfATable) {
  TemporaryFolder folder;
  const std::string text = "p,a,w,q,b\n0.5,1,2,0,3\n-1.5,4,0.5,1,6\n";
  DatasetOptions options = table_options(folder, text, Targets::kValues, {.labels = {"q", "p"}, .weight = "w"});
  Dataset data = load_dataset(options, k64);
  EXPECT_EQ(data.columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(data.target_names, (std::vector<std::string>{"q", "p"}));
  EXPECT_EQ(data.other_columns, (std::vector<size_t>{0, 2, 3}));
  Batch all = data.train.all(k64);
  EXPECT_TRUE(same_bits(all.x, Tensor::of(std::vector<double>{1, 3, 4, 6}, {2, 2})));
  EXPECT_TRUE(same_bits(all.y, Tensor::of(std::vector<double>{0, 0.5, 1, -1.5}, {2, 2})));
  EXPECT_TRUE(same_bits(all.weights, Tensor::of(std::vector<double>{2, 0.5}, {2})));

  options.read = csv_reader({.label_count = 2});
  EXPECT_TRUE(
      same_bits(load_dataset(options, k64).train.all(k64).y, Tensor::of(std::vector<double>{0, 3, 1, 6}, {2, 2})));
  options.read = csv_reader();  // one column, the last
  EXPECT_TRUE(same_bits(load_dataset(options, k64).train.all(k64).y, Tensor::of(std::vector<double>{3, 6}, {2})));
}

TEST(Targets, LabelsOfATable) {
  TemporaryFolder folder;
  DatasetOptions options = table_options(folder, "1,2,0,1\n3,4,1,0\n", Targets::kLabels, {.labels = {"3", "4"}});
  EXPECT_TRUE(
      same_bits(load_dataset(options, k32).train.all(k32).y, Tensor::of(std::vector<uint8_t>{0, 1, 1, 0}, {2, 2})));
  folder.write("t.csv", "1,2,0,1\n3,4,7,0\n");
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: " + folder.path("t.csv") +
                ": line 2, column 3: not a label that an example has or has not\n"
                "  expected: 0 or 1\n  got:      7" +
                data_caret(3));
}

TEST(Targets, BadColumnsOfATable) {
  TemporaryFolder folder;
  const std::string header = "a,b,w\n", file = "error: " + folder.path("t.csv");
  auto text = [&](const std::string& table, auto change, Targets targets = Targets::kValues) {
    CsvOptions csv;
    change(csv);
    const DatasetOptions options = table_options(folder, table, targets, csv);
    return error_text([&] { load_dataset(options, k32); });
  };
  EXPECT_EQ(text("a,b,w\n1,2,3\n", [](CsvOptions& csv) { csv.labels = {"c"}; }),
            file + ": there is no column \"c\" for the labels\n  expected: one of a, b, w" + data_caret(3));
  EXPECT_EQ(text("a,a,w\n1,2,3\n", [](CsvOptions& csv) { csv.labels = {"a"}; }),
            file + ": there are 2 columns \"a\"\n  expected: one of a, a, w" + data_caret(3));
  EXPECT_EQ(text("1,2,3\n", [](CsvOptions& csv) { csv.weight = "w"; }),
            file +
                ": there is no column \"w\" for the weights\n  expected: a column's number, from 1 to 3\n  got:      a "
                "table whose first line is no header" +
                data_caret(3) + "\n  hint:     data.header = true takes the names of the columns from the first line");
  EXPECT_EQ(text("a,b,w\n1,2,3\n",
                 [](CsvOptions& csv) {
                   csv.labels = {"b", "b"};
                 }),
            file + ": column \"b\" is named twice\n  expected: each column of labels once" + data_caret(3));
  EXPECT_EQ(text("a,b,w\n1,2,3\n",
                 [](CsvOptions& csv) {
                   csv.label = "w";
                   csv.weight = "w";
                 }),
            file + ": column \"w\" is named twice\n  expected: another column for the labels than for the weights" +
                data_caret(3));
  EXPECT_EQ(text("a,b,w\n1,2,3\n", [](CsvOptions& csv) { csv.label_count = 4; }),
            file +
                ": there are not so many columns for the labels\n  expected: at most 3, as line 1 has\n  got:      4" +
                data_caret(3));
  EXPECT_EQ(text("a,b,w\n1,2,3\n", [](CsvOptions& csv) { csv.label_count = 3; }),
            file +
                ": all columns of the table are those of labels and weights\n  expected: columns of numbers to learn "
                "from besides it\n  got:      line 1: a,b,w" +
                data_caret(3));
  EXPECT_EQ(text("a,b,w\n1,2,-3\n",
                 [](CsvOptions& csv) {
                   csv.weight = "w";
                   csv.label = "b";
                 }),
            file + ": line 2, column 3 (\"w\"): the weight is negative\n  expected: 0 or more\n  got:      -3" +
                data_caret(3));
  EXPECT_EQ(text("a,b,w\n1,2,yes\n", [](CsvOptions&) {}),
            file + ": the target values are not numbers\n  expected: a column of numbers\n  got:      \"yes\"" +
                data_caret(3));
}

TEST(Targets, AStratifiedSplitNeedsClasses) {
  TemporaryFolder folder;
  DatasetOptions options = options_with(folder, Tensor::zeros(k64, {6}), Targets::kValues);
  options.split = SplitBy::kStratified;
  options.split_where = data_at(3);
  options.valid = 2;
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: data.split = \"stratified\" needs classes\n"
            "  expected: data.split = \"last\" or \"shuffled\"\n"
            "  got:      data.target = \"values\"" +
                data_caret(3));
}

}  // namespace
}  // namespace thtrain
