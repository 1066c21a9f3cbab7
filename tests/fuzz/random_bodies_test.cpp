// Random loops and branches in each other, with prints, masks and gradients: native, reference and debug mode give the
// same.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

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

// The labels of what was printed, in order: rounding may change a digit of the values.
std::string labels_of(const std::string& lines) {
  std::string out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) out += line.substr(0, line.find(':')) + " ";
  return out;
}

struct Called {
  std::vector<Tensor> values;
  std::string printed;
};

Called call(const std::vector<Expr>& inputs, const std::vector<Out>& outputs, Mode mode,
            const std::vector<Tensor>& values) {
  Function f = function(std::vector<In>(inputs.begin(), inputs.end()), outputs, {}, {.mode = mode});
  testing::internal::CaptureStderr();
  Called out;
  try {
    out.values = f(values);
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  out.printed = labels_of(testing::internal::GetCapturedStderr());
  return out;
}

TEST(RandomBodies, GiveTheSameInEveryModeWithTheirGradients) {
  const FuzzSettings settings = fuzz_settings(1, 16);
  SCOPED_TRACE(settings.text());
  int label = 0;
  for (int64_t i = 0; i < settings.cases; ++i) {
    std::mt19937_64 random(settings.seed + static_cast<uint64_t>(i));
    const auto below = [&](size_t n) { return random() % n; };
    const RandomBody body = random_printing_body(below, 1 + static_cast<size_t>(i % 4), label);
    const Expr s = vector("s", {5}), c = vector("c", {5});
    Expr value = body.build(s, c) + s * c;
    if (random() % 2) value = value[gt(value, 0.1)];
    const std::vector<Expr> first = grad(sum(sqr(value)), {s, c});
    const std::vector<Out> outputs{value, first[0], first[1], grad(sum(sqr(first[0])), s)};
    std::vector<Tensor> inputs;
    for (int k = 0; k < 2; ++k) {
      Tensor x = Tensor::empty(DType::kFloat64, {5});
      for (int64_t e = 0; e < 5; ++e) x.data<double>()[e] = static_cast<double>(random() % 2001) / 1000 - 1;
      inputs.push_back(x);
    }
    try {
      const Called reference = call({s, c}, outputs, Mode::kReference, inputs),
                   native = call({s, c}, outputs, Mode::kNative, inputs),
                   debug = call({s, c}, outputs, Mode::kDebug, inputs);
      EXPECT_EQ(native.printed, reference.printed) << "case " << i << ": " << body.text;
      EXPECT_EQ(debug.printed, reference.printed) << "case " << i << ": " << body.text;
      for (size_t o = 0; o < outputs.size(); ++o)
        expect_near(native.values[o], reference.values[o], str("case ", i, ", output ", o, ": ", body.text));
    } catch (const Error& error) {
      ADD_FAILURE() << "case " << i << ": " << body.text << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace thtrain
