#include "datasets/imputation.h"

#include <cmath>

#include "tests/support/datasets_support.h"
#include "tests/support/table_data.h"

namespace thtrain {
namespace {

using By = Imputation::By;

class ImputedTable : public testing::Test {
 protected:
  ImputedTable() {
    folder.write("t.csv", "a,b,c,l\n1,,2,0\n4,6,8,1\n?,1,5,0\n4,\"\",9,1\n");
    folder.write("test.csv", "a,b,c,l\n,7,NaN,1\n");
  }
  DatasetOptions options(By by) const {
    CsvConfig config;
    config.impute = by;
    return table_options(config, folder.path());
  }
  TemporaryFolder folder;
};

// numpy.nanmean and numpy.nanmedian of the columns: 3, 3.5, 6 and 4, 3.5, 6.5.
TEST_F(ImputedTable, IsFilledByTheTrainingSetAndGetsIndicators) {
  Dataset mean = load_dataset(options(By::kMean), k64);
  EXPECT_EQ(mean.input_shape(), (Shape{5}));
  EXPECT_EQ(numbers_of(mean.train),
            (std::vector<double>{1, 3.5, 2, 0, 1, 4, 6, 8, 0, 0, 3, 1, 5, 1, 0, 4, 3.5, 9, 0, 1}));
  // The last column has no missing value in the training set: no indicator.
  EXPECT_EQ(numbers_of(mean.test), (std::vector<double>{3, 7, 6, 1, 0}));
  EXPECT_EQ(numbers_of(load_dataset(options(By::kMedian), k64).test), (std::vector<double>{4, 7, 6.5, 1, 0}));
  EXPECT_EQ(numbers_of(load_dataset(options(By::kZero), k64).test), (std::vector<double>{0, 7, 0, 1, 0}));
}

TEST_F(ImputedTable, IsTheSameReadWhileTraining) {
  for (By by : {By::kMean, By::kZero}) {
    DatasetOptions streamed = options(by);
    streamed.memory_limit = 10;
    Dataset data = load_dataset(streamed, k64);
    EXPECT_TRUE(data.streamed);
    EXPECT_EQ(numbers_of(data.train), numbers_of(load_dataset(options(by), k64).train));
  }
  DatasetOptions median = options(By::kMedian);
  median.memory_limit = 10;
  EXPECT_EQ(error_text([&] { load_dataset(median, k64); }),
            "error: " + folder.path("t.csv") +
                ": no medians are computed of a table that is read while training\n"
                "  expected: data.impute = \"mean\" or \"zero\"\n"
                "  got:      data.impute = \"median\"\n"
                "  hint:     with a larger data.memory_limit the table is read into memory");
}

TEST_F(ImputedTable, AColumnWithoutValuesHasNoMean) {
  folder.write("t.csv", "a,b,c,l\n1,,2,0\n4,,8,1\n");
  EXPECT_EQ(error_text([&] { load_dataset(options(By::kMean), k64); }),
            "error: " + folder.path("t.csv") +
                ": a column has no value in any training example\n"
                "  expected: one at least, to fill the missing ones by\n"
                "  got:      nothing in b\n"
                "  hint:     data.impute = \"zero\" needs none; or leave the column out of the table");
  EXPECT_EQ(numbers_of(load_dataset(options(By::kZero), k64).train), (std::vector<double>{1, 0, 2, 1, 4, 0, 8, 1}));
}

TEST_F(ImputedTable, IsStandardizedAfterItIsFilledAndItsIndicatorsStay) {
  DatasetOptions all = options(By::kMean);
  all.standardize = Standardization::By::kFeatures;
  Dataset data = load_dataset(all, k64);
  EXPECT_EQ(data.standardization->inputs.mean, (std::vector<double>{3, 3.5, 6, 0, 0}));
  EXPECT_EQ(data.standardization->inputs.scale[3], 1);
  EXPECT_EQ(numbers_of(data.test), (std::vector<double>{0, 3.5 / std::sqrt(3.125), 0, 1, 0}));
  EXPECT_EQ(data.standardization->imputation.indicated, (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace thtrain
