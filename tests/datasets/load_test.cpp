#include "datasets/load.h"

#include <cmath>
#include <limits>
#include <set>

#include "compiler/base/random_state.h"
#include "datasets/digits_generator.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/idx.h"
#include "datasets/sources/mnist.h"
#include "datasets/sources/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

/// x: float64 [n, 2] with x[i] = (i, 2 i) + start; y: int64 i % classes.
void write_arrays(const TemporaryFolder& folder, const std::string& name, int64_t n, int64_t classes,
                  double start = 0) {
  Tensor x = Tensor::empty(k64, {n, 2}), y = Tensor::empty(DType::kInt64, {n});
  for (int64_t i = 0; i < n; ++i) {
    x.data<double>()[2 * i] = static_cast<double>(i) + start;
    x.data<double>()[2 * i + 1] = static_cast<double>(2 * i) + start;
    y.data<int64_t>()[i] = i % classes;
  }
  write_npy(folder.path(name + "_x.npy"), x);
  write_npy(folder.path(name + "_y.npy"), y);
}

DatasetOptions npy_options(const TemporaryFolder& folder, const std::vector<std::string>& keys) {
  DatasetOptions options{.read = npy_reader(), .name = "npy", .where = data_at(1), .config_folder = folder.path()};
  for (const std::string& key : keys)
    options.files[key] = {key + ".npy", data_at(static_cast<int>(options.files.size()) + 2)};
  return options;
}

TEST(LoadDataset, GeneratesDigits) {
  Dataset data =
      load_dataset({.read = digits_reader(), .name = "digits", .train = 30, .valid = 20, .test = 10, .seed = 7}, k32);
  EXPECT_EQ(data.name, "digits");
  EXPECT_EQ(data.classes(), 10);
  EXPECT_EQ(data.input_shape(), Shape({28, 28}));
  EXPECT_FALSE(data.streamed);
  Digits expected = generate_digits(20, 7, 1);
  Batch valid = data.valid.all(k32);
  EXPECT_EQ(valid.x.type_text(), "float32[20, 28, 28]");
  EXPECT_EQ(valid.x.as_double(400), expected.images.as_double(400) / 256);
  EXPECT_TRUE(same_bits(valid.y, expected.labels.cast(DType::kInt64)));
  EXPECT_EQ(data.text(),
            "data set digits: examples of [28, 28], 10 classes\n"
            "  train 30 examples from the generator of digits, seed 7\n"
            "  valid 20 examples from the generator of digits, seed 7\n"
            "  test  10 examples from the generator of digits, seed 7");
}

TEST(LoadDataset, ReadsMnistAsTheTutorialsSplitIt) {
  const char* folder = std::getenv("THTRAIN_DATA");
  if (!folder) GTEST_SKIP() << "THTRAIN_DATA is not set";
  Dataset data = load_dataset({.read = mnist_reader(), .name = "mnist"}, k32);
  EXPECT_EQ(data.train.size(), 50000);
  EXPECT_EQ(data.valid.size(), 10000);
  EXPECT_EQ(data.test.size(), 10000);
  EXPECT_EQ(data.valid.file_row(0), 50000);
  EXPECT_EQ(data.classes(), 10);
  EXPECT_TRUE(same_bits(data.train.read(0, 5, k32).y, Tensor::vector<int64_t>({5, 0, 4, 1, 9})));
  EXPECT_TRUE(same_bits(data.valid.read(0, 5, k32).y, Tensor::vector<int64_t>({3, 8, 6, 9, 6})));
  EXPECT_TRUE(same_bits(data.test.read(0, 5, k32).y, Tensor::vector<int64_t>({7, 2, 1, 0, 4})));
  EXPECT_EQ(data.train.read(0, 1, k32).x.as_double(5 * 28 + 12), 3.0 / 256);
  Dataset small = load_dataset({.read = mnist_reader(), .name = "mnist", .train = 100, .valid = 50, .test = 20}, k64);
  EXPECT_EQ(small.train.size(), 100);
  EXPECT_EQ(small.valid.file_row(0), 59950);
  EXPECT_EQ(small.test.size(), 20);
}

