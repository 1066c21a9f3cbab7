// Special functions against mpmath, by the references and natively, and what is made of them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::special_functions_test {
namespace {

struct Compared {
  std::function<Expr(const Expr&)> build;
  double ulps;       // of the value, by float64
  double floor = 0;  // values below count as this one
};

const std::map<std::string, Compared>& all() {
  static const std::map<std::string, Compared> out = {
      {"gammaln", {[](const Expr& x) { return gammaln(x); }, 12, 0.5}},
      {"psi", {[](const Expr& x) { return psi(x); }, 12, 0.5}},
      {"trigamma", {[](const Expr& x) { return trigamma(x); }, 24}},
      {"polygamma4", {[](const Expr& x) { return polygamma(4, x); }, 40}},
      {"erfcx", {[](const Expr& x) { return erfcx(x); }, 10}},
      {"erfinv", {[](const Expr& x) { return erfinv(x); }, 8}},
      {"erfcinv", {[](const Expr& x) { return erfcinv(x); }, 8}},
      {"i0e", {[](const Expr& x) { return i0e(x); }, 8}},
      {"i1e", {[](const Expr& x) { return i1e(x); }, 8}},
      {"i0", {[](const Expr& x) { return i0(x); }, 14}},
      {"i1", {[](const Expr& x) { return i1(x); }, 14}},
      {"gamma", {[](const Expr& x) { return gamma(x); }, 24}},
      {"j0", {[](const Expr& x) { return j0(x); }, 12, 0.05}},
      {"j1", {[](const Expr& x) { return j1(x); }, 12, 0.05}},
      {"jv_2", {[](const Expr& x) { return jv(2, x); }, 100, 0.05}},
      {"jv_-3", {[](const Expr& x) { return jv(-3, x); }, 200, 0.05}},
      {"jv_20", {[](const Expr& x) { return jv(20, x); }, 1000}},
      {"iv_2", {[](const Expr& x) { return iv(2, x); }, 100}},
      {"ive_3", {[](const Expr& x) { return ive(3, x); }, 60}},
      {"ive_20", {[](const Expr& x) { return ive(20, x); }, 100}},
      {"gammainc_0.25", {[](const Expr& x) { return gammainc(0.25, x); }, 90}},
      {"gammainc_7", {[](const Expr& x) { return gammainc(7, x); }, 90}},
      {"gammainc_of_3", {[](const Expr& x) { return gammainc(x, 3.0); }, 1350}},
      {"gammainc_of_100", {[](const Expr& x) { return gammainc(x, 100.0); }, 1350}},
      {"gammaincc_0.25", {[](const Expr& x) { return gammaincc(0.25, x); }, 90}},
      {"gammaincc_7", {[](const Expr& x) { return gammaincc(7, x); }, 90}},
      {"gammaincc_of_3", {[](const Expr& x) { return gammaincc(x, 3.0); }, 90, 0.5}},
      {"gammal_3", {[](const Expr& x) { return gammal(3.0, x); }, 90}},
      {"gammau_3", {[](const Expr& x) { return gammau(3.0, x); }, 90}},
      {"chi2sf_5", {[](const Expr& x) { return chi2sf(x, 5); }, 90}},
      {"logit", {[](const Expr& x) { return logit(x); }, 8, 0.5}},
      {"log1mexp", {[](const Expr& x) { return log1mexp(x); }, 8}},
  };
  return out;
}

void compare(Mode mode, DType dtype) {
  std::map<std::string, GoldenLine> arguments, values;
  for (const GoldenLine& line : golden_lines("special_functions.txt"))
    (line.arguments[0] == "arguments" ? arguments : values)[line.name] = line;
  ASSERT_EQ(values.size(), all().size());
  std::vector<In> inputs;
  std::vector<Expr> results;
  std::vector<Tensor> given;
  for (const auto& [name, function] : all()) {
    given.push_back(arguments.at(name).result(DType::kFloat64).cast(dtype));
    const Expr x = tensor(name, {given.back().dim(0)}, dtype);
    inputs.emplace_back(x);
    results.push_back(function.build(x));
  }
  const std::vector<Tensor> got = function(inputs, {results.begin(), results.end()}, {}, {.mode = mode})(given);
  const double unit = dtype == DType::kFloat32 ? 0x1p-23 : 0x1p-52, tiny = dtype == DType::kFloat32 ? 0x1p-126 : 0;
  size_t i = 0;
  for (const auto& [name, function] : all()) {
    const Tensor want = values.at(name).result(DType::kFloat64);
    for (int64_t k = 0; k < want.size(); ++k) {
      const double y = want.as_double(k), x = got[i].as_double(k);
      if (x == y || (dtype == DType::kFloat32 && std::abs(y) > 3.4e38)) continue;
      const double error = std::abs(x - y) / (unit * std::max({std::abs(y), function.floor, tiny}));
      EXPECT_LE(error, function.ulps) << name << " of " << given[i].as_double(k) << ": " << x << ", not " << y;
    }
    ++i;
  }
}

TEST(SpecialFunctions, AreThoseOfMpmath) {
  for (const Mode mode : {Mode::kReference, Mode::kNative})
    for (const DType dtype : {DType::kFloat64, DType::kFloat32}) compare(mode, dtype);
}

TEST(SpecialFunctions, OfNaNAreNaN) {
  const Expr x = tensor("x", {2}, DType::kFloat64);
  std::vector<Out> outputs;
  for (const auto& [name, compared] : all()) outputs.emplace_back(name, compared.build(x));
  Function of_all = function({x}, outputs);
  for (const auto& [name, value] : of_all.named({{"x", Tensor::vector<double>({0.5, NAN})}}))
    EXPECT_TRUE(std::isnan(value.as_double(1))) << name;
}

TEST(SpecialFunctions, DerivativesAreThoseOfDifferences) {
  const Expr x = tensor("x", {4}, DType::kFloat64);
  const std::vector<std::pair<Expr, Tensor>> values = {{x, Tensor::vector({0.3, 0.45, 0.6, 0.85})}};
  for (const auto& [name, function] : all()) {
    SCOPED_TRACE(name);
    const Expr y = function.build(x);
    for (const GradReport& report : {verify_grad({y}, {x}, values), verify_grad({grad(sum(y), x)}, {x}, values)})
      EXPECT_TRUE(report.is_right) << report.text;
  }
}

TEST(SpecialFunctions, ZerosAndComplexNumbers) {
  const Expr x = tensor("x", {3}, DType::kFloat64), z = complex_from_polar(x + 1.0, x);
  const std::vector<Tensor> got = function({x}, {xlogx(x), xlogy0(x, x - x), grad(sum(xlogx(x)), x), abs(z), angle(z),
                                                 angle(x - 1.0)})({Tensor::vector({0.0, 0.5, 1.0})});
  EXPECT_EQ(got[0].as_double(0), 0);
  EXPECT_DOUBLE_EQ(got[0].as_double(1), 0.5 * std::log(0.5));
  EXPECT_EQ(got[1].as_double(0), 0);
  EXPECT_EQ(got[1].as_double(1), -std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(got[2].as_double(1), std::log(0.5) + 1);
  EXPECT_DOUBLE_EQ(got[3].as_double(2), 2);
  EXPECT_DOUBLE_EQ(got[4].as_double(1), 0.5);
  EXPECT_DOUBLE_EQ(got[5].as_double(0), std::acos(-1.0));
}

TEST(SpecialFunctions, MistakesAreNamed) {
  const Expr x = tensor("x", {3}, DType::kFloat64);
  EXPECT_EQ(text_without_node([&] { polygamma(0, x); }),
            "error: polygamma: order 0\n"
            "  expected: an order from 1 to 20, and real numbers\n"
            "  got:      x float64[3]\n"
            "  hint:     psi is that of order 0");
  EXPECT_EQ(text_without_node([&] { jv(21, x); }),
            "error: jv: order 21\n"
            "  expected: an order from -20 to 20, and real numbers\n"
            "  got:      x float64[3]");
  EXPECT_EQ(text_without_node([&] { gammainc(1.0, complex_from_polar(x, x)); }),
            "error: gammainc: a complex number\n"
            "  expected: real numbers\n"
            "  got:      complex128[3]");
}

}  // namespace
}  // namespace thtrain::special_functions_test
