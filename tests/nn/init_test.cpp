#include "nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

Init init_named(const std::string& law, double amount) {
  using Law = Init::Law;
  const std::pair<const char*, Law> laws[] = {{"glorot_uniform", Law::kGlorotUniform},
                                              {"glorot_normal", Law::kGlorotNormal},
                                              {"he_uniform", Law::kHeUniform},
                                              {"he_normal", Law::kHeNormal},
                                              {"normal", Law::kNormal},
                                              {"uniform", Law::kUniform},
                                              {"orthogonal", Law::kOrthogonal}};
  for (const auto& [name, value] : laws)
    if (law == name) return {.law = value, .scale = amount, .deviation = amount, .range = amount};
  ADD_FAILURE() << law;
  return {};
}

// The bounds are multiplied in another order than in the script, which may cost a unit in the last place; an orthogonal
// matrix comes from another algorithm.
TEST(Init, DrawsWhatNumPyDraws) {
  std::vector<GoldenLine> lines = golden_lines("initializers.txt");
  ASSERT_EQ(lines.size(), 7u * 4 * 2);
  for (size_t i = 0; i < lines.size(); i += 2) {
    const GoldenLine& line = lines[i];
    RandomState random(std::stoll(line.arguments[2]));
    Init init = init_named(line.name, std::stod(line.arguments[3]));
    Tensor drawn = draw_weights(init, std::stoll(line.arguments[0]), std::stoll(line.arguments[1]), random);
    Tensor expected = line.result(DType::kFloat64);
    ASSERT_EQ(drawn.type_text(), expected.type_text()) << line.text;
    double bound = line.name == "orthogonal" ? 1e-14 : 4e-16;
    for (int64_t k = 0; k < drawn.size(); ++k)
      EXPECT_NEAR(drawn.as_double(k), expected.as_double(k), bound) << line.text << " element " << k;
    // The next layer draws from where this one stopped.
    Tensor then = lines[i + 1].result(DType::kFloat64);
    for (int64_t k = 0; k < then.size(); ++k) EXPECT_EQ(random.uniform(0, 1), then.as_double(k)) << line.text;
  }
}

TEST(Init, TheTutorialsHiddenLayerIsExact) {
  RandomState random(1234), plain(1234);
  Tensor w = draw_weights({}, 784, 500, random);
  double bound = std::sqrt(6.0 / (784 + 500));
  for (int64_t k = 0; k < w.size(); ++k) ASSERT_EQ(w.as_double(k), plain.uniform(-bound, bound));
}

TEST(Init, ConstantAndZerosDrawNothing) {
  RandomState random(1), untouched(1);
  Tensor constant = draw_weights({.law = Init::Law::kConstant, .value = 0.25}, 2, 3, random);
  Tensor zeros = draw_weights({.law = Init::Law::kZeros}, 2, 3, random);
  EXPECT_EQ(constant.text(), "[[0.25, 0.25, 0.25], [0.25, 0.25, 0.25]]");
  EXPECT_EQ(zeros.text(), "[[0, 0, 0], [0, 0, 0]]");
  EXPECT_EQ(random.state(), untouched.state());
}

TEST(Init, OrthogonalColumnsOfALargeMatrix) {
  RandomState random(3);
  int64_t rows = 70, columns = 41;
  Tensor q = draw_weights({.law = Init::Law::kOrthogonal}, rows, columns, random);
  for (int64_t a = 0; a < columns; ++a)
    for (int64_t b = 0; b <= a; ++b) {
      double product = 0;
      for (int64_t i = 0; i < rows; ++i) product += q.at<double>({i, a}) * q.at<double>({i, b});
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-14);
    }
}

}  // namespace
}  // namespace thtrain