TEST(LoadDataset, ReadsNpyFiles) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 10, 3);
  write_arrays(folder, "test", 4, 3, 100);
  Dataset data = load_dataset(npy_options(folder, {"train_x", "train_y", "test_x", "test_y"}), k32);
  EXPECT_EQ(data.train.size(), 10);
  EXPECT_EQ(data.valid.size(), 0);
  EXPECT_EQ(data.test.size(), 4);
  EXPECT_EQ(data.classes(), 3);
  EXPECT_EQ(data.test.all(k32).x.as_double(3), 102);
  EXPECT_EQ(data.text(),
            "data set npy: examples of [2], 3 classes\n"
            "  train 10 examples from " +
                folder.path("train_x.npy") + " and " + folder.path("train_y.npy") +
                "\n"
                "  test  4 examples from " +
                folder.path("test_x.npy") + " and " + folder.path("test_y.npy"));
}

TEST(LoadDataset, CutsSplitsFromTheEndOfTheTrainingFile) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 10, 2);
  DatasetOptions options = npy_options(folder, {"train_x", "train_y"});
  options.valid = 3;
  options.test = 2;
  Dataset data = load_dataset(options, k64);
  EXPECT_EQ(data.train.size(), 5);
  EXPECT_EQ(data.valid.file_row(0), 5);
  EXPECT_EQ(data.test.file_row(0), 8);
  options.train = 4;
  options.split = SplitBy::kShuffled;
  options.split_seed = 42;
  data = load_dataset(options, k64);
  std::vector<int64_t> order = RandomState(42).permutation(10);
  EXPECT_EQ(data.train.size(), 4);
  EXPECT_EQ(data.train.file_row(1), order[1]);
  EXPECT_EQ(data.test.file_row(1), order[9]);
  EXPECT_EQ(data.test.read(1, 1, k64).x.as_double(), static_cast<double>(order[9]));
}

TEST(LoadDataset, StreamsWhatIsLargerThanTheLimit) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 1000, 3);
  DatasetOptions options = npy_options(folder, {"train_x", "train_y"});
  options.valid = 100;
  options.memory_limit = 4096;
  Dataset streamed = load_dataset(options, k32);
  EXPECT_TRUE(streamed.streamed);
  EXPECT_TRUE(streamed.train.x_array().source);
  options.memory_limit = 0;
  Dataset in_memory = load_dataset(options, k32);
  EXPECT_FALSE(in_memory.streamed);
  EXPECT_TRUE(same_bits(streamed.train.all(k32).x, in_memory.train.all(k32).x));
  EXPECT_TRUE(same_bits(streamed.train.read(500, 7, k32).y, in_memory.train.read(500, 7, k32).y));
}

TEST(LoadDataset, AStreamedFileIsCheckedBatchByBatch) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 1000, 3);
  Tensor x = read_npy(folder.path("train_x.npy"));
  x.at<double>({700, 1}) = std::nan("");
  write_npy(folder.path("train_x.npy"), x);
  DatasetOptions options = npy_options(folder, {"train_x", "train_y"});
  const std::string expected = "error: " + folder.path("train_x.npy") +
                               ": row 700, column 1: not a finite number\n"
                               "  expected: numbers that are finite in float32\n"
                               "  got:      nan" +
                               data_caret(2) + "\n  hint:     rows and columns count from 0";
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }), expected);
  options.memory_limit = 4096;
  Dataset data = load_dataset(options, k32);
  EXPECT_EQ(error_text([&] { check_batch(data.train, data.train.read(690, 10, k32), 690); }), "no error");
  EXPECT_EQ(error_text([&] { check_batch(data.train, data.train.read(695, 10, k32), 695); }), expected);
  EXPECT_EQ(error_text([&] { check_all(data.train, k32); }), expected);
}

