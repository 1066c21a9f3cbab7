// Powers, signs, casts, comparisons, switches.
#include <gtest/gtest.h>

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

TEST(SimplifyScalarFunctions, Powers) {
  expect_simplified({
      {"x**0", [](L l) { return pow(l.x, 0); }, 0},
      {"x**1", [](L l) { return pow(l.x, 1); }, 0},
      {"x**2", [](L l) { return pow(l.x, 2); }, 1},
      {"x**3", [](L l) { return pow(l.x, 3); }, 1},
      {"x**15", [](L l) { return pow(l.x, 15); }, 1},
      {"x**16", [](L l) { return pow(l.x, 16); }, 1},
      {"x**-1", [](L l) { return pow(l.x, -1); }, 1},
      {"x**-2", [](L l) { return pow(l.x, -2); }, 1},
      {"x**-7", [](L l) { return pow(l.x, -7); }, 1},
      {"|x|**0.5", [](L l) { return pow(abs(l.x), 0.5); }, 1},
      {"|x|**-0.5", [](L l) { return pow(abs(l.x), -0.5); }, 1},
      {"i**0", [](L l) { return pow(l.i, 0); }, 0},
      {"i**3", [](L l) { return pow(l.i, 3); }, 1},
      {"x*x", [](L l) { return l.x * l.x; }, 1},
      {"x*x*x", [](L l) { return l.x * l.x * l.x; }, 1},
      {"(-x)**2", [](L l) { return sqr(-l.x) - sqr(l.x); }, 0, kFast},
      {"|x|**2", [](L l) { return sqr(abs(l.x)) - sqr(l.x); }, 0, kFast},
      {"sqrt(x**2)", [](L l) { return sqrt(sqr(l.x)); }, 1},
      {"sqrt(x)**2", [](L l) { return sqr(sqrt(abs(l.x))); }, 1, kFast},
      {"sqrt(x)*sqrt(x)", [](L l) { return sqrt(l.x) * sqrt(l.x); }, 0, kFast},
      {"(x**2)/x", [](L l) { return pow(l.x, 2) / l.x; }, 0},
      {"exponent of zeros", [](L l) { return pow(l.x, zeros_like(l.x)); }, 0},
  });
}

TEST(SimplifyScalarFunctions, SignsAndRounding) {
  expect_simplified({
      {"floor(floor)", [](L l) { return floor(floor(l.x)) - floor(l.x); }, 0, kFast},
      {"ceil(floor)", [](L l) { return ceil(floor(l.x)); }, 1},
      {"round(round)", [](L l) { return round(round(l.x)); }, 1},
      {"trunc(trunc)", [](L l) { return trunc(trunc(l.x)) - trunc(l.x); }, 0, kFast},
      {"sign(sign)", [](L l) { return sign(sign(l.x)) - sign(l.x); }, 0, kFast},
      {"abs(exp)", [](L l) { return abs(exp(l.x)) - exp(l.x); }, 0, kFast},
      {"abs(-x)-abs(x)", [](L l) { return abs(-l.x) - abs(l.x); }, 0, kFast},
      {"|i|", [](L l) { return abs(-l.i) - abs(l.i); }, 0},
  });
}

TEST(SimplifyScalarFunctions, Casts) {
  expect_simplified({
      {"useless", [](L l) { return cast(l.x, DType::kFloat64); }, 0},
      {"up and down", [](L l) { return cast(cast(l.f, DType::kFloat64), DType::kFloat32); }, 0},
      {"bool to int to float", [](L l) { return cast(cast(l.p, DType::kInt8), DType::kFloat32); }, 1},
      {"int up twice", [](L l) { return cast(cast(cast(l.i, DType::kInt16), DType::kInt32), DType::kInt64); }, 1},
      {"of a number", [](L l) { return l.x * cast(Operand(2).expr(), DType::kFloat64); }, 1},
      {"around an operation", [](L l) { return cast(cast(l.f, DType::kFloat64) * 2, DType::kFloat32); }, 1},
      {"int sum with float", [](L l) { return l.x + cast(l.i, DType::kFloat64) * 0; }, 0},
  });
}

