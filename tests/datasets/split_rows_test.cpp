#include "datasets/split_rows.h"

#include <algorithm>
#include <set>

#include "compiler/base/random_state.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using Rows = std::vector<int64_t>;

Rows part(const Rows& rows, int64_t begin, int64_t count) {
  return {rows.begin() + begin, rows.begin() + begin + count};
}

TEST(SplitRows, ShuffledIsThePermutationOfTheSeed) {
  Rows order = RandomState(42).permutation(10);
  EXPECT_EQ(split_rows(SplitBy::kShuffled, 42, 10, {7, 3, 0}, {}), order);
  Rows rows = split_rows(SplitBy::kShuffled, 42, 10, {2, 3, 1}, {});  // the rows between are left out
  EXPECT_EQ(part(rows, 0, 2), part(order, 0, 2));
  EXPECT_EQ(part(rows, 2, 4), part(order, 6, 4));
  EXPECT_NE(split_rows(SplitBy::kShuffled, 43, 10, {7, 3, 0}, {}), order);
}

/// Rows of each class among these.
std::vector<int64_t> counts_in(const Rows& rows, const std::vector<int64_t>& labels, int64_t classes) {
  std::vector<int64_t> out(static_cast<size_t>(classes));
  for (int64_t row : rows) ++out[static_cast<size_t>(labels[static_cast<size_t>(row)])];
  return out;
}

TEST(SplitRows, StratifiedGivesEachSetItsPartOfEachClass) {
  std::vector<int64_t> labels;  // sorted: 50 of class 0, 30 of 1, 20 of 2
  const size_t sizes[] = {50, 30, 20};
  for (size_t c = 0; c < 3; ++c) labels.insert(labels.end(), sizes[c], static_cast<int64_t>(c));
  ASSERT_EQ(labels.size(), 100u);
  Rows rows = split_rows(SplitBy::kStratified, 1, 100, {70, 20, 10}, labels);
  ASSERT_EQ(std::set<int64_t>(rows.begin(), rows.end()).size(), 100u);
  EXPECT_EQ(counts_in(part(rows, 0, 70), labels, 3), Rows({35, 21, 14}));
  EXPECT_EQ(counts_in(part(rows, 70, 20), labels, 3), Rows({10, 6, 4}));
  EXPECT_EQ(counts_in(part(rows, 90, 10), labels, 3), Rows({5, 3, 2}));
  EXPECT_EQ(split_rows(SplitBy::kStratified, 1, 100, {70, 20, 10}, labels), rows);
  EXPECT_NE(split_rows(SplitBy::kStratified, 2, 100, {70, 20, 10}, labels), rows);
}

TEST(SplitRows, StratifiedRoundsByTheLargestRemainder) {
  const std::vector<int64_t> labels = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
  // 4 of 10: 2, 1.2 and 0.8 rows.
  Rows rows = split_rows(SplitBy::kStratified, 5, 10, {6, 4, 0}, labels);
  EXPECT_EQ(counts_in(part(rows, 6, 4), labels, 3), Rows({2, 1, 1}));
  // 1 of 10: 0.5, 0.3, 0.2; and with equal remainders the lower class first.
  rows = split_rows(SplitBy::kStratified, 5, 10, {9, 1, 0}, labels);
  EXPECT_EQ(counts_in(part(rows, 9, 1), labels, 3), Rows({1, 0, 0}));
  const std::vector<int64_t> even = {1, 1, 0, 0};
  rows = split_rows(SplitBy::kStratified, 5, 4, {3, 1, 0}, even);
  EXPECT_EQ(counts_in(part(rows, 3, 1), even, 2), Rows({1, 0}));
}

TEST(SplitRows, StratifiedTakesTheRowsInTheOrderOfThePermutation) {
  const std::vector<int64_t> labels = {0, 1, 0, 1, 0, 1};
  Rows order = RandomState(9).permutation(6), rows = split_rows(SplitBy::kStratified, 9, 6, {4, 2, 0}, labels);
  auto first_of = [&](int64_t c) {
    return *std::find_if(order.begin(), order.end(),
                         [&](int64_t row) { return labels[static_cast<size_t>(row)] == c; });
  };
  std::set<int64_t> valid(rows.begin() + 4, rows.end());
  EXPECT_EQ(valid, std::set<int64_t>({first_of(0), first_of(1)}));
}

}  // namespace
}  // namespace thtrain