TEST(LoadDataset, ReadsNpzUnderBothNamings) {
  TemporaryFolder folder;
  Tensor x = Tensor::matrix<float>({{1, 2}, {3, 4}, {5, 6}}), y = Tensor::vector<uint8_t>({0, 1, 1});
  write_npz(folder.path("a.npz"),
            {{"train_x", x}, {"train_y", y}, {"valid_x", x.rows(0, 1)}, {"valid_y", y.rows(0, 1)}});
  write_npz(folder.path("b.npz"),
            {{"x_train", x}, {"y_train", y}, {"x_valid", x.rows(0, 1)}, {"y_valid", y.rows(0, 1)}});
  for (const char* name : {"a.npz", "b.npz"}) {
    Dataset data = load_dataset(
        {.read = npz_reader(), .name = "npz", .config_folder = folder.path(), .files = {{"npz", {name}}}}, k32);
    EXPECT_EQ(data.train.size(), 3);
    EXPECT_EQ(data.valid.size(), 1);
    EXPECT_EQ(data.classes(), 2);
    EXPECT_TRUE(same_bits(data.train.all(k32).x, x));
  }
  Dataset no_targets = load_dataset({.read = npz_reader(),
                                     .name = "npz",
                                     .config_folder = folder.path(),
                                     .files = {{"npz", {"a.npz"}}},
                                     .targets = Targets::kNone},
                                    k32);
  EXPECT_EQ(no_targets.train.all(k32).y.size(), 0);
  EXPECT_EQ(no_targets.text(),
            "data set npz: examples of [2]\n"
            "  train 3 examples from " +
                folder.path("a.npz") +
                "[train_x]\n"
                "  valid 1 examples from " +
                folder.path("a.npz") + "[valid_x]");
}

TEST(LoadDataset, ReadsIdxWithPixelsScaled) {
  TemporaryFolder folder;
  folder.write("x-idx", std::string("\0\0\10\2\0\0\0\2\0\0\0\2\0\x40\x80\x20", 16));
  folder.write("y-idx", std::string("\0\0\10\1\0\0\0\2\1\0", 10));
  Dataset data = load_dataset({.read = idx_reader(),
                               .name = "idx",
                               .config_folder = folder.path(),
                               .files = {{"train_x", {"x-idx"}}, {"train_y", {"y-idx"}}}},
                              k32);
  EXPECT_TRUE(same_bits(data.train.all(k32).x, Tensor::matrix<float>({{0, 0.25}, {0.5, 0.125}})));
  EXPECT_TRUE(same_bits(data.train.all(k32).y, Tensor::vector<int64_t>({1, 0})));
}

TEST(LoadDataset, ReadsCsvWithTheTrainingFilesClasses) {
  TemporaryFolder folder;
  folder.write("train.csv", "a,b,kind\n1,2,cat\n3,4,dog\n");
  folder.write("test.csv", "a,b,kind\n5,6,dog\n");
  DatasetOptions options{.read = csv_reader(),
                         .name = "csv",
                         .config_folder = folder.path(),
                         .files = {{"train", {"train.csv"}}, {"test", {"test.csv"}}}};
  Dataset data = load_dataset(options, k64);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_TRUE(same_bits(data.test.all(k64).y, Tensor::vector<int64_t>({1})));
  options.read = csv_reader({.label = "a"});
  options.targets = Targets::kValues;
  folder.write("train.csv", "a,b,c\n1,2,3\n");
  folder.write("test.csv", "a,b,c\n4,5,6\n");
  data = load_dataset(options, k32);
  EXPECT_TRUE(same_bits(data.test.all(k32).x, Tensor::matrix<float>({{5, 6}})));
  EXPECT_TRUE(same_bits(data.test.all(k32).y, Tensor::vector<float>({4})));
  EXPECT_EQ(data.text(),
            "data set csv: examples of [2], targets of []\n"
            "  train 1 examples from " +
                folder.path("train.csv") +
                "\n"
                "  test  1 examples from " +
                folder.path("test.csv"));
}

TEST(LoadDataset, ReadsRealTables) {
  const char* folder = std::getenv("THTRAIN_DATA");
  if (!folder) GTEST_SKIP() << "THTRAIN_DATA is not set";
  Dataset iris = load_dataset({.read = csv_reader(),
                               .name = "csv",
                               .files = {{"train", {"tabular/iris.csv"}}},
                               .valid = 30,
                               .split = SplitBy::kShuffled,
                               .split_seed = 1},
                              k32);
  EXPECT_EQ(iris.train.size(), 120);
  EXPECT_EQ(iris.classes(), 3);
  std::set<int64_t> seen;
  Batch valid = iris.valid.all(k32);
  for (int64_t i = 0; i < 30; ++i) seen.insert(valid.y.as_int(i));
  EXPECT_EQ(seen.size(), 3u);
  Dataset diabetes = load_dataset({.read = csv_reader(),
                                   .name = "csv",
                                   .files = {{"train", {"tabular/diabetes.csv"}}},
                                   .targets = Targets::kValues},
                                  k32);
  EXPECT_EQ(diabetes.train.read_targets(0, 1, k32).as_double(), 151);
}

