// After PyTensor's tests/test_rop.py and Theano's: each value's derivative in both directions.
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::rop_suite {
namespace {

using G = Given&;

Slice to(int64_t stop) {
  return {.stop = stop};
}

struct Point {
  Expr x, dx;
};

Point vector_of(G g) {
  return {g.known(positive({20})), g.known(spread({20}))};
}

Point matrix_of(G g) {
  return {g.known(positive({4, 5})), g.known(spread({4, 5}))};
}

/// J dx, and u^T J for a u of the shape that the result has.
All both(G g, const Expr& y, const Point& at, const Shape& shape) {
  return {Rop(y, at.x, at.dx), Lop(y, at.x, g.known(spread(shape, 3)))};
}

/// Numbers of which no two are equal.
Tensor permuted(const Shape& shape) {
  const int64_t n = element_count(shape);
  int64_t step = 37;
  while (std::gcd(step, n) != 1) ++step;
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < n; ++i) out.data<double>()[i] = static_cast<double>(i * step % n) / 16;
  return out;
}

TEST(GradientSuite, RopAndLop) {
  std::vector<SuiteCase> cases = {
      {"TestRopLop.test_max[0]",
       [](G g) {
         const Point at = matrix_of(g);
         return both(g, max(at.x, 0), at, {5});
       }},
      {"TestRopLop.test_max[1]",
       [](G g) {
         const Point at = matrix_of(g);
         return both(g, max(at.x, 1), at, {4});
       }},
      {"TestRopLop.test_subtensor",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, at.x[to(4)], at, {4});
       }},
      {"TestRopLop.test_incsubtensor1",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, inc_subtensor(at.x[to(3)], g.known(spread({3}, 2))), at, {20});
       }},
      {"TestRopLop.test_incsubtensor2",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, inc_subtensor(g.known(spread({10}, 2))[to(4)], at.x[to(4)]), at, {10});
       }},
      {"TestRopLop.test_setsubtensor1",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, set_subtensor(at.x[to(3)], g.known(spread({3}, 2))), at, {20});
       }},
      {"TestRopLop.test_setsubtensor2",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, set_subtensor(g.known(spread({10}, 2))[to(4)], at.x[to(4)]), at, {10});
       }},
      {"TestRopLop.test_dimshuffle",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, sum(dimshuffle(at.x[to(4)], {-1, 0}), 0), at, {4});
       }},
      {"TestRopLop.test_rebroadcast",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, sum(dimshuffle(at.x[to(4)], {-1, 0}), 1), at, {1});
       }},
      {"TestRopLop.test_specifyshape",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, check(at.x, eq(length(at.x, 0), 20), "another length"), at, {20});
       }},
      {"TestRopLop.test_join",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, join(0, {at.x, g.known(spread({10}, 2))}), at, {30});
       }},
      {"TestRopLop.test_dot",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, dot(at.x, g.known(spread({20, 20}, 1))), at, {20});
       }},
      {"TestRopLop.test_elemwise0",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, pow(at.x + 1, 2), at, {20});
       }},
      {"TestRopLop.test_elemwise1",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, at.x + cast(at.x, DType::kInt32), at, {20});
       }},
      {"TestRopLop.test_reshape",
       [](G g) {
         const Point at = matrix_of(g);
         return both(g, reshape(at.x, {20}), at, {20});
       }},
      {"TestRopLop.test_flatten",
       [](G g) {
         const Point at = matrix_of(g);
         return both(g, flatten(at.x), at, {20});
       }},
      {"TestRopLop.test_sum",
       [](G g) {
         const Point at = matrix_of(g);
         return both(g, sum(at.x, 1), at, {4});
       }},
      {"TestRopLop.test_softmax",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, softmax(at.x), at, {20});
       }},
      {"TestRopLop.test_alloc[1]",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, full({20}, sum(at.x)), at, {20});
       }},
      {"TestRopLop.test_alloc[3]",
       [](G g) {
         const Point at = vector_of(g);
         return both(g, flatten(broadcast_to(at.x, {4, 5, 20})), at, {400});
       }},
      {"TestRopLop.test_multiple_outputs",
       [](G g) {
         const Expr m = g(spread({3, 7})), r = g(spread({7}));
         return Rop(All{m * 1.0, r * 1.0, m + r}, {m, r}, {g(spread({3, 7}, 4)), g(spread({7}, 5))});
       }},
      {"TestRopLop.test_Rop_partially_differentiable_paths",
       [](G g) {
         const Expr a = g(count({1, 20})), b = g(Tensor::of(std::vector<double>(20, 1), {20}));
         return Rop(tanh(dot(a, b * b)), b, b);
       }},
  };
  for (const bool is_full : {false, true})
    cases.push_back(made_case(str("TestRopLop.test_conv[", is_full ? "full" : "valid", "]"), [is_full](G g) {
      const Expr x = g.known(spread({2, 2, 4, 5})), w = g.known(spread({2, 2, 2, 3}, 1));
      const Expr dx = g.known(spread({2, 2, 4, 5}, 2)), dw = g.known(spread({2, 2, 2, 3}, 3));
      const ConvPadding padding = is_full ? ConvPadding::full() : ConvPadding::valid();
      return Rop(All{conv2d(x, w, {.padding = padding})}, {x, w}, {dx, dw});
    }));
  const std::vector<std::pair<std::vector<int64_t>, Shape>> pools = {{{2}, {16}},
                                                                     {{2}, {4, 16}},
                                                                     {{2}, {4, 2, 16}},
                                                                     {{1, 1}, {4, 2, 6, 6}},
                                                                     {{2, 2}, {2, 2, 8, 8}},
                                                                     {{3, 3}, {2, 2, 8, 8}},
                                                                     {{3, 2}, {2, 2, 8, 8}},
                                                                     {{3, 2, 2}, {2, 2, 7, 8, 6}},
                                                                     {{2, 3, 2}, {2, 2, 7, 8, 6}},
                                                                     {{2, 2, 3}, {2, 2, 7, 8, 6}}};
  const auto list = [](const std::vector<int64_t>& numbers) {
    std::string out;
    for (const int64_t n : numbers) out += str(out.empty() ? "" : ",", n);
    return out;
  };
  for (const auto& [window, shape] : pools)
    for (const bool ignore : {true, false})
      cases.push_back(made_case(
          str("TestRopLop.test_downsample[", list(window), ":", list(shape), ",", ignore ? "true" : "false", "]"),
          [window = window, shape = shape, ignore](G g) {
            const Expr x = g.known(permuted(shape));
            return All{Rop(pool(x, {.window = window, .ignore_border = ignore}), x, g.known(spread(shape)))};
          }));
  expect_suite("gradient", "rop", cases);
}

}  // namespace
}  // namespace thtrain::rop_suite
