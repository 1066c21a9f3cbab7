#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/registry.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> reduce_rewrites() {
  return {
      {"prod_of_exp", [](L l) { return log(prod(exp(l.m), 1)); }, [](L l) { return sum(l.m, 1); }},
      {"reduction_of_same", [](L l) { return sum(sum(l.m, 0)); }, [](L l) { return sum(l.m); }},
      {"reduction_of_same", [](L l) { return sum(sum(l.m, 1, true), 0); }, [](L l) { return reshape(sum(l.m), {1}); }},
      {"sum_of_scaled", [](L l) { return sum(3 * l.m, 0); }, [](L l) { return 3 * sum(l.m, 0); }},
      {"sum_of_scaled", [](L l) { return sum(l.m / l.s); }, [](L l) { return sum(l.m) / l.s; }},
      {"sum_of_negative", [](L l) { return sum(-l.m, 1); }, [](L l) { return -sum(l.m, 1); }},
      {"reduction_of_single", [](L l) { return sum(expand_dims(l.x, {0}), 0); }, [](L l) { return l.x; }},
      {"sum_of_repeated", [](L l) { return sum(broadcast_like(l.x, l.m), 0); }, [](L l) { return l.x * 3; }},
      {"sum_of_repeated", [](L l) { return sum(broadcast_like(l.s, l.m)); }, [](L l) { return l.s * 21; }},
      {"dot_with_zeros",
       [](L l) {
         return dot(zeros({2, 3}, DType::kFloat64), l.m) + l.x;
       },
       [](L l) {
         return broadcast_to(l.x, {2, 7});
       }},
  };
}

TEST(ReduceRules, Rewrite) {
  expect_rewrites(reduce_rewrites());
}

std::vector<UnchangedRow> reduce_unchanged() {
  return {
      {"prod_of_exp", [](L l) { return prod(exp(l.m), 1) * sum(exp(l.m), 1); }},
      {"reduction_of_stack",
       [](L l) {
         return sum(stack({l.x, l.y}), 1);
       }},  // along each piece
      {"reduction_of_stack",
       [](L l) {
         return sum(join(0, {l.x, l.y}));
       }},
      {"reduction_of_stack",
       [](L l) {
         return any(stack({l.x, l.y}), 0);
       }},  // of floats
      {"extremum_of_repeated", [](L l) { return max(l.m, 0); }},
      {"extremum_of_repeated",
       [](L l) {
         return max(broadcast_to(l.x, {3, 7}), 1);
       }},
      {"reduction_of_shuffled",
       [](L l) {
         return sum(reshape(l.m, {7, 3}), 0);
       }},
      {"sum_of_scaled", [](L l) { return sum(l.m / l.x, 1); }},
      {"sum_of_scaled", [](L l) { return sum(l.x * l.m, 0); }},
      {"sum_of_scaled", [](L l) { return sum(cast(l.i, DType::kInt32) * 3); }},  // would not wrap at 2^31 any more
      {"reduction_of_same", [](L l) { return sum(sum(l.m, 0)) + max(sum(l.m, 0)); }},
      {"reduction_of_same", [](L l) { return sum(max(l.m, 0)); }},
      {"reduction_of_same", [](L l) { return sum(sum(l.m, 0)); }, Level::kStrict},
      {"reduction_of_single", [](L l) { return sum(l.x); }},
      {"",
       [](L l) {
         return sum(broadcast_to(l.x, {3, 7}), 1);
       },
       Level::kStrict},
      {"dot_with_zeros", [](L l) { return dot(l.m, l.x); }},
  };
}

TEST(ReduceRules, Stay) {
  expect_unchanged(reduce_unchanged());
}

// The number of repetitions may be a length that the call decides.
TEST(ReduceRules, CountsWhatTheCallDecides) {
  Expr s = leaves().s, x = make_input({.dtype = DType::kFloat64, .dims = {"n"}}, "x");
  Rewritten r = canonical(sum(broadcast_like(s, x)));
  EXPECT_TRUE(r.has("sum_of_repeated"));
  EXPECT_TRUE(r.value.same(canonical(s * cast(length(x, 0), DType::kFloat64)).value) ||
              is_op(r.value, *find_op("mul")));
}

}  // namespace thtrain
