// Error bounds hold for every op, and are not much larger than they must be.
#include "compiler/ops/bounded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "compiler/api.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "tests/support/op_case_runner.h"

namespace thtrain::bounded_test {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

Lengths lengths_of(const Bindings& inputs) {
  Lengths out;
  for (const auto& [leaf, value] : inputs) out.bind_names(leaf, value);
  return out;
}

// ---- zeros ---------------------------------------------------------------------------------------------------------

// Near a zero that terms of other signs make, native code is as far off as these terms' roundings, not as the value's.
TEST(BoundsNearZeros, AreThoseOfTheTerms) {
  const std::vector<std::tuple<const char*, Expr (*)(const Operand&), double>> zeros = {
      {"psi", psi, -0.50408300826445541}, {"gammaln", gammaln, -2.4570247382208006}, {"j0", j0, 8.6537279129110122}};
  for (const auto& [name, f, zero] : zeros) {
    SCOPED_TRACE(name);
    Tensor at = Tensor::empty(DType::kFloat32, {200});
    for (int64_t i = 0; i < at.size(); ++i)
      at.data<float>()[i] = static_cast<float>(zero + 1e-6 * static_cast<double>(i - 100));
    const Expr x = tensor("x", {200}, DType::kFloat32), y = f(x);
    const Tensor native = function({x}, {y})({at})[0];
    const Bindings leaves = {{x, at}};
    BoundedEvaluator bounded(leaves, lengths_of(leaves), Infinities::kUnknown);
    const Bounded expected = bounded(y);
    bool is_far = false;  // farther than roundings of the value would bring it
    for (int64_t i = 0; i < at.size(); ++i) {
      const double off = std::abs(native.as_double(i) - expected.value.as_double(i));
      EXPECT_LE(off, expected.error.as_double(i)) << at.as_double(i);
      is_far = is_far || off > 26 * 0x1p-23 * std::abs(expected.value.as_double(i));
    }
    EXPECT_TRUE(is_far);
  }
}

// ---- every op ------------------------------------------------------------------------------------------------------

class BoundOf : public testing::TestWithParam<const Op*> {};

// All but the leaves, which have no cases, and ops with an effect.
std::vector<const Op*> ops_with_bounds() {
  std::vector<const Op*> out;
  for (const Op* op : all_ops())
    if (op->cases && !op->has_effect) out.push_back(op);
  return out;
}

// An error for each floating or complex element, and values within it.
struct Moved {
  Bounded given;
  Tensor value;
};

Moved moved(const Tensor& x, std::mt19937_64& random) {
  Moved out{exactly(x), x.copy()};
  std::uniform_real_distribution<double> part(-1, 1);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>)
      for (int64_t i = 0; i < x.size(); ++i) {
        T& to = out.value.data<T>()[i];
        const double error = 1e-3 * static_cast<double>(std::abs(to)) + 1e-4, by = 0.999 * error * part(random);
        out.given.error.data<double>()[i] = error;
        if constexpr (is_complex_v<T>)
          to += static_cast<T>(std::polar(std::abs(by), 3 * part(random)));
        else
          to = static_cast<T>(static_cast<double>(to) + by);
      }
  });
  return out;
}

std::string text_of(std::complex<double> x) {
  return x.imag() == 0 ? str(x.real()) : str(x.real(), " + ", x.imag(), "i");
}

// The first element of `there` farther away than the bound and its own rounding, which the bound has too.
std::string outside(const Bounded& bound, const Tensor& there) {
  const Tensor value = there.contiguous();
  for (int64_t i = 0; i < value.size(); ++i) {
    const std::complex<double> x = complex_element(bound.value, i), y = complex_element(value, i);
    const double error = bound.error.data<double>()[i];
    if (std::isinf(error) || (std::isnan(std::abs(x)) && std::isnan(std::abs(y))) || x == y) continue;
    const bool is_rounded = is_float(value.dtype()) || is_complex(value.dtype());
    const double rounding = is_rounded ? 1e-5 * std::abs(x) + 1e-9 : 0;
    if (!(std::abs(x - y) <= error + rounding))
      return str("element ", i, ": ", text_of(y), ", the bound says ", text_of(x), " +- ", error);
  }
  return {};
}

TEST_P(BoundOf, HoldsForInputsWithinTheirErrors) {
  std::mt19937_64 random(17);
  for (const OpCase& c : GetParam()->cases()) {
    SCOPED_TRACE(c.name);
    const CaseInputs in = make_inputs(c, "x", 3);
    const std::vector<Expr> outputs = c.build(in.variables);
    Bindings plain, there;
    for (size_t i = 0; i < in.values.size(); ++i) plain.emplace_back(in.variables[i], in.values[i]);
    BoundedEvaluator bounded({}, lengths_of(plain), Infinities::kSame);
    for (const auto& [leaf, value] : plain) {
      const Moved m = moved(value, random);
      bounded.set(leaf, m.given);
      there.emplace_back(leaf, m.value);
    }
    std::vector<Tensor> values;
    try {
      values = evaluate(outputs, there);
    } catch (const UserError&) {
      continue;  // a condition that holds no more
    }
    for (size_t o = 0; o < outputs.size(); ++o)
      EXPECT_EQ(outside(bounded(outputs[o]), values[o]), "") << "output " << o;
  }
}