TEST(SimplifyScalarFunctions, Comparisons) {
  expect_simplified({
      {"x<x", [](L l) { return l.x < l.x; }, 0, kStrict},
      {"x>x", [](L l) { return l.x > l.x; }, 0, kStrict},
      {"i==i", [](L l) { return eq(l.i, l.i); }, 0, kStrict},
      {"i<=i", [](L l) { return l.i <= l.i; }, 0, kStrict},
      {"i!=i", [](L l) { return neq(l.i, l.i); }, 0, kStrict},
      {"x==x", [](L l) { return eq(l.x, l.x); }, 0, kFast},
      {"x>=x", [](L l) { return l.x >= l.x; }, 0, kFast},
      {"not not p", [](L l) { return logical_not(logical_not(l.p)); }, 0, kStrict},
      {"p and p", [](L l) { return logical_and(l.p, l.p); }, 0, kStrict},
      {"p or p", [](L l) { return logical_or(l.p, l.p); }, 0, kStrict},
      {"p and true", [](L l) { return logical_and(l.p, true); }, 0, kStrict},
      {"p and false", [](L l) { return logical_and(l.p, false); }, 0, kStrict},
      {"p or true", [](L l) { return logical_or(l.p, true); }, 0, kStrict},
      {"p or false", [](L l) { return logical_or(l.p, false); }, 0, kStrict},
      {"not x==y", [](L l) { return logical_not(eq(l.x, l.y)); }, 1, kStrict},
      {"max(x,x)", [](L l) { return maximum(l.x, l.x); }, 0, kStrict},
      {"min(x,x)", [](L l) { return minimum(l.x, l.x); }, 0, kStrict},
      {"max(x,max(x,y))", [](L l) { return maximum(l.x, maximum(l.x, l.y)); }, 1, kStrict},
      {"-max(-x,-y)", [](L l) { return -maximum(-l.x, -l.y) - minimum(l.x, l.y); }, 0, kFast},
      {"lengths compared", [](L l) { return length(l.a, 0) > length(l.a, 1); }, 0, kStrict},
  });
}

TEST(SimplifyScalarFunctions, Switches) {
  expect_simplified({
      {"a check that holds", [](L l) { return check(l.x, true, "never"); }, 0, kStrict},
      {"a check of lengths", [](L l) { return check(l.x, length(l.x, 0) > 6, "never"); }, 0, kStrict},
      {"true", [](L l) { return switch_(true, l.x, l.y); }, 0, kStrict},
      {"false", [](L l) { return switch_(false, l.x, l.y); }, 0, kStrict},
      {"same", [](L l) { return switch_(l.p, l.x, l.x); }, 0, kStrict},
      {"not", [](L l) { return switch_(logical_not(l.p), l.x, l.y); }, 1, kStrict},
      {"twice, yes", [](L l) { return switch_(l.p, switch_(l.p, l.x, l.y), l.z); }, 1, kStrict},
      {"twice, no", [](L l) { return switch_(l.p, l.x, switch_(l.p, l.y, l.z)); }, 1, kStrict},
      {"of truths", [](L l) { return switch_(l.p, true, false); }, 0, kStrict},
      {"x*switch(p,y,0)", [](L l) { return l.x * switch_(l.p, l.y, 0); }, 1},
      {"switch(p,0,y)/x", [](L l) { return switch_(l.p, 0, l.y) / l.x; }, 1},
      {"decided by lengths", [](L l) { return switch_(length(l.a, 0) > 3, l.x, exp(l.x)); }, 0, kStrict},
      {"of an integer's own order", [](L l) { return switch_(l.i < l.i, l.x, l.y); }, 0, kStrict},
  });
}

}  // namespace
}  // namespace thtrain
