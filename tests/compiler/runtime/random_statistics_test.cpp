// Statistical tests of every distribution, with fixed seeds: Kolmogorov and Smirnov's for continuous ones, chi-square
// for counts. A right generator fails one of a thousand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "compiler/api.h"

namespace thtrain {
namespace {

constexpr int64_t kCount = 30000;

using Distribute = std::function<double(double)>;
struct Continuous {
  std::string name;
  Expr sample;
  Distribute below;  // the distribution function
};

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

std::vector<Continuous> continuous() {
  const RandomStreams mt(4321);
  const MrgRandomStreams mrg(4321);
  auto uniform = [](double x) { return std::clamp((x + 1) / 3, 0.0, 1.0); };
  auto normal = [](double x) { return normal_below((x - 1) / 2); };
  const double tail = normal_below(-2);
  return {
      {"uniform", mt.uniform({kCount}, -1, 2), uniform},
      {"random_sample", mt.random_sample({kCount}), [](double x) { return x; }},
      {"normal", mt.normal({kCount}, 1, 2), normal},
      {"standard_normal", mt.standard_normal({kCount}), normal_below},
      {"lognormal", mt.lognormal({kCount}, 0.5, 0.25),
       [](double x) { return normal_below((std::log(x) - 0.5) / 0.25); }},
      {"exponential", mt.exponential({kCount}, 2.0), [](double x) { return 1 - std::exp(-x / 2); }},
      {"laplace", mt.laplace({kCount}, 1.0, 2.0),
       [](double x) { return x < 1 ? 0.5 * std::exp((x - 1) / 2) : 1 - 0.5 * std::exp((1 - x) / 2); }},
      {"logistic", mt.logistic({kCount}, 1.0, 2.0), [](double x) { return 1 / (1 + std::exp((1 - x) / 2)); }},
      {"gamma below 1", mt.gamma({kCount}, 0.5, 2.0), [](double x) { return std::erf(std::sqrt(x / 2)); }},
      {"gamma above 1", mt.gamma({kCount}, 2.0, 3.0), [](double x) { return 1 - std::exp(-x / 3) * (1 + x / 3); }},
      {"beta below 1", mt.beta({kCount}, 0.5, 0.5),
       [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }},
      {"beta above 1", mt.beta({kCount}, 2.0, 3.0), [](double x) { return x * x * (6 - 8 * x + 3 * x * x); }},
      {"chisquare", mt.chisquare({kCount}, 4.0), [](double x) { return 1 - std::exp(-x / 2) * (1 + x / 2); }},
      {"mrg uniform", mrg.uniform({kCount}, -1, 2), uniform},
      {"mrg normal", mrg.normal({kCount}, 1, 2), normal},
      {"mrg truncated_normal", mrg.truncated_normal({kCount}, 0, 0.87962566103423978),
       [tail](double x) { return (normal_below(x) - tail) / (1 - 2 * tail); }},
  };
}

TEST(RandomStatistics, ContinuousNumbersFollowTheirDistributions) {
  const std::vector<Continuous> all = continuous();
  std::vector<Out> outputs;
  for (const Continuous& one : all) outputs.emplace_back(one.sample);
  const std::vector<Tensor> got = function({}, outputs)({});
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<double> x(got[k].data<double>(), got[k].data<double>() + kCount);
    std::sort(x.begin(), x.end());
    double farthest = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      const double below = all[k].below(x[static_cast<size_t>(i)]), n = static_cast<double>(kCount);
      farthest = std::max({farthest, static_cast<double>(i + 1) / n - below, below - static_cast<double>(i) / n});
    }
    EXPECT_LT(farthest * std::sqrt(static_cast<double>(kCount)), 1.95) << all[k].name;  // p = 0.001
  }
}

