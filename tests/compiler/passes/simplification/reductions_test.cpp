// Reductions of reductions, of views, of scaled, repeated and joined values.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

TEST(SimplifyReductions, OfReductions) {
  expect_simplified({
      {"sum(sum)", [](L l) { return sum(sum(l.a, 0)); }, 1},
      {"sum(sum, keepdims)", [](L l) { return sum(sum(l.a, 1, true), 0); }, 1},
      {"sum(sum(cube))", [](L l) { return sum(sum(sum(l.cube, 0), 1)); }, 1},
      {"max(max)", [](L l) { return max(max(l.a, 0)); }, 1},
      {"min(min)", [](L l) { return min(min(l.cube, 2), 0); }, 1},
      {"prod(prod)", [](L l) { return prod(prod(l.a, 1)); }, 1},
      {"any(any)", [](L l) { return any(any(l.a > 0, 0)); }, 2},
      {"all(all)", [](L l) { return all(all(l.a > 0, 0)); }, 2},
      {"sum(max) stays", [](L l) { return sum(max(l.a, 0)); }, 2},
      {"mean(mean)", [](L l) { return mean(mean(l.a, 0)); }, 3},
      {"sum of ints",
       [](L l) {
         return sum(sum(broadcast_to(l.i, {3, 7}), 1));
       },
       2},
  });
}

TEST(SimplifyReductions, OfScaledValues) {
  expect_simplified({
      {"sum(2x)", [](L l) { return sum(2 * l.x); }, 2},
      {"sum(sx)", [](L l) { return sum(l.s * l.x); }, 2},
      {"sum(x/s)", [](L l) { return sum(l.x / l.s); }, 2},
      {"sum(-x)", [](L l) { return sum(-l.x); }, 2},
      {"sum(-x)+sum(x)", [](L l) { return sum(-l.x) + sum(l.x); }, 0, kFast},
      {"sum(2x)-2sum(x)", [](L l) { return sum(2 * l.x) - 2 * sum(l.x); }, 0, kFast},
      {"sum(2 s x)", [](L l) { return sum(2 * (l.s * l.x)); }, 2},
      {"sum(a/x), rows", [](L l) { return sum(l.a / l.x, 0); }, 2},
      {"sum(a/column)", [](L l) { return sum(l.a / sum(l.a, 1, true), 1); }, 3},
      {"-max(-x)", [](L l) { return -max(-l.x); }, 1},
      {"-min(-x)", [](L l) { return -min(-l.x); }, 1},
      {"mean(2x)", [](L l) { return mean(2 * l.x); }, 2},
      {"sum(x*0)", [](L l) { return sum(l.x * 0); }, 0},
  });
}

TEST(SimplifyReductions, OfRepeatedValues) {
  expect_simplified({
      {"sum of a repeated scalar",
       [](L l) {
         return sum(broadcast_to(l.s, {3, 4}));
       },
       1},
      {"sum of ones", [](L l) { return sum(ones_like(l.a)); }, 0},
      {"sum of zeros", [](L l) { return sum(zeros_like(l.a), 1); }, 0},
      {"sum over new axis",
       [](L l) {
         return sum(broadcast_to(l.x, {5, 7}), 0);
       },
       1},
      {"sum of repeated rows",
       [](L l) {
         return sum(broadcast_to(l.x, {5, 7}));
       },
       2},
      {"mean of a repeated value",
       [](L l) {
         return mean(broadcast_to(l.x, {4, 7}), 0);
       },
       0},
      {"max of a repeated value",
       [](L l) {
         return max(broadcast_to(l.x, {5, 7}), 0);
       },
       0},
      {"min of a repeated scalar",
       [](L l) {
         return min(broadcast_to(l.s, {5, 7}));
       },
       0},
      {"any of a repeated value",
       [](L l) {
         return any(broadcast_to(l.p, {5, 7}), 0);
       },
       0},
      {"sum(x + 0 a)", [](L l) { return sum(l.x + 0 * l.a, 0); }, 1},
  });
}

TEST(SimplifyReductions, OfViewsAndPieces) {
  expect_simplified({
      {"sum(transpose)", [](L l) { return sum(transpose(l.a)); }, 1},
      {"sum(transpose, 0)-sum(., 1)", [](L l) { return sum(transpose(l.a), 0) - sum(l.a, 1); }, 0, kFast},
      {"max(transpose, 1)", [](L l) { return max(transpose(l.a), 1); }, 1},
      {"sum(reshape)",
       [](L l) {
         return sum(reshape(l.a, {7, 5})) - sum(l.a);
       },
       0, kFast},
      {"sum(flatten)", [](L l) { return sum(flatten(l.cube)); }, 1},
      {"sum over one", [](L l) { return sum(expand_dims(l.x, {0}), 0); }, 0},
      {"max over one", [](L l) { return max(expand_dims(l.x, {1}), 1); }, 0},
      {"prod over one, kept", [](L l) { return prod(expand_dims(l.x, {0}), 0, true); }, 0},
      {"sum(stack)",
       [](L l) {
         return sum(stack({l.x, l.y, l.z}), 0);
       },
       1},
      {"prod(stack)",
       [](L l) {
         return prod(stack({l.x, l.y}), 0);
       },
       1},
      {"max(stack)",
       [](L l) {
         return max(stack({l.x, l.y, l.z}), 0);
       },
       1},
      {"min(stack of scalars)",
       [](L l) {
         return min(stack({l.s, l.t}));
       },
       1},
      {"all(stack)",
       [](L l) {
         return all(stack({l.p, l.q}), 0);
       },
       1},
      {"any(stack)",
       [](L l) {
         return any(stack({l.p, l.q}), 0);
       },
       1},
      {"sum of a scalar", [](L l) { return sum(l.s); }, 0},
      {"sum(sqr(x*y))", [](L l) { return sum(sqr(l.x * l.y)); }, 2},
  });
}

}  // namespace
}  // namespace thtrain
