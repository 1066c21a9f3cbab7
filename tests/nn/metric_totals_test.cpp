#include "nn/metric_totals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/base/random_state.h"
#include "compiler/ir/variables.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

using How = MetricPart::How;

// Totals of one part "p" over an array, cut into chunks of this length.
MetricTotals totals_of(How how, const Tensor& all, int64_t chunk, const Shape& shape = {}) {
  Dims dims = {Dim::named("n")};
  for (size_t axis = 1; axis < all.rank(); ++axis) dims.push_back(all.dim(axis));
  MetricTotals out({{"p", make_input({.dtype = k64, .dims = dims}, "p"), how, shape}});
  for (int64_t begin = 0; begin < all.dim(0); begin += chunk) {
    Tensor part = all.rows(begin, std::min(chunk, all.dim(0) - begin));
    out.add(std::span(&part, 1));
  }
  return out;
}

Tensor drawn(const Shape& shape) {
  std::vector<double> numbers = RandomState(5).normal(3, 1, static_cast<size_t>(element_count(shape)));
  return Tensor::of(numbers, shape);
}

TEST(MetricTotals, IntegersAreAdded) {
  MetricTotals totals({{"a", make_input({.dtype = DType::kInt64}, "a"), How::kSum},
                       {"b", make_input({.dtype = DType::kInt64, .dims = {2}}, "b"), How::kSum}});
  EXPECT_EQ(totals.number("a"), 0);
  for (int64_t i : {3, 4}) totals.add(std::vector{Tensor(i), Tensor::vector<int64_t>({i, -1})});
  EXPECT_EQ(totals.number("a"), 7);
  EXPECT_EQ(totals.total("b").text(), "[7, -2]");
  EXPECT_TRUE(totals.has("b"));
  EXPECT_FALSE(totals.has("c"));
  EXPECT_THROW(totals.total("c"), InternalError);
}

TEST(MetricTotals, RowsAreAddedInTheirOrderWhateverTheChunks) {
  Tensor all = drawn({101, 3});
  double sums[3] = {};
  for (int64_t i = 0; i < all.size(); ++i) sums[i % 3] += all.as_double(i);
  for (int64_t chunk : {1, 7, 50, 101}) {
    Tensor total = totals_of(How::kAddRows, all, chunk).total("p");
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(total.as_double(j), sums[j]) << chunk;
  }
}

TEST(MetricTotals, NumbersAreAddedAtTheirIndices) {
  Tensor all = Tensor::matrix<double>({{3, 1}, {0, 0.5}, {3, 2}, {5, 1}, {0, 0.25}});
  for (int64_t chunk : {1, 2, 5})
    EXPECT_EQ(totals_of(How::kAddAt, all, chunk, {2, 3}).total("p").text(), "[[0.75, 0, 0], [3, 0, 1]]") << chunk;
  for (double index : {-1.0, 6.0, std::nan("")})
    EXPECT_EQ(text_without_node([&] {
                totals_of(How::kAddAt, Tensor::matrix<double>({{index, 1}}), 1, {2, 3});
              }),
              "error: a label is out of range\n  expected: classes that the scores have");
}

TEST(MetricTotals, SpreadIsThatOfTwoPasses) {
  Tensor all = drawn({101, 3});
  for (int64_t i = 0; i < 101; ++i) all.at<double>({i, 0}) = static_cast<double>(i % 4);  // a weight of 0 too
  for (int64_t i = 0; i < 101; ++i) all.at<double>({i, 2}) += 1e9;
  double weight = 0, means[2] = {}, squares[2] = {};
  const double far[2] = {0, 1e9};
  for (int64_t i = 0; i < 101; ++i) weight += all.at<double>({i, 0});
  for (int64_t j = 0; j < 2; ++j) {
    for (int64_t i = 0; i < 101; ++i) means[j] += all.at<double>({i, 0}) * (all.at<double>({i, 1 + j}) - far[j]);
    means[j] /= weight;
    for (int64_t i = 0; i < 101; ++i)
      squares[j] += all.at<double>({i, 0}) * std::pow(all.at<double>({i, 1 + j}) - far[j] - means[j], 2);
  }
  Tensor whole = totals_of(How::kSpread, all, 101).total("p");
  EXPECT_EQ(whole.shape(), Shape({2, 2}));
  EXPECT_NEAR(whole.as_double(0), means[0], 1e-14);
  EXPECT_NEAR(whole.as_double(2), squares[0], 1e-11);
  EXPECT_NEAR(whole.as_double(1) - 1e9, means[1], 1e-5);
  EXPECT_NEAR(whole.as_double(3), squares[1], 1e-6 * squares[1]);
  for (int64_t chunk : {1, 7, 50}) EXPECT_TRUE(same_bits(totals_of(How::kSpread, all, chunk).total("p"), whole));
}

TEST(MetricTotals, RowsAreKept) {
  Tensor all = drawn({11, 2});
  for (int64_t chunk : {1, 4, 11}) EXPECT_TRUE(same_bits(totals_of(How::kKeepRows, all, chunk).total("p"), all));
  EXPECT_EQ(totals_of(How::kKeepRows, Tensor::zeros(k64, {0, 2}), 4).total("p").type_text(), "float64[0, 2]");
}

TEST(MetricTotals, KeepTheValuesOfBuffersThatAreUsedAgain) {
  Tensor buffer = Tensor::vector({1.0, 2.0});
  MetricTotals totals({{"p", make_input({.dtype = k64, .dims = {2}}, "p"), How::kKeepRows}});
  totals.add(std::span(&buffer, 1));
  buffer.data<double>()[0] = 5;
  totals.add(std::span(&buffer, 1));
  EXPECT_EQ(totals.total("p").text(), "[1, 2, 5, 2]");
}

}  // namespace
}  // namespace thtrain
