// How errors of mathematical functions are counted, and that they stay below the bounds that docs/vector_maths.md
// states.
#include "bench/maths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "bench/ulps.h"
#include "compiler/base/error.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "reports/json.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kInf32 = std::numeric_limits<float>::infinity(), kMax32 = std::numeric_limits<float>::max();

TEST(Ulps, AreDistancesOfTheNumbersAroundTheExactValue) {
  EXPECT_EQ(ulps(1.0f, 1.0L), 0);
  EXPECT_EQ(ulps(1.0f, 1.0L + 0x1p-25L), 0);  // the nearest number
  EXPECT_EQ(ulps(1.0f, 1.0L + 0x1.8p-24L), 0.75);
  EXPECT_EQ(ulps(1.0f, 1.0L - 0x1p-24L), 1);  // numbers below 1 are half as far apart
  EXPECT_EQ(ulps(-0x1.000006p0f, -1.0L), 3);
  EXPECT_EQ(ulps(1.0, 1.0L + 0x1.4p-51L), 2.5);
  EXPECT_EQ(ulps(0x3p-149f, 0x1p-149L), 2);
  EXPECT_EQ(ulps(0x1p-149f, 0x1p-151L), 0.75);
  EXPECT_EQ(ulps(0x1p-1074, 0x1.8p-1072L), 5);
  EXPECT_EQ(ulps(0x1p-149f, 0.0L), 1);
}

TEST(Ulps, OfInfinityNanAndZeros) {
  EXPECT_EQ(ulps(kInf32, 0x1p200L), 0);
  EXPECT_EQ(ulps(kInf32, static_cast<long double>(kMax32)), 1);
  EXPECT_EQ(ulps(kMax32, static_cast<long double>(kInf)), kInf);
  EXPECT_EQ(ulps(-kInf32, static_cast<long double>(kInf)), kInf);
  EXPECT_EQ(ulps(NAN, static_cast<long double>(NAN)), 0);
  EXPECT_EQ(ulps(1.0, static_cast<long double>(NAN)), kInf);
  EXPECT_EQ(ulps(static_cast<double>(NAN), 1.0L), kInf);
  EXPECT_EQ(ulps(0.0f, -0.0L), kInf);
  EXPECT_EQ(ulps(-0.0f, -0x1p-160L), 0);
}

// Whole numbers between base and base + 100, where an ulp is 1, and `off` more in the exact values.
MathsFunction planted(DType dtype, double off) {
  double base = dtype == DType::kFloat32 ? 0x1p23 : 0x1p52;
  return {.name = "planted",
          .build =
              [=](const Expr& x, const Expr&) {
                Expr held = trunc(clip(x, base, base + 100));
                return x.dtype() == dtype ? held : held + off;
              },
          .exact =
              [=](long double x, long double) {
                return std::isnan(x) ? x : std::trunc(std::clamp<long double>(x, base, base + 100)) + off;
              }};
}

TEST(Maths, AFunctionThatIsThreeUlpsOffIsSaidToBe) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (int threads : {1, 3})
      for (const MathsMeasurement& m :
           measure_function(planted(dtype, 3), dtype, {.threads = threads, .quick = true})) {
        EXPECT_EQ(m.ulps, 3) << name_of(dtype) << " by " << m.vector_bytes << " bytes";
        EXPECT_GE(m.inputs, 1 << 16);
      }
}

TEST(Maths, AnOracleThatIsNotLibmsIsRefused) {
  MathsFunction f = planted(DType::kFloat32, 3);
  f.exact = planted(DType::kFloat32, 2).exact;
  EXPECT_THROW(measure_function(f, DType::kFloat32, {.quick = true}), InternalError);
}

// -x, but for one kind of float32.
MathsFunction negation(std::function<Expr(const Expr& x)> wrong) {
  return {.name = "negation",
          .build = [=](const Expr& x, const Expr&) { return neg(x.dtype() == DType::kFloat32 ? wrong(x) : x); },
          .exact = [](long double x, long double) { return -x; }};
}