// Nothing is lost without a reason: on exact inputs every element has a finite bound, and a small one. A product of
// 2,050 numbers that cancel has the largest.
TEST_P(BoundOf, IsSmallOnExactInputs) {
  for (const OpCase& c : GetParam()->cases()) {
    SCOPED_TRACE(c.name);
    const CaseInputs in = make_inputs(c, "x", 3);
    const std::vector<Expr> outputs = c.build(in.variables);
    Bindings plain;
    for (size_t i = 0; i < in.values.size(); ++i) plain.emplace_back(in.variables[i], in.values[i]);
    BoundedEvaluator bounded(plain, lengths_of(plain), Infinities::kSame);
    for (const Expr& output : outputs) {
      if (output.type().kind != TypeKind::kTensor) continue;
      const Bounded& b = bounded(output);
      double largest = 0, error = 0;
      for (int64_t i = 0; i < b.value.size(); ++i) {
        const double x = std::abs(b.value.as_double(i));
        if (!std::isfinite(x)) continue;
        largest = std::max(largest, x);
        error = std::max(error, b.error.data<double>()[i]);
      }
      const bool is_single = output.dtype() == DType::kFloat32 || output.dtype() == DType::kComplex64;
      EXPECT_LE(error, (is_single ? 0x1p-23 : 0x1p-52) * 4e4 * (largest + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BoundOf, testing::ValuesIn(ops_with_bounds()),
                         [](const auto& info) { return info.param->name; });

// ---- whole programs: not more than a stated factor too large -----------------------------------------------------

// Values in the dtype, by a fixed seed.
Tensor drawn(DType dtype, const Shape& shape, uint64_t seed, double scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = scale * normal(random);
  return out.cast(dtype);
}

struct Program {
  std::vector<Tensor> inputs;
  std::function<std::vector<Expr>(const std::vector<Expr>&)> build;
};

// In float32 the errors are known from float64: bounds hold, and are below 1e4 steps of the largest value.
void expect_tight(const Program& program, double steps = 1e4) {
  std::vector<Expr> narrow, wide;
  Bindings narrow_bindings, wide_bindings;
  for (const Tensor& value : program.inputs) {
    const Dims dims(value.shape().begin(), value.shape().end());
    const DType dtype = is_float(value.dtype()) ? DType::kFloat64 : value.dtype();
    narrow.push_back(make_input({.dtype = value.dtype(), .dims = dims}, "x"));
    wide.push_back(make_input({.dtype = dtype, .dims = dims}, "x"));
    narrow_bindings.emplace_back(narrow.back(), value);
    wide_bindings.emplace_back(wide.back(), value.cast(dtype));
  }
  const std::vector<Expr> outputs = program.build(narrow), exact = program.build(wide);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Bounded b = evaluate_bounded(outputs[o], narrow_bindings, Infinities::kSame);
    const Tensor expected = evaluate({exact[o]}, wide_bindings)[0].contiguous();
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < b.value.size(); ++i) {
      const double error = b.error.data<double>()[i];
      EXPECT_LE(std::abs(b.value.as_double(i) - expected.as_double(i)), error) << "output " << o << ", element " << i;
      largest = std::max(largest, std::abs(expected.as_double(i)));
      worst = std::max(worst, error);
    }
    EXPECT_LE(worst, steps * 0x1p-23 * largest) << "output " << o;
  }
}

constexpr DType kSingle = DType::kFloat32;

TEST(BoundsAreTight, ForAStepOfAPerceptron) {
  const Tensor labels = Tensor::vector<int64_t>({0, 2, 1, 1, 2, 0, 3, 3});
  expect_tight({{drawn(kSingle, {8, 20}, 1), drawn(kSingle, {20, 16}, 2, 0.2), drawn(kSingle, {16}, 3, 0.1),
                 drawn(kSingle, {16, 4}, 4, 0.3), labels},
                [](const std::vector<Expr>& x) {
                  const Expr hidden = tanh(dot(x[0], x[1]) + x[2]);
                  const Expr cost = -mean(pick_rows(log(softmax(dot(hidden, x[3]))), x[4])) + 1e-4 * sum(sqr(x[1]));
                  std::vector<Expr> out{cost};
                  for (const Expr& g : grad(cost, {x[1], x[2], x[3]})) out.push_back(g);
                  out.push_back(x[1] - 0.1 * out[1]);
                  return out;
                }});
}

TEST(BoundsAreTight, ForSoftmax) {
  expect_tight({{drawn(kSingle, {5, 30}, 1, 3)}, [](const std::vector<Expr>& x) {
                  const Expr e = exp(x[0] - max(x[0], 1, true));
                  return std::vector{softmax(x[0]), log_softmax(x[0]), e / sum(e, 1, true)};
                }});
}

TEST(BoundsAreTight, ForNormalization) {
  expect_tight({{drawn(kSingle, {12, 40}, 1), drawn(kSingle, {40}, 2)}, [](const std::vector<Expr>& x) {
                  const Expr away = x[0] - mean(x[0], 1, true);
                  return std::vector{x[1] * away / sqrt(mean(sqr(away), 1, true) + 1e-5), var(x[0], 0)};
                }});
}

TEST(BoundsAreTight, ForARepeatedBody) {
  expect_tight({{drawn(kSingle, {7}, 1), drawn(kSingle, {7}, 2)}, [](const std::vector<Expr>& x) {
                  return repeat(4, {x[0]}, [&](const std::vector<Expr>& s) {
                    return std::vector<Expr>{tanh(s[0] * x[1]) + 0.5 * s[0]};
                  });
                }});
}

// ---- what is not known ---------------------------------------------------------------------------------------------

TEST(Bounded, SaysNothingOfAComparisonWithinItsErrors) {
  const Expr x = vector("x", {3});
  const Bindings given{{x, Tensor::vector({1.0, 2.0, 3.0})}};
  // sqr(sqrt(2)) is not exactly 2.
  const Bounded b = evaluate_bounded(switch_(ge(sqr(sqrt(x)), 2), 1.0, 0.0), given, Infinities::kSame);
  EXPECT_EQ(b.error.as_double(0), 0);
  EXPECT_EQ(b.error.as_double(1), 1);  // the distance of the two choices
  EXPECT_EQ(b.error.as_double(2), 0);
}

TEST(Bounded, KnowsAnInfinityOfTheSameOperations) {
  const Expr x = vector("x", {3});
  const Bindings given{{x, Tensor::vector({0.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})}};
  const Expr y = exp(1 / x) + x;
  const Bounded same = evaluate_bounded(y, given, Infinities::kSame);
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(same.error.as_double(i))) << i;
  const Bounded unknown = evaluate_bounded(y, given, Infinities::kUnknown);
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isinf(unknown.error.as_double(i))) << i;
}

