#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

Expr part(const Expr& x, const std::vector<Index>& indices) {
  return subtensor(x, indices);
}

}  // namespace

std::vector<RewriteRow> part_rewrites() {
  return {
      {"whole_slice",
       [](L l) {
         return part(l.m, {all(), Slice{0, 7}});
       },
       [](L l) { return l.m; }, Level::kStrict},
      {"slice_of_slice",
       [](L l) {
         return part(part(l.x, {Slice{1, 6}}), {Slice{1, 3}});
       },
       [](L l) {
         return part(l.x, {Slice{2, 4}});
       },
       Level::kStrict},
      {"slice_of_elementwise", [](L l) { return part(l.m * l.x, {1}); }, [](L l) { return part(l.m, {1}) * l.x; },
       Level::kStrict},
      {"slice_of_broadcast", [](L l) { return part(broadcast_like(l.x, l.m), {1}); }, [](L l) { return l.x; },
       Level::kStrict},
      {"slice_of_dimshuffle", [](L l) { return part(transpose(l.m), {1}); },
       [](L l) {
         return part(l.m, {all(), 1});
       },
       Level::kStrict},
      {"slice_of_join",
       [](L l) {
         return part(join(0, {l.x, l.y}), {Slice{7, 14}});
       },
       [](L l) { return l.y; }, Level::kStrict},
      // A part of two pieces, and one along another axis.
      {"slice_of_join",
       [](L l) {
         return part(join(0, {l.x, l.y}), {Slice{5, 9}});
       },
       [](L l) {
         return join(0, {part(l.x, {Slice{5, 7}}), part(l.y, {Slice{0, 2}})});
       },
       Level::kStrict},
      {"slice_of_join",
       [](L l) {
         return part(join(1, {l.m, exp(l.m)}), {1});
       },
       [](L l) {
         return join(0, {part(l.m, {1}), exp(part(l.m, {1}))});
       },
       Level::kStrict},
      {"slice_of_dot",
       [](L l) {
         return part(dot(l.m, transpose(l.m)), {1, 2});
       },
       [](L l) { return dot(part(l.m, {1}), part(l.m, {2})); }},
      {"slice_of_reduction", [](L l) { return part(sum(l.m, 1), {2}); }, [](L l) { return sum(part(l.m, {2})); }},
      {"slice_of_softmax", [](L l) { return part(softmax(l.m), {2}); }, [](L l) { return softmax(part(l.m, {2})); }},
      {"take_of_number", [](L l) { return take(l.m, -1); }, [](L l) { return part(l.m, {2}); }, Level::kStrict},
  };
}

TEST(SliceRules, Rewrite) {
  expect_rewrites(part_rewrites());
}

std::vector<UnchangedRow> part_unchanged() {
  return {
      // What others read whole is computed once.
      {"slice_of_elementwise", [](L l) { return part(exp(l.m), {1}) + sum(exp(l.m), 0); }},
      {"slice_of_dot",
       [](L l) {
         return part(dot(l.m, l.x), {Slice{0, 2}}) * sum(dot(l.m, l.x));
       }},
      {"slice_of_reduction", [](L l) { return part(sum(l.m, 0), {1}) * sum(l.m, 0); }},
      {"whole_slice", [](L l) { return part(l.x, {Slice{.step = -1}}); }},
      {"whole_slice",
       [](L l) {
         return part(l.x, {Slice{1, 7}});
       }},
      // A part of two pieces, backwards; part of the axis that the softmax runs over; reduced axes.
      {"slice_of_join",
       [](L l) {
         return part(join(0, {l.x, l.y}), {Slice{8, 4, -1}});
       }},
      {"slice_of_softmax",
       [](L l) {
         return part(softmax(l.m), {all(), Slice{0, 3}});
       }},
      {"slice_of_softmax", [](L l) { return part(softmax(l.m, 0), {1}); }},
      {"slice_of_dot", [](L l) { return part(dot(l.m, l.x), {1}); }, Level::kStrict},
      // Only the data knows where it lies.
      {"slice_of_elementwise", [](L l) { return part(exp(l.x), {take(l.i, 0)}); }},
      {"take_of_number", [](L l) { return take(l.m, part(l.i, {1})); }},
  };
}

TEST(SliceRules, Stay) {
  expect_unchanged(part_unchanged());
}

// Of lengths that only the call knows each piece gives what it has of the part: the join is no longer than that.
TEST(SliceRules, PartOfAJoinOfNamedLengths) {
  Expr x = vector("x"), m = matrix("m");
  const std::vector<Out> outputs{
      subtensor(join(0, {x, x}), {Slice{.stop = 4}}), subtensor(join(0, {x, 2 * x}), {Slice{.start = 2, .stop = -1}}),
      subtensor(join(1, {m, 3 * m}), {Slice{.stop = 2}}), subtensor(join(0, {x, x}), {Slice{.stop = length(x, 0)}})};
  Function native = function({x, m}, outputs), reference = function({x, m}, outputs, {}, {.mode = Mode::kReference});
  for (int64_t n = 0; n < 8; ++n) {
    Tensor values = Tensor::zeros(DType::kFloat64, {n}), matrix = Tensor::zeros(DType::kFloat64, {n, 3});
    for (int64_t i = 0; i < n; ++i)
      values.data<double>()[i] = matrix.data<double>()[3 * i + 1] = static_cast<double>(i + 1);
    const std::vector<Tensor> got = native({values, matrix}), want = reference({values, matrix});
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i])) << "output " << i << " of " << n << ": " << got[i].text();
  }
  Function prefix = function({x}, {subtensor(join(0, {x, x}), {Slice{.stop = length(x, 0)}})});
  EXPECT_EQ(prefix.explain().fused.find("join("), std::string::npos) << prefix.explain().fused;
  // The pieces are cut before they are joined.
  Function first = function({x}, {subtensor(join(0, {x, x}), {Slice{.stop = 4}})});
  const std::string text = first.explain().fused;
  EXPECT_LT(text.find("subtensor("), text.find("join(")) << text;
}

}  // namespace thtrain
