// Random loops and branches in each other, with their gradients: native, reference and debug mode give the same.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/api.h"
#include "tests/fuzz/random_body.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {
namespace {

// Near enough: the reference adds in another order. A threshold that both miss by rounding has not been met.
void expect_near(const Tensor& native, const Tensor& reference, const std::string& what) {
  ASSERT_EQ(native.shape(), reference.shape());
  for (int64_t i = 0; i < native.size(); ++i) {
    const double a = native.as_double(i), b = reference.as_double(i);
    EXPECT_TRUE(std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)) || (std::isnan(a) && std::isnan(b)))
        << what << ", element " << i << ": " << a << ", expected " << b;
  }
}

TEST(RandomBodies, GiveTheSameInEveryModeWithTheirGradients) {
  const FuzzSettings settings = fuzz_settings(1, 16);
  SCOPED_TRACE(settings.text());
  for (int64_t i = 0; i < settings.cases; ++i) {
    std::mt19937_64 random(settings.seed + static_cast<uint64_t>(i));
    const RandomBody body = random_body([&](size_t n) { return random() % n; }, 1 + static_cast<size_t>(i % 4));
    const Expr s = vector("s", {5}), c = vector("c", {5});
    const Expr value = body.build(s, c) + s * c;
    const std::vector<Expr> first = grad(sum(sqr(value)), {s, c});
    const std::vector<Out> outputs{value, first[0], first[1], grad(sum(sqr(first[0])), s)};
    std::vector<Tensor> inputs;
    for (int k = 0; k < 2; ++k) {
      Tensor x = Tensor::empty(DType::kFloat64, {5});
      for (int64_t e = 0; e < 5; ++e) x.data<double>()[e] = static_cast<double>(random() % 2001) / 1000 - 1;
      inputs.push_back(x);
    }
    auto results = [&](Mode mode) { return function({s, c}, outputs, {}, {.mode = mode})(inputs); };
    try {
      const std::vector<Tensor> reference = results(Mode::kReference), native = results(Mode::kNative);
      results(Mode::kDebug);
      for (size_t o = 0; o < reference.size(); ++o)
        expect_near(native[o], reference[o], str("case ", i, ", output ", o, ": ", body.text));
    } catch (const Error& error) {
      ADD_FAILURE() << "case " << i << ": " << body.text << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace thtrain
