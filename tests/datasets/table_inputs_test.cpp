// Columns of a table as the inputs of a model, from the file to the examples.
#include "datasets/table_inputs.h"

#include <cmath>

#include "tests/support/datasets_support.h"
#include "tests/support/table_data.h"

namespace thtrain {
namespace {

using As = Categories::As;
using Numbers = std::vector<double>;

class TableOfTexts : public testing::Test {
 protected:
  TableOfTexts() {
    folder.write("t.csv", "size,colour,city,l\n2,red,,0\n4,blue,Rome,1\n6,red,Bern,1\n");
    folder.write("test.csv", "size,colour,city,l\n,blue,?,1\n8,NA,Rome,0\n");
    config.impute = Imputation::By::kMean;
  }
  DatasetOptions options() const { return table_options(config, folder.path()); }
  Dataset load(DType floatx = k64) const { return load_dataset(options(), floatx); }
  TemporaryFolder folder;
  CsvConfig config;
};

// As pandas' get_dummies has the columns, in the places of their own, with the indicators behind.
TEST_F(TableOfTexts, HasAnInputForEachCategory) {
  const Dataset data = load();
  EXPECT_EQ(data.input_shape(), (Shape{6}));
  EXPECT_EQ(input_names(*data.train.table_inputs(), data.columns, data.standardization->categories),
            (std::vector<std::string>{"size", "colour=blue", "colour=red", "city=Bern", "city=Rome", "city missing"}));
  EXPECT_EQ(numbers_of(data.train), (Numbers{2, 0, 1, 0, 0, 1, 4, 1, 0, 0, 1, 0, 6, 0, 1, 1, 0, 0}));
  // A colour is missing in the test set alone: no category, and no indicator.
  EXPECT_EQ(numbers_of(data.test), (Numbers{4, 1, 0, 0, 0, 1, 8, 0, 0, 0, 1, 0}));
  EXPECT_EQ(
      data.text(),
      str("data set csv: examples of [6], 2 classes, indicators of missing values: 1, categories: colour 2, city 2\n"
          "  train 3 examples from ",
          folder.path("t.csv"), "\n  test  2 examples from ", folder.path("test.csv")));
}

TEST_F(TableOfTexts, HasCodesForAnEmbedding) {
  config.categories = As::kCodes;
  const Dataset data = load();
  EXPECT_EQ(data.input_shape(), (Shape{3}));
  EXPECT_EQ(numbers_of(data.train), (Numbers{2, 1, 2, 4, 0, 1, 6, 1, 0}));
  EXPECT_EQ(numbers_of(data.test), (Numbers{4, 0, 2, 8, 2, 1}));
}

TEST_F(TableOfTexts, ScalesAndStandardizesNumbersAlone) {
  config.scale = 0.5;
  config.standardize = Standardization::By::kFeatures;
  const Dataset data = load();
  EXPECT_EQ(data.train.input_scales(), (Numbers{0.5, 1, 1, 1, 1, 1}));
  EXPECT_EQ(data.standardization->inputs.mean, (Numbers{2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(data.standardization->inputs.scale[1], 1);
  EXPECT_EQ(numbers_of(data.test), (Numbers{0, 1, 0, 0, 0, 1, 2 / std::sqrt(2. / 3), 0, 0, 0, 1, 0}));
}

TEST_F(TableOfTexts, IsTheSameReadWhileTraining) {
  for (As as : {As::kOneHot, As::kCodes}) {
    config.categories = as;
    const Dataset whole = load();
    config.memory_limit = 1e-8;
    const Dataset streamed = load();
    config.memory_limit.reset();
    EXPECT_FALSE(whole.streamed);
    EXPECT_TRUE(streamed.streamed);
    EXPECT_EQ(numbers_of(streamed.train), numbers_of(whole.train));
    EXPECT_EQ(numbers_of(streamed.test), numbers_of(whole.test));
  }
}

// A text is a code in memory; all inputs at once would not fit.
TEST_F(TableOfTexts, OfManyCategoriesIsNotExpandedAtOnce) {
  std::string text = "name,l\n";
  for (int i = 0; i < 900; ++i) text += str('n', i, ',', i % 2, '\n');
  folder.write("t.csv", text);
  folder.write("test.csv", "name,l\nn7,1\n");
  config.impute = Imputation::By::kNone;
  config.memory_limit = 1e-3;  // 1 MiB; 900 x 900 numbers are 6 MiB
  const Dataset data = load();
  EXPECT_TRUE(data.streamed);
  EXPECT_FALSE(data.train.x_array().source);
  EXPECT_EQ(data.input_shape(), (Shape{900}));
}

// What a model keeps counts: a file in which the texts have other codes, and texts that the model has not.
TEST_F(TableOfTexts, HasTheCodesOfTheModel) {
  const std::shared_ptr<const Standardization> kept = load().standardization;
  folder.write("t.csv", "size,colour,city,l\n2,amber,Bern,0\n4,red,Rome,1\n");
  folder.write("test.csv", "size,colour,city,l\n1,red,Rome,0\n");
  Dataset data = load();
  EXPECT_EQ(numbers_of(data.test), (Numbers{1, 0, 1, 0, 1}));
  data.set_standardization(kept);
  EXPECT_EQ(numbers_of(data.test), (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(error_text([&] { data.train.all(k64); }),
            "error: " + folder.path("t.csv") +
                ": line 2, column \"colour\": the text is not one of the categories of the model\n"
                "  expected: one of blue, red\n"
                "  got:      \"amber\"");
  Split codes({.raw = Tensor::matrix<double>({{3, 1, 0}, {3, 2, 0}}), .origin = "x.npy"}, {}, Targets::kNone, 1);
  codes.set_standardization(kept);
  EXPECT_EQ(error_text([&] { codes.all(k64); }),
            "error: x.npy: row 1, column 1: not the code of a category\n"
            "  expected: integers from 0 to 1\n"
            "  got:      2\n"
            "  hint:     rows and columns count from 0");
  EXPECT_EQ(numbers_of(codes.part(0, 1)), (Numbers{3, 0, 1, 1, 0, 0}));
}

TEST_F(TableOfTexts, RefusesTextsThatTheTrainingFileHasNot) {
  folder.write("test.csv", "size,colour,city,l\n1,red,Rome,0\n1,green,Rome,0\n");
  EXPECT_EQ(error_text([&] { load(); }),
            "error: " + folder.path("test.csv") +
                ": line 3, column 2 (\"colour\"): the text is not one of the training file's categories\n"
                "  expected: one of blue, red\n"
                "  got:      \"green\"\n"
                "  hint:     an empty cell counts as a missing value");
}

// 1e39 is infinite in float32: its place is that of the file, not of the input.
TEST_F(TableOfTexts, NamesTheColumnOfABadNumber) {
  folder.write("t.csv", "colour,size,l\nred,2,0\nblue,1e39,1\n");
  folder.write("test.csv", "colour,size,l\nred,2,0\n");
  EXPECT_EQ(error_text([&] { load(DType::kFloat32); }), "error: " + folder.path("t.csv") +
                                                            ": line 3, column \"size\": not a finite number\n"
                                                            "  expected: numbers that are finite in float32\n"
                                                            "  got:      1e+39");
}

}  // namespace
}  // namespace thtrain
