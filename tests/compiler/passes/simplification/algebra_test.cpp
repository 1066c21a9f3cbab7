// Sums and products: what cancels, what comes together, what vanishes.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

TEST(SimplifyAlgebra, Quotients) {
  expect_simplified({
      {"x/x", [](L l) { return l.x / l.x; }, 0, kFast},
      {"xy/x", [](L l) { return l.x * l.y / l.x; }, 0, kFast},
      {"x/y/x", [](L l) { return l.x / l.y / l.x; }, 1, kFast},
      {"a/b b/c c/d", [](L l) { return (l.x / l.y) * (l.y / l.z) * (l.z / l.s); }, 1, kFast},
      {"a/b b/c", [](L l) { return (l.x / l.y) * (l.y / l.z); }, 1, kFast},
      {"(xy)/(xz)", [](L l) { return (l.x * l.y) / (l.x * l.z); }, 1, kFast},
      {"x/(x/y)", [](L l) { return l.x / (l.x / l.y); }, 0, kFast},
      {"x*(y/x)", [](L l) { return l.x * (l.y / l.x); }, 0, kFast},
      {"(x/y)*y", [](L l) { return (l.x / l.y) * l.y; }, 0, kFast},
      {"xyz/(zyx)", [](L l) { return l.x * l.y * l.z / (l.z * l.y * l.x); }, 0, kFast},
      {"2x/2", [](L l) { return 2 * l.x / 2; }, 0},
      {"2x/4", [](L l) { return 2 * l.x / 4; }, 1},
      {"2x/4y", [](L l) { return (2 * l.x) / (4 * l.y); }, 1},
      {"2x/3/y", [](L l) { return 2 * l.x / 3 / l.y; }, 1},
      {"(2x+y)/2x", [](L l) { return (2 * l.x) / (2 * l.x) + l.y / (2 * l.y); }, 0, kFast},
      {"x/-x", [](L l) { return l.x / -l.x; }, 0, kFast},
      {"-x/-y", [](L l) { return -l.x / -l.y; }, 1},
      {"x/|x|", [](L l) { return l.x / abs(l.x); }, 1},
      {"4x/|2x|", [](L l) { return 4 * l.x / abs(2 * l.x); }, 1},
      {"|x|/x", [](L l) { return abs(l.x) / l.x; }, 1},
      {"1/(1/x)", [](L l) { return 1 / (1 / l.x); }, 0},
      {"x/(1/y)", [](L l) { return l.x / (1 / l.y); }, 1},
      {"1/x * y", [](L l) { return reciprocal(l.x) * l.y; }, 1},
      {"x**2/x", [](L l) { return sqr(l.x) / l.x; }, 0},
      {"x/x**2", [](L l) { return l.x / sqr(l.x); }, 1},
      {"x/sqrt(x)", [](L l) { return l.x / sqrt(l.x); }, 1},
      {"(a/x+b/y)xy", [](L l) { return (l.z / l.x + l.s / l.y) * l.x * l.y; }, 1},
      {"3/(6/x)", [](L l) { return 3 / (6 / l.x); }, 1},
      {"x/1", [](L l) { return l.x / 1; }, 0},
      {"x/-1", [](L l) { return l.x / -1; }, 1},
      {"i//1", [](L l) { return floor_div(l.i, 1); }, 0},
      {"i%1", [](L l) { return l.i % 1; }, 0},
  });
}

