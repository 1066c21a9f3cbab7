// The numbers behind the pictures of `thtrain show` that judge a classifier and place examples in the plane, compared
// with scikit-learn's (tests/golden/embedding.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/golden_lines.h"
#include "trainers/show/principal_components.h"
#include "trainers/show/ranking.h"
#include "trainers/show/tsne.h"

namespace thtrain::embedding_test {
namespace {

const std::map<std::string, Tensor>& golden() {
  static const std::map<std::string, Tensor> all = [] {
    std::map<std::string, Tensor> out;
    for (const GoldenLine& line : golden_lines("embedding.txt")) out[line.name] = line.result(DType::kFloat64);
    return out;
  }();
  return all;
}

std::vector<double> numbers(const std::string& name) {
  const Tensor& of = golden().at(name);
  return {of.data<double>(), of.data<double>() + of.size()};
}

double number(const std::string& name) {
  return golden().at(name).as_double(0);
}

// The numbers of the rows, nearest first, to row i, without itself.
std::vector<int64_t> neighbours(const Tensor& x, int64_t i) {
  const int64_t n = x.dim(0), d = x.dim(1);
  std::vector<double> distances(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = 0; k < d; ++k)
      distances[static_cast<size_t>(j)] += std::pow(x.as_double(i * d + k) - x.as_double(j * d + k), 2);
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), int64_t{0});
  std::erase(out, i);
  std::stable_sort(out.begin(), out.end(), [&](int64_t a, int64_t b) {
    return distances[static_cast<size_t>(a)] < distances[static_cast<size_t>(b)];
  });
  return out;
}

// How far the k nearest in the plane are near among the examples: 1 where all of them are their k nearest (J. Venna,
// S. Kaski, ICANN 2001, equation 1; scikit-learn's trustworthiness).
double trustworthiness(const Tensor& x, const Tensor& coordinates, int64_t k) {
  const int64_t n = x.dim(0);
  double penalty = 0;
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<int64_t> of_examples = neighbours(x, i), in_plane = neighbours(coordinates, i);
    for (int64_t j = 0; j < k; ++j) {
      const auto found = std::find(of_examples.begin(), of_examples.end(), in_plane[static_cast<size_t>(j)]);
      penalty += static_cast<double>(std::max<int64_t>(0, found - of_examples.begin() + 1 - k));
    }
  }
  return 1 - penalty * 2 / static_cast<double>(n * k * (2 * n - 3 * k - 1));
}

TEST(Embedding, PrincipalComponentsAreThoseOfScikitLearn) {
  const Tensor& digits = golden().at("digits");
  const PrincipalComponents found = principal_components(digits, 2);
  for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(found.variances[k], numbers("variances")[k], 1e-6);
  EXPECT_NEAR(found.whole, number("whole_variance"), 1e-6);
  const Tensor& expected = golden().at("places");
  ASSERT_EQ(found.coordinates.shape(), expected.shape());
  for (int64_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.coordinates.as_double(i), expected.as_double(i), 1e-4) << i;
  EXPECT_NEAR(trustworthiness(digits, found.coordinates, 5), number("trustworthiness_of_pca"), 1e-4);  // distances tie
}

TEST(Embedding, PrincipalComponentsOfFewNumbersAndOfFewRows) {
  const Tensor line = Tensor::matrix<double>({{0, 0}, {1, 2}, {2, 4}, {3, 6}});
  const PrincipalComponents of_line = principal_components(line, 2);
  EXPECT_NEAR(of_line.variances[0], 25.0 / 3, 1e-12);
  EXPECT_NEAR(of_line.variances[1], 0, 1e-12);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(of_line.coordinates.as_double(2 * i), (static_cast<double>(i) - 1.5) * std::sqrt(5.0), 1e-12);
  const PrincipalComponents of_three = principal_components(counting({3, 40}).cast(DType::kFloat64), 2);
  EXPECT_NEAR(of_three.variances[0], 40 * 40 * 40, 1e-6);  // rows are a constant apart, 40 in each of 40 numbers
}

// The objective may end in another minimum, but not in a worse one.
TEST(Embedding, TsneIsAsGoodAsThatOfScikitLearn) {
  const Tensor& digits = golden().at("digits");
  const Tsne found = tsne(digits, principal_components(digits, 2).coordinates);
  EXPECT_NEAR(found.divergence, number("divergence"), 0.02);
  EXPECT_NEAR(trustworthiness(digits, found.coordinates, 5), number("trustworthiness"), 0.005);
  const Tsne again = tsne(digits, principal_components(digits, 2).coordinates);
  for (int64_t i = 0; i < found.coordinates.size(); ++i)
    EXPECT_EQ(found.coordinates.as_double(i), again.coordinates.as_double(i));
}

TEST(Ranking, CurvesAreThoseOfScikitLearn) {
  std::vector<bool> labels;
  for (double label : numbers("labels")) labels.push_back(label == 1);
  const RankingCurves found = ranking_curves(numbers("scores"), labels);
  EXPECT_NEAR(found.area, number("area"), 1e-9);
  EXPECT_NEAR(found.average_precision, number("average_precision"), 1e-9);
  const Tensor &roc = golden().at("roc"), &precision = golden().at("precision_recall");
  ASSERT_EQ(std::ssize(found.points), roc.dim(0));
  ASSERT_EQ(std::ssize(found.points), precision.dim(0));
  for (int64_t i = 0; i < roc.dim(0); ++i) {
    const RankingCurves::Point& point = found.points[static_cast<size_t>(i)];
    EXPECT_NEAR(point.false_rate, roc.as_double(2 * i), 1e-9) << i;
    EXPECT_NEAR(point.recall, roc.as_double(2 * i + 1), 1e-9) << i;
    EXPECT_NEAR(point.recall, precision.as_double(2 * i), 1e-9) << i;
    EXPECT_NEAR(point.precision, precision.as_double(2 * i + 1), 1e-9) << i;
  }
}

TEST(Ranking, OfOneClassThereAreNone) {
  const RankingCurves found = ranking_curves({0.1, 0.2}, {true, true});
  EXPECT_TRUE(std::isnan(found.area));
  EXPECT_TRUE(std::isnan(found.average_precision));
  EXPECT_TRUE(found.points.empty());
}

TEST(Ranking, ReliabilityIsThatOfScikitLearnsBins) {
  const std::vector<double> confidence = numbers("confidence"), right = numbers("right");
  Judgements of;
  of.scores = Tensor::zeros(DType::kFloat64, {std::ssize(confidence), 2});
  for (size_t i = 0; i < confidence.size(); ++i) {
    of.classes.push_back(right[i] == 1 ? 1 : 0);
    of.taken.push_back(1);
    of.scores.data<double>()[2 * i + 1] = confidence[i];
  }
  const Reliability found = reliability(of);
  EXPECT_NEAR(found.error, number("calibration_error"), 1e-9);
  const Tensor& bins = golden().at("bins");
  int64_t row = 0;
  for (const Reliability::Bin& bin : found.bins) {
    if (bin.count == 0) continue;
    EXPECT_EQ(bin.count, bins.as_int(3 * row));
    EXPECT_NEAR(bin.accuracy(), bins.as_double(3 * row + 1), 1e-9);
    EXPECT_NEAR(bin.confidence, bins.as_double(3 * row + 2), 1e-9);
    ++row;
  }
  EXPECT_EQ(row, bins.dim(0));
}

}  // namespace
}  // namespace thtrain::embedding_test