// The order of additions decides what overflows; an infinity that is there does not ask for it.
TEST(Bounded, KnowsAnInfinityOfAProductByElement) {
  const Expr a = tensor("a", {3, 2}, DType::kFloat32), b = tensor("b", {2}, DType::kFloat32);
  const float inf = INFINITY;
  const Bindings given{{a, Tensor::matrix<float>({{1e30f, 3e38f}, {inf, 1}, {1, 2}})},
                       {b, Tensor::vector({1e30f, 1.f})}};
  const Bounded c = evaluate_bounded(dot(a, b), given, Infinities::kSame);
  EXPECT_TRUE(std::isinf(c.error.as_double(0)));
  EXPECT_EQ(c.error.as_double(1), 0);
  EXPECT_TRUE(std::isfinite(c.error.as_double(2)));
}

TEST(Bounded, AnOpWithoutARuleIsMovedWithinItsInputsErrors) {
  static const Op op{.name = "triple",
                     .doc = {},
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .reference =
                         [](const ReferenceArgs& a) {
                           Tensor out = a.inputs[0].copy();
                           for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] *= 3;
                           return std::vector<Tensor>{out};
                         }};
  const Expr x = vector("x", {2});
  BoundedEvaluator bounded({}, {}, Infinities::kSame);
  bounded.set(x, {Tensor::vector({1.0, -2.0}), Tensor::vector({0.0, 0.5})});
  const Bounded b = bounded(apply(op, {x}));
  EXPECT_LT(b.error.as_double(0), 1e-14);
  EXPECT_GE(b.error.as_double(1), 1.5);
  EXPECT_LE(b.error.as_double(1), 15);
}

TEST(Bounded, NamesTheFirstElementThatIsTooFarAway) {
  const Bounded expected{Tensor::matrix<double>({{1, 2}, {3, 4}}), Tensor::matrix<double>({{0, 0}, {0.5, 0}})};
  Bounded got = exactly(Tensor::matrix<double>({{1, 2}, {3.5, 4}}));
  EXPECT_EQ(beyond_bounds(got, expected), std::nullopt);
  got = exactly(Tensor::matrix<double>({{1, 2}, {3.75, 4}}));
  EXPECT_EQ(beyond_bounds(got, expected), "[1, 0]: 3.75, expected 3, bound 0.5");
  got = exactly(Tensor::matrix<double>({{1, static_cast<double>(NAN)}, {3, 4}}));
  EXPECT_EQ(beyond_bounds(got, expected), "[0, 1]: nan, expected 2");
}

}  // namespace
}  // namespace thtrain::bounded_test