double log_choose(int64_t n, int64_t k) {
  auto factorial = [](int64_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return factorial(n) - factorial(k) - factorial(n - k);
}

std::vector<double> binomial_chances(int64_t n, double p) {
  std::vector<double> out;
  for (int64_t k = 0; k <= n; ++k)
    out.push_back(std::exp(log_choose(n, k) + static_cast<double>(k) * std::log(p) +
                           static_cast<double>(n - k) * std::log(1 - p)));
  return out;
}

std::vector<double> poisson_chances(double rate) {
  std::vector<double> out;
  for (int64_t k = 0; k < 200; ++k)
    out.push_back(std::exp(static_cast<double>(k) * std::log(rate) - rate - std::lgamma(static_cast<double>(k) + 1)));
  return out;
}

std::vector<double> geometric_chances(double p) {
  std::vector<double> out{0};
  for (double left = 1; out.size() < 2000; left *= 1 - p) out.push_back(left * p);
  return out;
}

// Chi-square of counts; classes that expect less than 8 are taken together. The bound: Wilson and Hilferty's, p =
// 0.001.
void expect_counts(const std::string& name, const std::vector<double>& counts, const std::vector<double>& chances) {
  const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
  double square = 0, expected = 0, seen = 0, classes = 0;
  auto close = [&] {
    square += (seen - expected) * (seen - expected) / expected;
    ++classes;
    seen = expected = 0;
  };
  double rest = 1;
  for (size_t k = 0; k < chances.size(); ++k) {
    expected += n * chances[k];
    seen += counts[k];
    rest -= chances[k];
    if (expected >= 8 && n * rest >= 8) close();
  }
  if (expected >= 1) close();
  const double freedom = classes - 1, t = 2 / (9 * freedom);
  const double bound = freedom * std::pow(1 - t + 3.09 * std::sqrt(t), 3);
  EXPECT_GT(freedom, 0) << name;
  EXPECT_LT(square, bound) << name << ": " << classes << " classes";
}

struct Discrete {
  std::string name;
  Expr sample;  // integers from 0
  std::vector<double> chances;
};

std::vector<Discrete> discrete() {
  const RandomStreams mt(987);
  const MrgRandomStreams mrg(987);
  const std::vector<double> p{0.1, 0.25, 0.05, 0.6}, equal(7, 1.0 / 7);
  const Expr chances = make_constant(Tensor::of(p, {4}));
  const Expr rows = broadcast_to(chances, {kCount, 4});
  // Pairs of different results: the second follows from what the first leaves.
  std::vector<double> pairs;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) pairs.push_back(i == j ? 0 : p[i] * p[j] / (1 - p[i]));
  auto pair_number = [](const Expr& pair) { return 4 * pair[{all(), 0}] + pair[{all(), 1}]; };
  // The 24 orders of 4 elements, by their first three.
  const Expr order = mt.permutation(4, {kCount});
  std::vector<double> orders;
  for (int code = 0; code < 64; ++code) {
    const int a = code / 16, b = code / 4 % 4, c = code % 4;
    orders.push_back(a == b || a == c || b == c ? 0 : 1.0 / 24);
  }
  return {
      {"poisson below 10", mt.poisson({kCount}, 3.5), poisson_chances(3.5)},
      {"poisson above 10", mt.poisson({kCount}, 40.0), poisson_chances(40)},
      {"binomial by inversion", mt.binomial({kCount}, 20, 0.3), binomial_chances(20, 0.3)},
      {"binomial by rejection", mt.binomial({kCount}, 200, 0.6), binomial_chances(200, 0.6)},
      {"geometric by inversion", mt.geometric({kCount}, 0.1), geometric_chances(0.1)},
      {"geometric by search", mt.geometric({kCount}, 0.5), geometric_chances(0.5)},
      {"randint", mt.randint({kCount}, 0, 7), equal},
      {"random_integers", mt.random_integers({kCount}, 0, 6), equal},
      {"choice", mt.choice({kCount}, 4, true, chances), p},
      {"choice of equal ones", mt.choice({kCount}, 7), equal},
      {"permutation", 16 * order[{all(), 0}] + 4 * order[{all(), 1}] + order[{all(), 2}], orders},
      {"multinomial", mt.multinomial({kCount}, 20, chances)[{all(), 1}], binomial_chances(20, 0.25)},
      {"mrg binomial", mrg.binomial({kCount}, 1, 0.3), {0.7, 0.3}},
      {"mrg binomial of several", mrg.binomial({kCount}, 9, 0.3), binomial_chances(9, 0.3)},
      {"mrg multinomial", mrg.multinomial(rows, 20)[{all(), 1}], binomial_chances(20, 0.25)},
      {"mrg choice", pair_number(mrg.choice(rows, 2)), pairs},
  };
}

TEST(RandomStatistics, CountsFollowTheirDistributions) {
  const std::vector<Discrete> all = discrete();
  std::vector<Out> outputs;
  for (const Discrete& one : all) outputs.emplace_back(one.sample);
  const std::vector<Tensor> got = function({}, outputs)({});
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<double> counts(all[k].chances.size());
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t at = got[k].as_int(i);
      ASSERT_TRUE(at >= 0 && at < static_cast<int64_t>(counts.size())) << all[k].name << ": " << at;
      ++counts[static_cast<size_t>(at)];
      ASSERT_GT(all[k].chances[static_cast<size_t>(at)], 0) << all[k].name << ": " << at;
    }
    expect_counts(all[k].name, counts, all[k].chances);
  }
}

}  // namespace
}  // namespace thtrain
