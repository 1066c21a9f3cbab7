#include "compiler/passes/fuse_reductions.h"

#include <gtest/gtest.h>

#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/regions.h"
#include "compiler/runtime/function.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_reductions_test {
namespace {

Expr input(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat64, .dims = std::move(dims)}, name);
}

Graph fused(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs) {
  Graph after = fuse_reductions({inputs, outputs, {}}, {});
  verify(after, "fuse_reductions");
  after = fuse_elementwise(after, {});
  verify(after, "fuse_elementwise");
  return after;
}

TEST(FuseReductions, ASoftmaxWithItsNeighboursIsOneKernel) {
  Expr x = input({"n", 10}, "x"), b = input({10}, "b");
  EXPECT_EQ(steps_of(fused({x, b}, {softmax(x + b) * 2, log_softmax(x + b)})), Steps{"fused_reduction"});
  EXPECT_EQ(steps_of(fused({x}, {exp(x) / sum(exp(x), 1, true)})), Steps{"fused_reduction"});
  EXPECT_EQ(steps_of(fused({x}, {x - dimshuffle(log(sum(exp(x), 1)), {0, -1})})), Steps{"fused_reduction"});
}

TEST(FuseReductions, NormalizationsAreOneKernel) {
  Expr x = input({20, 30}, "x"), g = input({30}, "g");
  auto along = [&](std::vector<int64_t> axes, bool keepdims) {
    Expr away = x - sum(x, axes, keepdims) / 30;
    return g * away / sqrt(sum(sqr(away), axes, keepdims) / 30 + 1e-5);
  };
  EXPECT_EQ(steps_of(fused({x, g}, {along({1}, true)})), Steps{"fused_reduction"});
  EXPECT_EQ(steps_of(fused({x, g}, {along({0}, true)})), Steps{"fused_reduction"});
  EXPECT_EQ(steps_of(fused({x, g}, {along({0}, false)})), Steps{"fused_reduction"});
}

TEST(FuseReductions, ALossTakesWhatItReadsAndWhatIsMadeOfIt) {
  Expr x = input({"n", 7}, "x"), total = input({}, "total");
  EXPECT_EQ(steps_of(fused({x, total}, {total + sum(sqr(x)) / 3})), Steps{"fused_reduction"});
}

TEST(FuseReductions, ABiasGradientTakesItsUpdateAndLeavesWhatOthersRead) {
  Expr x = input({20, 30}, "x"), w = input({30, 5}, "w"), b = input({30}, "b");
  Expr d = x * (1 - sqr(x));
  EXPECT_EQ(steps_of(fused({x, w, b}, {b - 0.1 * sum(d, 0), dot(d, w)})), (Steps{"fused_reduction", "dot"}));
}

// The number of row i is read by column i: that is another row's element.
TEST(FuseReductions, ANumberOfARowIsNoNumberOfAColumn) {
  Expr x = input({6, 6}, "x");
  Expr y = exp(x) - sum(exp(x), 1);
  EXPECT_EQ(steps_of(fused({x}, {y})).size(), 2u);
  Tensor value = Tensor::of(std::vector<double>(36, 0.5), {6, 6});
  for (int64_t i = 0; i < 36; ++i) value.data<double>()[i] = 0.1 * static_cast<double>(i % 7);
  FunctionOptions reference{.mode = Mode::kReference};
  EXPECT_FALSE(difference(function({x}, {y})({value})[0], function({x}, {y}, {}, reference)({value})[0], 16));
}

// In a square, a row is as long as the numbers of all rows: it is read again for each of them.
TEST(FuseReductions, NumbersAreNotWrittenOverARowThatEverySliceReads) {
  Expr x = input({6, 6}, "x"), v = input({6}, "v"), w = input({6, 6}, "w");
  Expr y = dot(w, sum(x * exp(v), 1));
  Tensor row = Tensor::vector({0.1, -0.2, 0.3, 0.5, -0.7, 1.1}), square = Tensor::zeros(DType::kFloat64, {6, 6});
  for (int64_t i = 0; i < 36; ++i) square.data<double>()[i] = 0.1 * static_cast<double>((i * 5) % 11) - 0.3;
  Function f = function({x, v, w}, {y});
  EXPECT_NE(f.explain().program.find("fused_reduction"), std::string::npos) << f.explain().program;
  FunctionOptions reference{.mode = Mode::kReference};
  EXPECT_FALSE(
      difference(f({square, row, square})[0], function({x, v, w}, {y}, {}, reference)({square, row, square})[0], 16));
}

TEST(FuseReductions, Stay) {
  Expr x = input({20, 30}, "x"), w = input({30, 30}, "w"), one = input({20, 1}, "one"), long_x = input({5000, 30}, "l");
  // Nothing but a reduction; reductions over different axes; a product in between.
  EXPECT_EQ(steps_of(fused({x}, {sum(x, 1)})), Steps{"sum"});
  EXPECT_EQ(steps_of(fused({x}, {exp(sum(x, 1)) + sum(exp(sum(x, 0)))})),
            (Steps{"sum", "fused_reduction", "fused_reduction"}));
  EXPECT_EQ(steps_of(fused({x, w}, {dot(exp(x), w) / sum(exp(x), 1, true)})),
            (Steps{"fused", "dot", "fused_reduction"}));
  // A row of one element looks like its number.
  EXPECT_EQ(steps_of(fused({one}, {exp(one) / sum(exp(one), 1, true)})), (Steps{"fused", "sum", "fused"}));
  // Too many jumps across the rows; one row alone that writes much.
  EXPECT_EQ(steps_of(fused({long_x}, {sum(sqr(long_x), 0)})), (Steps{"fused", "sum"}));
  EXPECT_EQ(steps_of(fused({long_x}, {sqr(long_x), sum(sqr(long_x))})), (Steps{"fused", "sum"}));
}

TEST(FuseReductions, TwiceChangesNothing) {
  Expr x = input({"n", 10}, "x");
  Graph once = fuse_reductions({{x}, {softmax(x)}, {}}, {});
  EXPECT_TRUE(same_graph(once, fuse_reductions(once, {})));
}

// The update is written over the variable although the rows' number is read, and in one step.
TEST(FuseReductions, UpdatesInPlace) {
  Shared b(Tensor::of(std::vector<double>{1, 2, 3}, {3}), "b");
  Expr x = input({4, 3}, "x");
  Function f = function({x}, {}, {{b.expr(), b.expr() - 0.5 * sum(sqr(x), 0)}});
  std::string program = f.explain().program;
  EXPECT_EQ(program.find("temporary"), std::string::npos) << program;
  EXPECT_EQ(program.find("update"), program.find("updated")) << program;
  f({Tensor::of(std::vector<double>{1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2}, {4, 3})});
  Tensor after = b.get_value();
  EXPECT_EQ(after.as_double(0), -1);
  EXPECT_EQ(after.as_double(1), 2);
  EXPECT_EQ(after.as_double(2), -5);
}

}  // namespace
}  // namespace thtrain::fuse_reductions_test
