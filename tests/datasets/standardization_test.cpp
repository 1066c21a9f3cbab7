#include "datasets/standardization.h"

#include <cmath>

#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

// x = [[1, 10, 5], [2, 20, 5], [4, 60, 5], [9, 30, 5]] (and two validation rows), y = [0.5, 1.5, 4, 10].
DatasetOptions options_in(const TemporaryFolder& folder) {
  write_npy(folder.path("x.npy"),
            Tensor::of(std::vector<double>{1, 10, 5, 2, 20, 5, 4, 60, 5, 9, 30, 5, 100, 0, 6, 4, 30, 5}, {6, 3}));
  write_npy(folder.path("y.npy"), Tensor::of(std::vector<double>{0.5, 1.5, 4, 10, 20, 4}, {6}));
  DatasetOptions out{.read = npy_reader(), .name = "npy", .where = data_at(3), .config_folder = folder.path()};
  out.files["train_x"] = {"x.npy", data_at(3)};
  out.files["train_y"] = {"y.npy", data_at(3)};
  out.targets = Targets::kValues;
  out.valid = 2;
  out.standardize_where = out.class_names_where = data_at(3);
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], relative * std::abs(expected[i])) << "at " << i;
}

// numpy.mean and numpy.std of the first four rows, axis 0 (NumPy 2.4.6); 0 counts as 1.
TEST(Standardization, IsThatOfTheTrainingExamples) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  options.standardize = Standardization::By::kFeatures;
  options.standardize_targets = true;
  Dataset data = load_dataset(options, k64);
  ASSERT_TRUE(data.standardization);
  const Standard &x = data.standardization->inputs, &y = data.standardization->targets;
  expect_near(x.mean, {4, 30, 5}, 1e-15);
  expect_near(x.scale, {3.082207001484488, 18.708286933869708, 1}, 1e-15);
  expect_near(y.mean, {4}, 1e-15);
  expect_near(y.scale, {3.69120576505835}, 1e-15);
  Batch train = data.train.all(k64), valid = data.valid.all(k64);
  EXPECT_EQ(train.x.as_double(0), (1 - 4) / x.scale[0]);
  EXPECT_EQ(train.x.as_double(7), (60 - 30) / x.scale[1]);
  EXPECT_EQ(train.x.as_double(2), 0);
  EXPECT_EQ(train.y.as_double(3), (10 - 4) / y.scale[0]);
  EXPECT_EQ(valid.x.as_double(0), (100 - 4) / x.scale[0]);
  EXPECT_EQ(valid.x.as_double(5), 0);
  EXPECT_EQ(valid.y.as_double(0), (20 - 4) / y.scale[0]);
  EXPECT_TRUE(same_bits(data.valid.read(1, 1, k64).x, valid.x.rows(1, 1)));
}

// numpy.mean and numpy.std of all twelve numbers.
TEST(Standardization, OverAllNumbers) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  options.standardize = Standardization::By::kAll;
  Dataset data = load_dataset(options, k64);
  expect_near(data.standardization->inputs.mean, {13}, 1e-15);
  expect_near(data.standardization->inputs.scale, {16.263455967290593}, 1e-15);
  EXPECT_TRUE(data.standardization->targets.empty());
  EXPECT_EQ(data.train.all(k64).y.as_double(2), 4);
}

TEST(Standardization, IsRoundedToTheTypeOfTheModel) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  options.standardize = Standardization::By::kFeatures;
  options.scale = 0.1;
  Dataset data = load_dataset(options, k32);
  for (double v : data.standardization->inputs.scale) EXPECT_EQ(v, static_cast<double>(static_cast<float>(v)));
  expect_near(data.standardization->inputs.scale, {0.3082207001484488, 1.8708286933869708, 1}, 1e-6);
}

// Streamed data has the same means, and the same bits.
TEST(Standardization, OfAStream) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  options.standardize = Standardization::By::kFeatures;
  Dataset whole = load_dataset(options, k32);
  options.memory_limit = 10;
  Dataset data = load_dataset(options, k32);
  ASSERT_TRUE(data.streamed);
  EXPECT_EQ(data.standardization->inputs.mean, whole.standardization->inputs.mean);
  EXPECT_EQ(data.standardization->inputs.scale, whole.standardization->inputs.scale);
  EXPECT_TRUE(same_bits(data.train.all(k32).x, whole.train.all(k32).x));
}

TEST(Standardization, TheWayBack) {
  Standard standard{{4, 30}, {3, 0.5}};
  Tensor values = Tensor::of(std::vector<double>{1, 2, 3, 4}, {2, 2});
  Tensor changed = values.copy();
  standard.apply(changed);
  EXPECT_EQ(changed.as_double(1), -56);
  standard.undo(changed);
  EXPECT_TRUE(same_bits(changed, values));
}

TEST(Standardization, OfTargetsNeedsValues) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  write_npy(folder.path("y.npy"), Tensor::zeros(DType::kInt64, {6}));
  options.targets = Targets::kClasses;
  options.standardize_targets = true;
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: data.standardize_targets needs values to approximate\n"
            "  expected: data.target = \"values\"\n"
            "  got:      data.target = \"classes\"" +
                data_caret(3));
}

TEST(ClassNames, AreAsManyAsTheClasses) {
  TemporaryFolder folder;
  DatasetOptions options = options_in(folder);
  Tensor y = Tensor::of(std::vector<int64_t>{0, 1, 2, 0, 1, 1}, {6});
  write_npy(folder.path("y.npy"), y);
  options.targets = Targets::kClasses;
  options.class_names = {"red", "green", "blue", "black"};
  Dataset data = load_dataset(options, k32);
  EXPECT_EQ(data.class_names, options.class_names);
  EXPECT_EQ(data.classes(), 4);  // one has no examples
  options.class_names = {"red", "green"};
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: data.class_names does not fit the data\n"
            "  expected: 3 names, one for each class of the data\n"
            "  got:      2 names: red, green" +
                data_caret(3) + "\n  hint:     the largest label of " + folder.path("y.npy") +
                " is 2, and labels are numbered from 0");
  options.targets = Targets::kValues;
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: data.class_names does not fit the data\n"
            "  expected: classes or labels to name\n"
            "  got:      data.target = \"values\"" +
                data_caret(3) + "\n  hint:     values have no names: leave data.class_names out");
  DatasetOptions digits{.read = digits_reader(), .name = "digits", .train = 3, .valid = 1, .test = 1};
  digits.class_names = {"zero", "one"};
  digits.class_names_where = data_at(3);
  EXPECT_EQ(error_text([&] { load_dataset(digits, k32); }),
            "error: data.class_names does not fit the data\n"
            "  expected: 10 names, one for each class of the data\n"
            "  got:      2 names: zero, one" +
                data_caret(3));
}

TEST(ClassNames, OfATableAreItsOwn) {
  TemporaryFolder folder;
  folder.write("t.csv", "1,red\n2,blue\n");
  DatasetOptions options{.read = csv_reader(), .name = "csv", .where = data_at(3), .config_folder = folder.path()};
  options.files["train"] = {"t.csv", data_at(3)};
  options.class_names = {"a", "b"};
  options.class_names_where = data_at(3);
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: " + folder.path("t.csv") +
                ": the classes have names in the table\n"
                "  expected: data.class_names only where labels are numbers\n"
                "  got:      red, blue" +
                data_caret(3));
}

}  // namespace
}  // namespace thtrain
