// What pooling says of windows, strides and padding that do not fit.
#include <gtest/gtest.h>

#include "compiler/ops/pool/pool.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain::pool_errors_test {
namespace {

Expr image(Dims dims, DType dtype = DType::kFloat64) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, "x");
}

TEST(PoolErrors, OptionsThatDoNotFit) {
  const Expr x = image({2, 5, 6});
  EXPECT_EQ(text_without_node([&] { pool(x, {.window = {}}); }),
            "error: max_pool: windows of 0 axes\n"
            "  expected: 1 to 3 axes\n"
            "  got:      x float64[2, 5, 6]");
  EXPECT_EQ(text_without_node([&] {
              pool(image({6}), {.window = {2, 2}});
            }),
            "error: max_pool: a window of 2 axes\n"
            "  expected: a value of at least 2 axes\n"
            "  got:      x float64[6]");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 2}, .stride = {2}});
            }),
            "error: max_pool: 1 strides for a window of 2 axes\n"
            "  expected: one for each axis\n"
            "  got:      x float64[2, 5, 6]");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 2}, .padding = {{1, 1}}, .mode = PoolMode::kSum});
            }),
            "error: sum_pool: 1 paddings for a window of 2 axes\n"
            "  expected: one for each axis\n"
            "  got:      x float64[2, 5, 6]");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 0}});
            }),
            "error: max_pool: the window of axis 2 has the length 0\n"
            "  expected: a length of at least 1\n"
            "  got:      x float64[2, 5, 6]");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 2}, .stride = {0, 1}});
            }),
            "error: max_pool: the stride of axis 1 is 0\n"
            "  expected: a step of at least 1\n"
            "  got:      x float64[2, 5, 6]");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 3}, .padding = {{0, 0}, {0, 3}}});
            }),
            "error: max_pool: the padding 3 of axis 2 does not fit its window 3\n"
            "  expected: 0 <= padding < 3\n"
            "  got:      x float64[2, 5, 6]\n"
            "  hint:     a window of nothing but padding has no value");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 2}, .padding = {{-1, 0}, {0, 0}}});
            }),
            "error: max_pool: the padding -1 of axis 1 does not fit its window 2\n"
            "  expected: 0 <= padding < 2\n"
            "  got:      x float64[2, 5, 6]\n"
            "  hint:     a window of nothing but padding has no value");
  EXPECT_EQ(text_without_node([&] {
              pool(x, {.window = {2, 8}, .padding = {{0, 0}, {1, 0}}});
            }),
            "error: max_pool: the window 8 of axis 2 is longer than the padded axis, 7\n"
            "  got:      x float64[2, 5, 6]\n"
            "  hint:     with ignore_border false a window may stick out at the end");
  EXPECT_EQ(text_without_node([&] {
              pool(image({2, 0}), {.window = {1}});
            }),
            "error: max_pool: axis 1 is empty\n"
            "  expected: 1 <= 0\n"
            "  got:      x float64[2, 0]");
  EXPECT_EQ(text_without_node([&] { pool(image({4}, DType::kBool), {.window = {2}}); }),
            "error: max_pool: is not defined for bool\n"
            "  expected: integers or floats\n"
            "  got:      x bool[4]");
  EXPECT_EQ(text_without_node([&] { pool(image({4}, DType::kInt32), {.window = {2}, .mode = PoolMode::kAverage}); }),
            "error: sum_pool: the input must hold real floats\n"
            "  got:      x int32[4]");
  EXPECT_EQ(text_without_node([&] { global_pool(x, 4, PoolMode::kMax); }),
            "error: global_pool: 4 axes to pool\n"
            "  expected: 1 to 3 axes\n"
            "  got:      x float64[2, 5, 6]");
}

TEST(PoolErrors, AnEmptyAxisIsAnErrorOfTheCall) {
  const Expr x = image({"n", "w"});
  Function f = function({x}, {pool(x, {.window = {2}, .ignore_border = false})});
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::zeros(DType::kFloat64, {3, 0})});
            }),
            "error: max_pool: axis 1 is empty\n"
            "  expected: 1 <= w\n"
            "  got:      1 and 0");
}

}  // namespace
}  // namespace thtrain::pool_errors_test
