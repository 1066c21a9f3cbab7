// How nodes read their inputs: the one question that fusion and the planner ask.
#include <gtest/gtest.h>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr floats(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat64, .dims = std::move(dims)}, name);
}

std::vector<Access> accesses(const Expr& value) {
  std::vector<Access> out;
  for (size_t i = 0; i < value.node().inputs.size(); ++i) out.push_back(access_of(value.node(), i));
  return out;
}

using enum Access;
using Accesses = std::vector<Access>;

const Expr x = floats({4, 5}, "x"), b = floats({5}, "b"), number = floats({}, "number");
const Expr indices = make_input({.dtype = DType::kInt64, .dims = {4}}, "indices");

TEST(Access, OfEachKindOfOp) {
  EXPECT_EQ(accesses(x + b), (Accesses{kElement, kElement}));
  EXPECT_EQ(accesses(sum(x, 1)), Accesses{kRow});
  EXPECT_EQ(accesses(argmax(x, 1)), Accesses{kRow});
  EXPECT_EQ(accesses(softmax(x)), Accesses{kRow});
  EXPECT_EQ(accesses(take(x, indices)), (Accesses{kIndexed, kIndexed}));
  EXPECT_EQ(accesses(pick_rows(x, indices)), (Accesses{kIndexed, kIndexed}));
  EXPECT_EQ(accesses(dot(x, b)), (Accesses{kWhole, kWhole}));
  EXPECT_EQ(accesses(apply(gemm_op(), {floats({4, 4}, "c"), number, x, floats({5, 4}, "y"), number})),
            (Accesses{kElement, kElement, kWhole, kWhole, kElement}));
  EXPECT_EQ(accesses(scatter_add(x, indices, floats({4, 5}, "y"))), (Accesses{kWhole, kWhole, kWhole}));
  EXPECT_EQ(accesses(dimshuffle(b, {-1, 0})), Accesses{kElement}) << "an axis of length 1 moves nothing";
  EXPECT_EQ(accesses(transpose(x)), Accesses{kWhole});
}

TEST(Access, OfABodyIsTheWidestOnTheWay) {
  const auto loop = [](const std::vector<Expr>& in) {
    return std::vector<Expr>{sqr(in[0]) + take(in[1], in[2]), tanh(in[0])};
  };
  const Expr fused = fused_values(make_fused, {x, x, indices}, loop)[1];
  EXPECT_EQ(accesses(fused), (Accesses{kElement, kIndexed, kIndexed}));

  Graph body{{x, indices}, {sum(exp(take(x, indices)), 1), transpose(sum(x, 1, true))}, {}};
  EXPECT_EQ(access_through(body, 0), kWhole);
  EXPECT_EQ(access_through(body, 1), kIndexed);
  EXPECT_EQ(access_through({{x, b}, {sum(exp(x), 1)}, {}}, 0), kRow);
  EXPECT_EQ(access_through({{x, b}, {sum(exp(x), 1)}, {}}, 1), kElement) << "nobody reads it";
}

// A number of each slice may be written over another one, but not over what every slice reads again.
TEST(Access, OverSlicesAnInputIsReadByRowUnlessTheyShareIt) {
  const Expr square = floats({6, 6}, "square"), shared = floats({6}, "shared"), scale = floats({6}, "scale");
  const auto loop = [](const std::vector<Expr>& in) { return std::vector<Expr>{sum(in[0] + in[1], 1) * in[2]}; };
  const Expr fused = fused_values(make_fused_reduction, {square, shared, scale}, loop)[0];
  EXPECT_EQ(accesses(fused), (Accesses{kRow, kWhole, kRow}));
}

}  // namespace
}  // namespace thtrain