TEST(SimplifyAlgebra, Sums) {
  expect_simplified({
      {"x-x", [](L l) { return l.x - l.x; }, 0, kFast},
      {"x+y-x", [](L l) { return l.x + l.y - l.x; }, 0, kFast},
      {"(x+y)-(y+x)", [](L l) { return (l.x + l.y) - (l.y + l.x); }, 0, kFast},
      {"(x-y)+y", [](L l) { return (l.x - l.y) + l.y; }, 0, kFast},
      {"x-(x-y)", [](L l) { return l.x - (l.x - l.y); }, 0, kFast},
      {"2x-x", [](L l) { return 2 * l.x - l.x; }, 0},
      {"2x-2x+y", [](L l) { return 2 * l.x - (2 * l.x - l.y); }, 0, kFast},
      {"x+1-1", [](L l) { return l.x + 1 - 1; }, 0},
      {"1+x+2", [](L l) { return 1 + l.x + 2; }, 1},
      {"i+1-1", [](L l) { return l.i + 1 - 1; }, 0},
      {"i-i", [](L l) { return l.i - l.i; }, 0},
      {"i+j-i", [](L l) { return l.i + l.j - l.i; }, 0},
      {"0+x", [](L l) { return 0 + l.x; }, 0},
      {"x-0", [](L l) { return l.x - 0; }, 0},
      {"0-(-x)", [](L l) { return 0 - (-l.x); }, 0},
      {"x+zeros", [](L l) { return l.x + zeros_like(l.x); }, 0},
      {"x+x+x+x", [](L l) { return l.x + l.x + l.x + l.x; }, 1},
      {"x+x-2x", [](L l) { return l.x + l.x - 2 * l.x; }, 0, kFast},
      {"-(-x)", [](L l) { return -(-l.x); }, 0},
      {"-(x-y)+x", [](L l) { return -(l.x - l.y) + l.x; }, 0, kFast},
      {"x--y-y", [](L l) { return l.x - (-l.y) - l.y; }, 0, kFast},
      {"-(-i-j)-j", [](L l) { return -(-l.i - l.j) - l.j; }, 0},
      {"a+x-a", [](L l) { return (l.a + l.x) - l.a; }, 0, kFast},
      {"sum of many", [](L l) { return l.x + l.y + l.z + l.x + l.y + l.z + l.s; }, 1},
      {"numbers on all sides", [](L l) { return (1 + l.x) + (2 + l.y) - (l.z - 3); }, 1},
      {"1 - (1 - x)", [](L l) { return 1 - (1 - l.x); }, 0},
  });
}

TEST(SimplifyAlgebra, Products) {
  expect_simplified({
      {"0*x", [](L l) { return 0 * l.x; }, 0},
      {"x*0+y", [](L l) { return l.x * 0 + l.y; }, 0},
      {"0/x", [](L l) { return 0 / l.x; }, 0},
      {"1*x", [](L l) { return 1 * l.x; }, 0},
      {"-1*-x", [](L l) { return -1 * -l.x; }, 0},
      {"-1*x*-1", [](L l) { return -1 * l.x * -1; }, 0},
      {"2*(0.5*x)", [](L l) { return 2 * (0.5 * l.x); }, 0},
      {"ones*x", [](L l) { return ones_like(l.x) * l.x; }, 0},
      {"2*3*x*4", [](L l) { return 2 * (3 * l.x) * 4; }, 1},
      {"-x*-y", [](L l) { return -l.x * -l.y; }, 1},
      {"i*0", [](L l) { return l.i * 0; }, 0},
      {"i*1", [](L l) { return l.i * 1; }, 0},
      {"3*i*5", [](L l) { return 3 * l.i * 5; }, 1},
      {"p*true", [](L l) { return l.p * true; }, 0},
      {"f*1", [](L l) { return l.f * 1; }, 0},
      {"f*2/2", [](L l) { return l.f * 2 / 2; }, 0},
      {"|x||y|", [](L l) { return abs(l.x) * abs(l.y); }, 1},
      {"||x||", [](L l) { return abs(abs(-l.x)); }, 1},
      {"x*y both ways", [](L l) { return l.x * l.y - l.y * l.x; }, 0, kFast},
      {"x*(y*x)", [](L l) { return l.x * (l.y * l.x); }, 1},
      {"product of zero in a sum", [](L l) { return (l.x + 0 * l.y) * (1 + 0 * l.z); }, 0},
      {"a gradient's zero", [](L l) { return l.x + sign(l.y) * zeros_like(l.z); }, 0},
  });
}

}  // namespace
}  // namespace thtrain
