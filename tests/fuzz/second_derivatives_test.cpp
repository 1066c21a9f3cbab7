// First and second derivatives through random bodies, compared with those of the same formula without bodies:
// by the reference, by the reference of what the passes make of them, and for some by native code.
// THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES ask for more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/pipeline.h"
#include "tests/fuzz/smooth_body.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain::second_derivatives_test {
namespace {

class SmoothCase {
 public:
  explicit SmoothCase(uint64_t seed) {
    std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
    const std::function<size_t(size_t)> below = [&](size_t n) { return random() % n; };
    body_ = random_smooth_body(below, 1 + below(3));
    smooth_cost_ = below(2) == 0;
    for (const Expr& x : variables_) {
      Tensor value = Tensor::empty(DType::kFloat64, x.type().known_shape());
      for (int64_t i = 0; i < value.size(); ++i) value.data<double>()[i] = static_cast<double>(below(2001)) / 1000 - 1;
      values_.push_back(value);
    }
    text_ = str("seed ", seed, ": ", body_.text);
  }

  const std::string& text() const { return text_; }

  /// The value, the gradient of a cost of it, the gradient of a smooth function of that, how the gradient changes in
  /// one direction, and the gradient of how the cost does.
  std::vector<Expr> derivatives(bool inlined) const {
    const Expr y = body_.build({variables_[0], variables_[1], variables_[2]}, inlined);
    const Expr cost = smooth_cost_ ? sum(sin(y)) : sum(sqr(y));
    const GradOptions zero{.disconnected = Disconnected::kZero};
    const JvpOptions zero_tangents{.disconnected = Disconnected::kZero};
    std::vector<Expr> out{y}, directions;
    for (const Expr& x : variables_) directions.push_back(cos(x + 0.5));
    const std::vector<Expr> first = grad(cost, variables_, zero);
    Expr of_first = make_constant(Tensor(0.0));
    for (const Expr& g : first) of_first = of_first + sum(sin(g));
    const Expr slope = jvp(std::vector{cost}, variables_, directions, zero_tangents)[0];
    for (const auto& more : {first, grad(of_first, variables_, zero), jvp(first, variables_, directions, zero_tangents),
                             grad(slope, variables_, zero)})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  std::vector<Tensor> reference(const std::vector<Expr>& outputs) const {
    std::vector<std::pair<Expr, Tensor>> bindings;
    for (size_t i = 0; i < variables_.size(); ++i) bindings.emplace_back(variables_[i], values_[i]);
    return evaluate(outputs, bindings);
  }
  std::vector<Tensor> optimized(const std::vector<Expr>& outputs) const {
    return reference(optimize({.inputs = variables_, .outputs = outputs, .updates = {}}, {.verify = true}).outputs);
  }
  std::vector<Tensor> run(const std::vector<Expr>& outputs, Mode mode) const {
    return function({variables_.begin(), variables_.end()}, {outputs.begin(), outputs.end()}, {},
                    {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(values_);
  }

 private:
  const std::vector<Expr> variables_{vector("s", {3}), vector("c", {3}), matrix("w", {3, 3})};
  SmoothBody body_;
  bool smooth_cost_;
  std::vector<Tensor> values_;
  std::string text_;
};

// Sums are taken in other orders.
void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].shape(), wanted[o].shape()) << what << ", output " << o;
    double largest = 1;
    for (int64_t i = 0; i < wanted[o].size(); ++i) largest = std::max(largest, std::abs(wanted[o].as_double(i)));
    for (int64_t i = 0; i < got[o].size(); ++i) {
      const double a = got[o].as_double(i), b = wanted[o].as_double(i);
      ASSERT_LE(std::abs(a - b), 1e-8 * largest)
          << what << ", output " << o << ", element " << i << ": " << a << ", expected " << b;
    }
  }
}

void for_each_case(int64_t default_cases, const std::function<void(const SmoothCase& c, int64_t i)>& test) {
  const FuzzSettings settings = fuzz_settings(1, default_cases);
  SCOPED_TRACE(settings.text());
  for (int64_t i = 0; i < settings.cases; ++i) {
    const SmoothCase c(settings.seed + static_cast<uint64_t>(i));
    try {
      test(c, i);
    } catch (const Error& error) {
      ADD_FAILURE() << c.text() << "\n" << error.what();
    }
  }
}

TEST(RandomSecondDerivatives, AreThoseOfTheBodiesWrittenOut) {
  for_each_case(60, [](const SmoothCase& c, int64_t) {
    const std::vector<Expr> bodies = c.derivatives(false);
    const std::vector<Tensor> wanted = c.reference(c.derivatives(true));
    expect_close(c.reference(bodies), wanted, c.text());
    expect_close(c.optimized(bodies), wanted, c.text() + ", optimized");
  });
}

TEST(RandomSecondDerivatives, AreTheSameInNativeCode) {
  for_each_case(3, [](const SmoothCase& c, int64_t i) {
    const std::vector<Expr> bodies = c.derivatives(false);
    const std::vector<Tensor> wanted = c.reference(bodies);
    expect_close(c.run(bodies, Mode::kNative), wanted, c.text() + ", native");
    if (i % 4 == 0) expect_close(c.run(bodies, Mode::kDebug), wanted, c.text() + ", debug");
  });
}

}  // namespace
}  // namespace thtrain::second_derivatives_test
