// Matrix products: one call for each, whatever is around it.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/simplification_rows.h"

namespace thtrain {
namespace {

using L = const Operands&;

// c is [5, 4], as is dot(a, b).
TEST(SimplifyProducts, OneGemm) {
  expect_simplified({
      {"c + ab", [](L l) { return l.c + dot(l.a, l.b); }, 1},
      {"ab + c", [](L l) { return dot(l.a, l.b) + l.c; }, 1},
      {"c - ab", [](L l) { return l.c - dot(l.a, l.b); }, 1},
      {"ab - c", [](L l) { return dot(l.a, l.b) - l.c; }, 1},
      {"-ab + c", [](L l) { return -dot(l.a, l.b) + l.c; }, 1},
      {"c + 2ab", [](L l) { return l.c + 2 * dot(l.a, l.b); }, 1},
      {"2c + ab", [](L l) { return 2 * l.c + dot(l.a, l.b); }, 1},
      {"2c - 3ab", [](L l) { return 2 * l.c - 3 * dot(l.a, l.b); }, 1},
      {"sc + tab", [](L l) { return l.s * l.c + l.t * dot(l.a, l.b); }, 1},
      {"sc - tab", [](L l) { return l.s * l.c - l.t * dot(l.a, l.b); }, 2},
      {"c - s(ab)", [](L l) { return l.c - l.s * dot(l.a, l.b); }, 2},
      {"c - (ab)s", [](L l) { return l.c - dot(l.a, l.b) * l.s; }, 2},
      {"c - s t (ab)", [](L l) { return l.c - l.s * l.t * dot(l.a, l.b); }, 2},
      {"c - s(t(ab))", [](L l) { return l.c - l.s * (l.t * dot(l.a, l.b)); }, 2},
      {"s(c + ab)", [](L l) { return l.s * (l.c + dot(l.a, l.b)); }, 1},
      {"s(c - t ab)", [](L l) { return l.s * (l.c - l.t * dot(l.a, l.b)); }, 2},
      {"(c + ab)/s", [](L l) { return (l.c + dot(l.a, l.b)) / l.s; }, 2},
      {"c + ab/s", [](L l) { return l.c + dot(l.a, l.b) / l.s; }, 2},
      {"c + ab/4", [](L l) { return l.c + dot(l.a, l.b) / 4; }, 1},
      {"c - c + ab + c", [](L l) { return l.c + dot(l.a, l.b) + l.c; }, 1},
      {"c + c - ab", [](L l) { return (l.c + l.c) - dot(l.a, l.b); }, 1},
      {"c - (ab - c)", [](L l) { return l.c - (dot(l.a, l.b) - l.c); }, 1},
      {"-(ab - c)", [](L l) { return -(dot(l.a, l.b) - l.c); }, 1},
      {"c + (sa)b", [](L l) { return l.c + dot(l.s * l.a, l.b); }, 1},
      {"c + a(2b)", [](L l) { return l.c + dot(l.a, 2 * l.b); }, 1},
      {"c - (-a)b", [](L l) { return l.c - dot(-l.a, l.b); }, 1},
      {"c + (a/2)(b/3)", [](L l) { return l.c + dot(l.a / 2, l.b / 3); }, 1},
  });
}

TEST(SimplifyProducts, Transposes) {
  expect_simplified({
      {"c + (b'a')'", [](L l) { return l.c + transpose(dot(transpose(l.b), transpose(l.a))); }, 1},
      {"(ab)'", [](L l) { return transpose(dot(l.a, l.b)); }, 1},
      {"(ab)'' - ab", [](L l) { return transpose(transpose(dot(l.a, l.b))) - dot(l.a, l.b); }, 0, kFast},
      {"c' + b'a'", [](L l) { return transpose(l.c) + dot(transpose(l.b), transpose(l.a)); }, 1},
      {"a'c", [](L l) { return dot(transpose(l.a), l.c); }, 1},
      {"b - s a'c", [](L l) { return l.b - l.s * dot(transpose(l.a), l.c); }, 2},
      {"(c + ab)'", [](L l) { return transpose(l.c + dot(l.a, l.b)); }, 1},
      {"(c'+(ab)')'", [](L l) { return transpose(transpose(l.c) + transpose(dot(l.a, l.b))); }, 1},
  });
}

TEST(SimplifyProducts, SumsOfProducts) {
  expect_simplified({
      {"ab + aw", [](L l) { return dot(l.a, l.b) + dot(l.a, l.w); }, 2},
      {"c + ab + aw", [](L l) { return l.c + dot(l.a, l.b) + dot(l.a, l.w); }, 2},
      {"c - s ab - s aw", [](L l) { return l.c - l.s * dot(l.a, l.b) - l.s * dot(l.a, l.w); }, 3},
      {"2ab - 3aw", [](L l) { return 2 * dot(l.a, l.b) - 3 * dot(l.a, l.w); }, 2},
      {"ab + ab", [](L l) { return dot(l.a, l.b) + dot(l.a, l.b); }, 2},
      {"ab - ab", [](L l) { return dot(l.a, l.b) - dot(l.a, l.b); }, 0, kFast},
      {"c + 0 ab", [](L l) { return l.c + 0 * dot(l.a, l.b); }, 0},
      {"0 b",
       [](L l) {
         return dot(zeros({5, 7}), l.b);
       },
       0},
  });
}

TEST(SimplifyProducts, VectorsAndScalars) {
  expect_simplified({
      {"ax", [](L l) { return dot(l.a, l.x); }, 1},
      {"z + wy", [](L l) { return l.z + dot(l.w, sum(l.c, 0)); }, 2},
      {"z - s wy", [](L l) { return l.z - l.s * dot(l.w, sum(l.c, 0)); }, 3},
      {"xb + row", [](L l) { return dot(l.x, l.b) + sum(l.c, 0); }, 2},
      {"a + outer", [](L l) { return l.a + outer(sum(l.c, 1), l.x); }, 2},
      {"a - s outer", [](L l) { return l.a - l.s * outer(sum(l.c, 1), l.x); }, 3},
      {"column times row", [](L l) { return dot(expand_dims(l.x, {1}), expand_dims(l.y, {0})); }, 1},
      {"column times row, exp", [](L l) { return exp(dot(expand_dims(l.x, {1}), expand_dims(l.y, {0}))); }, 1},
      {"x.y", [](L l) { return dot(l.x, l.y); }, 1},
      {"(-x).y", [](L l) { return dot(-l.x, l.y) + dot(l.x, l.y); }, 0, kFast},
  });
}

TEST(SimplifyProducts, Chains) {
  expect_simplified({
      {"(a w)v", [](L l) { return dot(dot(l.a, l.w), sum(l.c, 0)); }, 3},
      {"(a w)v - a(w v)",
       [](L l) {
         Expr v = sum(l.c, 0);
         return dot(dot(l.a, l.w), v) - dot(l.a, dot(l.w, v));
       },
       0, kFast},
      {"x(b c') - (x b)c'", [](L l) { return dot(l.x, dot(l.b, transpose(l.c))) - dot(dot(l.x, l.b), transpose(l.c)); },
       0, kFast},
      {"narrow first", [](L l) { return dot(dot(l.b, transpose(l.c)), l.c) - dot(l.b, dot(transpose(l.c), l.c)); }, 0,
       kFast},
      {"four matrices",
       [](L l) {
         Expr left = dot(dot(dot(l.a, l.b), transpose(l.w)), l.w);
         return left - dot(dot(l.a, l.b), dot(transpose(l.w), l.w));
       },
       0, kFast},
  });
}

TEST(SimplifyProducts, Gradients) {
  expect_simplified({
      {"of a sum of squares", [](L l) { return grad(sum(sqr(dot(l.a, l.b))), l.b); }, 3},
      {"a descent step", [](L l) { return l.b - 0.1 * grad(sum(sqr(dot(l.a, l.b) - l.c)), l.b); }, 4},
      {"of a linear loss", [](L l) { return grad(sum(dot(l.a, l.b) * l.c), l.b); }, 1},
      {"through tanh", [](L l) { return grad(sum(tanh(dot(l.a, l.b))), l.b); }, 3},
      {"of weight decay", [](L l) { return l.b - 0.1 * grad(0.5 * sum(sqr(l.b)), l.b); }, 1},
  });
}

}  // namespace
}  // namespace thtrain