// ---- errors, whole texts ----

std::string load_error(const DatasetOptions& options) {
  return error_text([&] { load_dataset(options, k32); });
}

TEST(LoadErrors, SourcesAndFiles) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 4, 2);
  EXPECT_EQ(load_error(npy_options(folder, {})),
            "error: the data set \"npy\" needs the file train_x\n  expected: train_x = \"path\"" + data_caret(1));
  EXPECT_EQ(load_error(npy_options(folder, {"train_x"})),
            "error: the data set \"npy\" needs the file train_y\n  expected: train_y = \"path\"" + data_caret(1));
  EXPECT_EQ(load_error(npy_options(folder, {"train_x", "train_y", "valid_y"})),
            "error: the data set \"npy\" needs the file valid_x\n  expected: valid_x = \"path\"" + data_caret(1));
  DatasetOptions digits{.read = digits_reader(), .name = "digits", .where = data_at(1), .train = 0};
  EXPECT_EQ(load_error(digits),
            "error: the generator of digits, seed 1: there are no examples to train on\n  expected: at least one\n"
            "  got:      uint8[0, 28, 28]" +
                data_caret(1));
}

TEST(LoadErrors, FaultsOfAFileAreAtItsLine) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 4, 2);
  folder.write("train_x.npy", "hello");
  EXPECT_EQ(load_error(npy_options(folder, {"train_x", "train_y"})),
            "error: " + folder.path("train_x.npy") +
                ": not a .npy file\n  expected: an array as numpy.save writes it\n"
                "  got:      text that begins with \"hello\"" +
                data_caret(2) + "\n  hint:     source = \"csv\" reads tables of numbers");
  write_npy(folder.path("train_x.npy"), Tensor::zeros(k32, {3, 2}));
  EXPECT_EQ(load_error(npy_options(folder, {"train_x", "train_y"})),
            "error: examples and labels differ in number\n"
            "  expected: 3 rows, as in " +
                folder.path("train_x.npy") +
                "\n"
                "  got:      4 rows in " +
                folder.path("train_y.npy") + data_caret(3));
}

TEST(LoadErrors, LabelsAndClasses) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 6, 3);
  DatasetOptions options = npy_options(folder, {"train_x", "train_y"});
  options.classes = 2;
  EXPECT_EQ(load_error(options), "error: " + folder.path("train_y.npy") +
                                     ": row 2: the label is out of range\n  expected: 0 to 1, the classes of the "
                                     "training examples\n  got:      2" +
                                     data_caret(3) + "\n  hint:     rows and columns count from 0");
}

TEST(LoadErrors, NumbersOfExamples) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 10, 2);
  write_arrays(folder, "valid", 4, 2);
  DatasetOptions options = npy_options(folder, {"train_x", "train_y"});
  options.train = 6;
  options.valid = 5;
  options.train_where = data_at(6);
  options.valid_where = data_at(7);
  options.test_where = data_at(8);
  const std::string kLeftToTrain = "\n  hint:     at least one example must be left to train on";
  EXPECT_EQ(load_error(options),
            "error: so many validation examples are not there\n"
            "  expected: at most 4 of the 10 examples in " +
                folder.path("train_x.npy") + "\n  got:      5" + data_caret(7) + kLeftToTrain);
  options.train = 11;
  EXPECT_EQ(load_error(options),
            "error: there are not enough training examples\n"
            "  expected: at most 10 of the 10 examples in " +
                folder.path("train_x.npy") + "\n  got:      11" + data_caret(6) + kLeftToTrain);
  options.train = -1;
  options.valid = 9;
  options.test = 1;
  EXPECT_EQ(load_error(options),
            "error: so many test examples are not there\n"
            "  expected: at most 0 of the 10 examples in " +
                folder.path("train_x.npy") + "\n  got:      1" + data_caret(8) + kLeftToTrain);
  for (int64_t valid : {int64_t{10}, std::numeric_limits<int64_t>::max()}) {
    options.valid = valid;
    options.test = -1;
    EXPECT_EQ(load_error(options),
              "error: so many validation examples are not there\n"
              "  expected: at most 9 of the 10 examples in " +
                  folder.path("train_x.npy") + "\n  got:      " + std::to_string(valid) + data_caret(7) + kLeftToTrain);
  }
  options = npy_options(folder, {"train_x", "train_y", "valid_x", "valid_y"});
  options.valid = 5;
  EXPECT_EQ(load_error(options),
            "error: there are not enough validation examples\n"
            "  expected: at most 4 from " +
                folder.path("valid_x.npy") +
                "\n"
                "  got:      5" +
                data_caret(1));
}