TEST(Maths, WrongSpecialValuesAreInfinitelyFarAlongTheLine) {
  auto largest = [](const std::function<Expr(const Expr& x)>& wrong) {
    return measure_function(negation(wrong), DType::kFloat32, {.quick = true}).back().ulps;
  };
  EXPECT_EQ(largest([](const Expr& x) { return x; }), 0);
  EXPECT_EQ(largest([](const Expr& x) { return switch_(eq(x, 0), -0.0f, x); }), kInf);
  EXPECT_EQ(largest([](const Expr& x) { return switch_(isnan(x), 1.0f, x); }), kInf);
  EXPECT_EQ(largest([](const Expr& x) { return switch_(lt(abs(x), 1e-30f), NAN, x); }), kInf);
}

// The page's rows "| exp | float32 | 2.5 | ...".
std::map<std::string, double> stated_bounds() {
  std::map<std::string, double> out;
  std::ifstream page("docs/vector_maths.md");
  for (std::string line, bar, name, dtype; std::getline(page, line);) {
    std::istringstream words(line);
    double bound = 0;
    if (words >> bar >> name >> bar >> dtype >> bar >> bound && bar == "|") out[name + " " + dtype] = bound;
  }
  return out;
}

TEST(Maths, ThePageStatesTheBounds) {
  std::map<std::string, double> bounds;
  for (const MathsFunction& f : maths_functions()) {
    bounds[f.name + " float32"] = f.float32_ulps;
    bounds[f.name + " float64"] = f.float64_ulps;
  }
  EXPECT_EQ(stated_bounds(), bounds);
}

void expect_stated(DType dtype) {
  for (const MathsFunction& f : maths_functions())
    for (const MathsMeasurement& m : measure_function(f, dtype, {.quick = true})) {
      EXPECT_LE(m.ulps, m.bound) << f.name << " by " << m.vector_bytes << " bytes at " << m.x << ", " << m.y;
      EXPECT_GT(m.ulps, 0.5) << f.name << ": no such function rounds that well, so nothing was measured";
    }
}
TEST(Maths, Float32IsBelowTheBounds) {
  expect_stated(DType::kFloat32);
}
TEST(Maths, Float64IsBelowTheBounds) {
  expect_stated(DType::kFloat64);
}

TEST(Maths, EveryInexactOpIsMeasured) {
  std::vector<std::string> measured, inexact;
  std::set<std::string> special;  // compared with mpmath, since libm has none of them: special_functions_test.cpp
  for (const GoldenLine& line : golden_lines("special_functions.txt")) special.insert(line.name);
  for (const MathsFunction& f : maths_functions()) measured.push_back(f.name);
  for (const ScalarOp* op : scalar_ops())
    if (op->ulps > 0 && !special.count(op->name)) inexact.push_back(op->name);
  EXPECT_EQ(measured, inexact);
}

TEST(Maths, AMeasurementIsALineOfJson) {
  MathsMeasurement m{"pow", 2, DType::kFloat32, 64, 2, 1 << 20, 1.5, 0.75, 0.1f, -0.5};
  auto values = read_json(json_line(m), "here");
  values.erase("version");
  std::map<std::string, std::string> wanted = {{"bench", "maths"},    {"case", "pow"},
                                               {"dtype", "float32"},  {"threads", "2"},
                                               {"form", "none"},      {"kind", ""},
                                               {"setting", ""},       {"implementation", "thtrain"},
                                               {"bound", "1.5"},      {"unit", "ulps"},
                                               {"value", "0.75"},     {"vector_bytes", "64"},
                                               {"inputs", "1048576"}, {"x", "0.10000000149011612"},
                                               {"y", "-0.5"}};
  EXPECT_EQ(values, wanted);
  EXPECT_NE(maths_table({m}).find("| pow | float32 | 1.5 | 1048576 | - | - | 0.750 at 0.100000001, -0.5 |\n"),
            std::string::npos);
}

}  // namespace
}  // namespace thtrain
