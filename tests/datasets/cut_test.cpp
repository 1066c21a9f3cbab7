#include "datasets/cut.h"

#include <set>

#include "compiler/base/random_state.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

// Example i is the number i; labels as given.
Split numbered(const std::vector<int64_t>& labels) {
  auto n = static_cast<int64_t>(labels.size());
  Tensor x = Tensor::empty(k64, {n, 1});
  for (int64_t i = 0; i < n; ++i) x.data<double>()[i] = static_cast<double>(i);
  return Split({.raw = x, .origin = "x.npy"}, {.raw = Tensor::of(labels, {n}), .origin = "y.npy"}, Targets::kClasses,
               1);
}

std::vector<int64_t> rows_of(const Split& split) {
  std::vector<int64_t> out;
  Tensor x = split.all(k64).x;
  for (int64_t i = 0; i < x.size(); ++i) out.push_back(static_cast<int64_t>(x.as_double(i)));
  return out;
}

using Rows = std::vector<int64_t>;

TEST(Cut, Fractions) {
  DatasetOptions options;
  options.valid_fraction = 0.2;
  options.test_fraction = 0.25;
  Dataset out;
  cut_dataset(options, k64, {numbered({0, 1, 0, 1, 0, 1, 0, 1, 0, 1})}, out);
  EXPECT_EQ(rows_of(out.train), (Rows{0, 1, 2, 3, 4}));
  EXPECT_EQ(rows_of(out.valid), (Rows{5, 6}));
  EXPECT_EQ(rows_of(out.test), (Rows{7, 8, 9}));  // 2.5 of 10, rounded
  options.split = SplitBy::kStratified;
  options.test_fraction = 0;
  cut_dataset(options, k64, {numbered({0, 1, 0, 1, 0, 1, 0, 1, 0, 1})}, out);
  EXPECT_EQ(out.valid.size(), 2);
  EXPECT_NE(rows_of(out.valid)[0] % 2, rows_of(out.valid)[1] % 2);
}

// As scikit-learn's KFold(3): the first parts have one more.
TEST(Cut, FoldsInOrder) {
  DatasetOptions options;
  options.folds = 3;
  const std::vector<Rows> expected = {{0, 1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  for (int64_t i = 0; i < 3; ++i) {
    options.fold = i;
    Dataset out;
    cut_dataset(options, k64, {numbered({0, 1, 0, 1, 0, 1, 0, 1, 0, 1})}, out);
    EXPECT_EQ(rows_of(out.valid), expected[static_cast<size_t>(i)]);
    EXPECT_EQ(out.train.size(), 10 - out.valid.size());
    EXPECT_EQ(out.test.size(), 0);
  }
}

TEST(Cut, DrawnFoldsAreAllRowsOnce) {
  for (SplitBy by : {SplitBy::kShuffled, SplitBy::kStratified}) {
    DatasetOptions options;
    options.folds = 4;
    options.split = by;
    options.split_seed = 7;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < 22; ++i) labels.push_back(i < 12 ? 0 : 1);
    std::multiset<int64_t> seen;
    for (options.fold = 0; options.fold < 4; ++options.fold) {
      Dataset out;
      cut_dataset(options, k64, {numbered(labels)}, out);
      std::multiset<int64_t> all;
      int64_t zeros = 0;
      for (int64_t row : rows_of(out.valid)) {
        seen.insert(row);
        all.insert(row);
        zeros += row < 12;
      }
      for (int64_t row : rows_of(out.train)) all.insert(row);
      EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 22u);
      EXPECT_EQ(all.size(), 22u);
      EXPECT_TRUE(by == SplitBy::kShuffled || zeros == 3);
    }
    EXPECT_EQ(seen.size(), 22u);
    EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 22u);
  }
}

TEST(Cut, FoldsOfTheFirstExamples) {
  DatasetOptions options;
  options.folds = 2;
  options.train = 4;
  Dataset out;
  cut_dataset(options, k64, {numbered({0, 1, 0, 1, 0, 1})}, out);
  EXPECT_EQ(rows_of(out.valid), (Rows{0, 1}));
  EXPECT_EQ(rows_of(out.train), (Rows{2, 3}));
}

TEST(Cut, MoreFoldsThanExamples) {
  DatasetOptions options;
  options.folds = 4;
  options.folds_where = data_at(3);
  Dataset out;
  EXPECT_EQ(error_text([&] {
              cut_dataset(options, k64, {numbered({0, 1, 0})}, out);
            }),
            "error: there are more folds than examples\n"
            "  expected: at most 3, the examples in x.npy\n"
            "  got:      4" +
                data_caret(3));
}

}  // namespace
}  // namespace thtrain