TEST(LoadErrors, SplitsThatDiffer) {
  TemporaryFolder folder;
  write_arrays(folder, "train", 4, 2);
  write_arrays(folder, "test", 4, 2);
  write_npy(folder.path("test_x.npy"), Tensor::zeros(k32, {4, 3}));
  EXPECT_EQ(load_error(npy_options(folder, {"train_x", "train_y", "test_x", "test_y"})),
            "error: " + folder.path("test_x.npy") +
                ": the examples differ in shape from the training examples\n"
                "  expected: [2] for each row, as in " +
                folder.path("train_x.npy") + "\n  got:      [3]" + data_caret(4));
  write_arrays(folder, "test", 4, 2);
  write_npy(folder.path("test_y.npy"), Tensor::zeros(k32, {4, 2}));
  DatasetOptions options = npy_options(folder, {"train_x", "train_y", "test_x", "test_y"});
  options.targets = Targets::kValues;
  EXPECT_EQ(load_error(options), "error: " + folder.path("test_y.npy") +
                                     ": the targets differ in shape from the training targets\n"
                                     "  expected: [] for each row, as in " +
                                     folder.path("train_y.npy") + "\n  got:      [2]" + data_caret(5));
}

TEST(LoadErrors, Csv) {
  TemporaryFolder folder;
  folder.write("train.csv", "a,b,kind\n1,2,cat\n");
  folder.write("test.csv", "b,a,kind\n5,6,cat\n");
  DatasetOptions options{.read = csv_reader(),
                         .name = "csv",
                         .where = data_at(1),
                         .config_folder = folder.path(),
                         .files = {{"train", {"train.csv", data_at(2)}}, {"test", {"test.csv", data_at(3)}}}};
  EXPECT_EQ(load_error(options), "error: " + folder.path("test.csv") +
                                     ": the columns are not those of the training file\n"
                                     "  expected: column 1 named \"a\"\n  got:      column 1 named \"b\"" +
                                     data_caret(3));
  folder.write("test.csv", "5,6,cat\n");
  EXPECT_EQ(load_dataset(options, DType::kFloat32).test.size(), 1);  // by position
  options.read = csv_reader({.label = "a"});
  folder.write("train.csv", "a,b,c\n0,1,2\n1,1,2\n");
  folder.write("test.csv", "1,6,7\n");
  Dataset named = load_dataset(options, DType::kFloat32);  // also the labels
  EXPECT_EQ(named.test.all(DType::kFloat32).y.text(), "[1]");
  options.read = csv_reader();
  folder.write("train.csv", "a,b,kind\n1,2,cat\n");
  folder.write("test.csv", "a,kind\n5,cat\n");
  EXPECT_EQ(load_error(options), "error: " + folder.path("test.csv") +
                                     ": the columns are not those of the training file\n"
                                     "  expected: 3 columns, the label's among them\n  got:      2 columns" +
                                     data_caret(3));
  options.targets = Targets::kValues;
  EXPECT_EQ(load_error(options), "error: " + folder.path("train.csv") +
                                     ": the target values are not numbers\n"
                                     "  expected: a column of numbers\n  got:      \"cat\"" +
                                     data_caret(2));
}

TEST(LoadErrors, Npz) {
  TemporaryFolder folder;
  write_npz(folder.path("a.npz"), {{"train_x", Tensor::zeros(k32, {2, 2})}});
  DatasetOptions options{.read = npz_reader(),
                         .name = "npz",
                         .where = data_at(1),
                         .config_folder = folder.path(),
                         .files = {{"npz", {"a.npz", data_at(2)}}}};
  EXPECT_EQ(load_error(options), "error: " + folder.path("a.npz") +
                                     ": there is no array named \"train_y\"\n  expected: one of train_x" +
                                     data_caret(2));
}

}  // namespace
}  // namespace thtrain
