// Complex numbers in kernels: as two terms of the loop language, side by side in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <map>
#include <random>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/support/native_program.h"

namespace thtrain::complex_test {
namespace {

using Complex = std::complex<double>;

constexpr DType kBoth[] = {DType::kComplex64, DType::kComplex128};

Tensor drawn(DType dtype, Shape shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> part(-2, 2);
  Tensor out = Tensor::empty(DType::kComplex128, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) {
    const double re = part(random);
    out.data<Complex>()[i] = {re, part(random)};
  }
  return out.cast(dtype);
}

Tensor evaluated(const Expr& value, const std::vector<std::pair<Expr, Tensor>>& inputs) {
  return evaluate({value}, inputs)[0];
}

// ---- steps ---------------------------------------------------------------------------------------------------------

TEST(Complex, AFusedRegionAndReductionsAreKernels) {
  for (DType dtype : kBoth) {
    const Expr z = tensor("z", {"n", 5}, dtype), w = tensor("w", {5}, dtype);
    const Expr region = exp(z * w + 1.5) / (z - conj(w)) + abs(z) * sqrt(w);
    const std::vector<Expr> outputs{region, sum(z), sum(region, 1), mean(z * w, 0), prod(z, 1), any(neq(z, w), 0)};
    Function f = function({In(z), In(w)}, {outputs.begin(), outputs.end()});
    EXPECT_EQ(f.info().reference_steps, std::vector<std::string>{}) << name_of(dtype);
    const Tensor a = drawn(dtype, {7, 5}, 1), b = drawn(dtype, {5}, 2);
    const std::vector<Tensor> got = f({a, b}), expected = evaluate(outputs, {{z, a}, {w, b}});
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_FALSE(difference(got[i], expected[i], 64))
          << expr_text(outputs[i]) << *difference(got[i], expected[i], 64);
  }
}

TEST(Complex, OneRegionIsOneKernel) {
  const Expr z = tensor("z", {40}, DType::kComplex128), w = tensor("w", {40}, DType::kComplex128);
  Function f = function({In(z), In(w)}, {Out(real(exp(z * w) + conj(z) / w))});
  EXPECT_EQ(f.info().kernels, 1u);
}

// ---- special values ------------------------------------------------------------------------------------------------

template <class T>
bool is_same_part(T got, T expected, double allowed) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(static_cast<double>(got) - static_cast<double>(expected)) <= allowed;
}

// Zeros may have any sign, and so may an infinity with a NaN: the C standard leaves them open.
template <class T>
bool is_same(std::complex<T> got, std::complex<T> expected, double ulps) {
  if (std::isnan(expected.real()) != std::isnan(expected.imag()) && std::isinf(std::abs(expected)))
    return std::isnan(got.real()) == std::isnan(expected.real()) && std::isinf(std::abs(got));
  const double modulus = static_cast<double>(std::abs(expected));
  const double size = std::isfinite(modulus)           ? modulus
                      : std::isfinite(expected.real()) ? std::abs(static_cast<double>(expected.real()))
                                                       : std::abs(static_cast<double>(expected.imag()));
  const double allowed = ulps * static_cast<double>(std::numeric_limits<T>::epsilon()) * size +
                         4 * static_cast<double>(std::numeric_limits<T>::denorm_min());
  return is_same_part(got.real(), expected.real(), allowed) && is_same_part(got.imag(), expected.imag(), allowed);
}

template <class T>
void expect_special_values() {
  using C = std::complex<T>;
  using L = std::numeric_limits<T>;
  const std::vector<T> parts{0,
                             -T(0),
                             1,
                             -1,
                             T(0.5),
                             -2,
                             T(1e-10),
                             30,
                             -30,
                             T(90),
                             720,
                             -720,
                             L::max(),
                             -L::max() / 4,
                             2 * L::min(),
                             L::infinity(),
                             -L::infinity(),
                             L::quiet_NaN()};
  std::vector<C> points;
  for (T re : parts)
    for (T im : parts) points.emplace_back(re, im);
  Tensor values = Tensor::empty(dtype_of<C>(), {static_cast<int64_t>(points.size())});
  std::copy(points.begin(), points.end(), values.data<C>());
  const Expr z = tensor("z", {static_cast<int64_t>(points.size())}, dtype_of<C>());
  std::vector<Expr> outputs;
  std::vector<double> ulps;
  for (Expr (*f)(const Operand&) : {&exp, &log, &sqrt, &sin, &cos, &tan, &sinh, &cosh, &tanh, &arcsin, &arccos, &arctan,
                                    &arcsinh, &arccosh, &arctanh, &sqr, &neg, &conj}) {
    outputs.push_back(f(z));
    ulps.push_back(outputs.back().node().op->scalar->complex_ulps);
  }
  for (Complex divisor : {Complex(1, 0), Complex(-0.3, 1e20), Complex(0, 0), Complex(-0.0, 0), Complex(-INFINITY, 2)}) {
    outputs.push_back(z / make_constant(Tensor(divisor).cast(dtype_of<C>())));
    ulps.push_back(outputs.back().node().op->scalar->complex_ulps);
  }
  const std::vector<Tensor> expected = evaluate(outputs, {{z, values}});
  for (int bytes : {16, 32, 64}) {
    const Target target{"g++", bytes};
    if (!why_not(target).empty()) continue;
    const std::vector<Tensor> got = NativeProgram({{z}, outputs, {}}, target, false)({values});
    for (size_t o = 0; o < outputs.size(); ++o)
      for (size_t i = 0; i < points.size(); ++i)
        EXPECT_TRUE(is_same(got[o].data<C>()[i], expected[o].data<C>()[i], ulps[o]))
            << outputs[o].node().op->name << points[i] << " is " << got[o].data<C>()[i] << ", the reference gives "
            << expected[o].data<C>()[i] << ", vectors of " << bytes;
  }
}

TEST(Complex, SpecialValuesOfComplex64AreThoseOfTheReference) {
  expect_special_values<float>();
}
TEST(Complex, SpecialValuesOfComplex128AreThoseOfTheReference) {
  expect_special_values<double>();
}

// By other formulae than the reference's library: what a function of one number gives its inverse takes back.
TEST(Complex, QuotientsOfLargeAndSmallNumbersDoNotOverflow) {
  for (double scale : {1e300, 1e-300}) {
    const Tensor a = Tensor::vector<Complex>({{scale, scale}, {scale, -scale / 2}, {3 * scale, 0}}),
                 b = Tensor::vector<Complex>({{scale, -scale}, {scale / 4, scale}, {0, scale}});
    const Expr x = tensor("x", {3}, DType::kComplex128), y = tensor("y", {3}, DType::kComplex128);
    const Tensor got = function({In(x), In(y)}, {Out(x / y)})({a, b})[0];
    const Tensor small = evaluated(x / y, {{x, Tensor::vector<Complex>({{1, 1}, {1, -0.5}, {3, 0}})},
                                           {y, Tensor::vector<Complex>({{1, -1}, {0.25, 1}, {0, 1}})}});
    EXPECT_FALSE(difference(got, small, 4)) << *difference(got, small, 4);
  }
}

// NumPy's: no part is looked for behind a NaN.
TEST(Complex, ProductsFollowTheFormula) {
  const double inf = INFINITY;
  const Tensor a = Tensor::vector<Complex>({{inf, 1}, {inf, inf}, {2, 3}}),
               b = Tensor::vector<Complex>({{inf, inf}, {1, 0}, {-1, 4}});
  const Expr x = tensor("x", {3}, DType::kComplex128), y = tensor("y", {3}, DType::kComplex128);
  const Tensor native = function({In(x), In(y)}, {Out(x * y)})({a, b})[0], plain = evaluated(x * y, {{x, a}, {y, b}});
  for (const Tensor& got : {native, plain}) {
    const Complex* z = got.data<Complex>();
    EXPECT_TRUE(std::isnan(z[0].real()) || std::isinf(z[0].real()));
    EXPECT_EQ(z[0].imag(), inf);
    EXPECT_TRUE(std::isnan(z[1].real()) && std::isnan(z[1].imag()));
    EXPECT_EQ(z[2], Complex(-14, 5));
  }
}

// ---- locations ------------------------------------------------------------------------------------------------------

std::vector<Expr> chains(const Expr& z, const Expr& w) {
  return {exp(z) * w - conj(z),
          abs(z * w),
          real(z) + imag(w),
          z / w + sqrt(z),
          switch_(eq(z, w), z, log(w)),
          cast(real(w), DType::kComplex128) * z};
}

// Two numbers of an element are loaded and stored together, in whole vectors and in tails; compilers agree on the bits.
TEST(Complex, AnElementsValueDependsNeitherOnItsLocationNorOnTheCompiler) {
  std::map<std::pair<int, DType>, std::vector<Tensor>> of_width;
  for (const Target& target : all_targets()) {
    if (!why_not(target).empty()) continue;
    for (DType dtype : kBoth) {
      const Expr z = tensor("z", {"n"}, dtype), w = tensor("w", {"n"}, dtype);
      const std::vector<Expr> outputs = chains(z, w);
      NativeProgram f({{z, w}, outputs, {}}, target);
      const Tensor a = drawn(dtype, {48}, 3), b = drawn(dtype, {48}, 4);
      const std::vector<Tensor> whole = f({a, b});
      const auto [first, fresh] = of_width.try_emplace({target.vector_bytes, dtype}, whole);
      for (size_t k = 0; k < whole.size(); ++k)
        EXPECT_TRUE(same_bits(whole[k], first->second[k])) << target.text() << ": " << expr_text(outputs[k]);
      for (int64_t length = 0; length <= 40; ++length) {
        const std::vector<Tensor> part = f({a.rows(5, length), b.rows(5, length)});
        for (size_t k = 0; k < part.size(); ++k)
          ASSERT_TRUE(same_bits(part[k], whole[k].rows(5, length)))
              << target.text() << ", " << length << " elements: " << expr_text(outputs[k]);
      }
    }
  }
}

TEST(Complex, AnyStridesAndRepeatedAxes) {
  for (DType dtype : kBoth) {
    const Expr z = tensor("z", {6, 35}, dtype), row = tensor("row", {35}, dtype);
    const Expr back = subtensor(z, {Slice{}, Slice{.step = -1}}), columns = transpose(z);
    const std::vector<Expr> outputs{z * row,   back + z,         columns * 2.0,      sum(columns, 1),
                                    sum(z, 0), prod(columns, 0), sum(back * row, 1), z - mean(z, 1, true),
                                    all(z, 0)};
    Function f = function({In(z), In(row)}, {outputs.begin(), outputs.end()});
    const Tensor a = drawn(dtype, {6, 35}, 5), b = drawn(dtype, {35}, 6);
    const std::vector<Tensor> got = f({a, b}), expected = evaluate(outputs, {{z, a}, {row, b}});
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_FALSE(difference(got[i], expected[i], 256))
          << expr_text(outputs[i]) << " at " << *difference(got[i], expected[i], 256);
  }
}

TEST(Complex, SumsAreAsExactAsThoseOfRealNumbers) {
  const Expr z = tensor("z", {100000}, DType::kComplex64);
  const Tensor a = drawn(DType::kComplex64, {100000}, 7);
  const Tensor got = function({In(z)}, {Out(sum(z))})({a})[0];
  EXPECT_FALSE(difference(got, evaluated(sum(z), {{z, a}}), 8)) << got.text();
}

// An output that lies in the buffer of an input is written after both parts were read.
TEST(Complex, AnUpdateInPlaceReadsBothPartsFirst) {
  const Tensor start = drawn(DType::kComplex128, {37}, 8);
  Shared z(start, "z");
  Function f = function({}, {}, {{z, z * z + conj(z)}});
  f({});
  const Expr x = tensor("x", {37}, DType::kComplex128);
  EXPECT_FALSE(difference(z.get_value(), evaluated(x * x + conj(x), {{x, start}}), 0));
}

}  // namespace
}  // namespace thtrain::complex_test
