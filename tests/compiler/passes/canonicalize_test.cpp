#include "compiler/passes/canonicalize.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

using L = const Leaves&;

TEST(Canonicalize, OneFormForManySpellings) {
  expect_one_form({[](L l) { return 2 * l.x + l.y; }, [](L l) { return l.x + l.y + l.x; },
                   [](L l) { return l.y + l.x * 2; }, [](L l) { return -(-l.x - l.y) + l.x; },
                   [](L l) { return (3 * l.x + l.y) - l.x; }, [](L l) { return 2 * (1 * l.x) - -l.y + 0; }});
  expect_one_form({[](L l) { return sqr(l.x); }, [](L l) { return l.x * l.x; }, [](L l) { return pow(l.x, 2); },
                   [](L l) { return -l.x * -l.x; }, [](L l) { return sqr(abs(-l.x)); }});
  expect_one_form({[](L l) { return l.x * 0.25; }, [](L l) { return l.x / 4; }, [](L l) { return 0.5 * l.x / 2; },
                   [](L l) { return l.x * 3 / 12; }});
  expect_one_form({[](L l) { return l.x / l.y; }, [](L l) { return l.x * (1 / l.y); },
                   [](L l) { return l.x * reciprocal(l.y); }, [](L l) { return l.x * pow(l.y, -1); },
                   [](L l) { return -l.x / -l.y; }, [](L l) { return -(-l.x / l.y); }});
}

TEST(Canonicalize, StrictKeepsBits) {
  expect_unchanged({
      {"", [](L l) { return l.x + 0; }, Level::kStrict},
      {"", [](L l) { return l.x + 1 + 2; }, Level::kStrict},
      {"", [](L l) { return l.x * 3 * 5; }, Level::kStrict},
      {"", [](L l) { return l.x / 3; }, Level::kStrict},
      {"", [](L l) { return pow(l.x, 2); }, Level::kStrict},
      {"", [](L l) { return l.x - l.x; }, Level::kStrict},
      {"", [](L l) { return 0 * l.x; }, Level::kStrict},
  });
}

// The gradient of a sum of terms of which some do not matter holds no product with a zero.
TEST(Canonicalize, GradientsLoseTheirZeros) {
  const Leaves& l = leaves();
  Expr gradient = grad(sum(sqr(l.x) + sign(exp(l.x)) * l.y), l.x);
  EXPECT_TRUE(stable(gradient).has("mul_by_zero"));
  std::vector<Expr> both = stable_all({gradient, 2 * l.x});
  EXPECT_TRUE(both[0].same(both[1])) << expr_text(both[0]);
}

TEST(Canonicalize, LeavesUpdatesToTheMatrixProducts) {
  Expr w = matrix("w", {4, 5}), x = matrix("x", {"n", 4}), d = matrix("d", {"n", 5});
  EXPECT_EQ(expr_text(canonical(w - 0.1 * dot(transpose(x), d)).value), "sub(w, mul(0.1, dot(dimshuffle(x), d)))");
  EXPECT_EQ(expr_text(canonical(w + -0.1 * dot(transpose(x), d)).value), "sub(w, mul(0.1, dot(dimshuffle(x), d)))");
}

// Random expressions: what comes out is well formed, means the same, and stays as it is.
TEST(Canonicalize, RandomExpressions) {
  const Leaves& l = leaves();
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Expr> pool{l.x, l.y, l.z, l.m, l.s, Operand(2.0).expr(), Operand(-0.5).expr(), Operand(1.0).expr()};
    auto pick = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 25; ++i) {
      switch (random() % 8) {
        case 0:
          pool.push_back(pick() + pick());
          break;
        case 1:
          pool.push_back(pick() - pick());
          break;
        case 2:
          pool.push_back(pick() * pick());
          break;
        case 3:
          pool.push_back(pick() / (2 + sqr(pick())));
          break;
        case 4:
          pool.push_back(-pick());
          break;
        case 5:
          pool.push_back(tanh(pick()));
          break;
        case 6:
          pool.push_back(sum(pick()));
          break;
        case 7:
          pool.push_back(broadcast_to(pool[random() % 5 == 4 ? 4 : 0], {3, 7}));
          break;
      }
    }
    Expr value = pool.back() + pick() * pick();
    SCOPED_TRACE(str("seed ", seed));
    Rewritten r = stable(value);
    EXPECT_EQ(r.value.type(), value.type());
    Bindings inputs;
    for (const Expr& leaf : leaves_of(std::vector{value}))
      inputs.emplace_back(leaf, plain_values(leaf.dtype(), leaf.type().known_shape(), random));
    EXPECT_EQ(broken_promise(Safety::kReassociating, value, r.value, inputs, Values::kPlain), "");
  }
}

}  // namespace
}  // namespace thtrain
