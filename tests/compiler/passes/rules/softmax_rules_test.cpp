#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

Expr labels() {
  static const Expr out = make_input({.dtype = DType::kInt64, .dims = {3}}, "labels");
  return out;
}
Expr exp_over_total(const Expr& x, int64_t axis) {
  return exp(x) / sum(exp(x), axis, true);
}

}  // namespace

std::vector<RewriteRow> softmax_rewrites() {
  return {
      {"softmax_of_shifted", [](L l) { return softmax(l.m - max(l.m, 1, true)); }, [](L l) { return softmax(l.m); }},
      {"softmax_of_shifted", [](L l) { return log_softmax(l.m - max(l.m, 0, true), 0); },
       [](L l) { return log_softmax(l.m, 0); }},
      {"softmax_of_shifted",
       [](L l) {
         Expr e = exp(l.m - max(l.m, 1, true));
         return e / sum(e, 1, true);
       },
       [](L l) { return softmax(l.m); }},
      {"log_of_softmax", [](L l) { return log(softmax(l.m)); }, [](L l) { return log_softmax(l.m); }},
      {"log_of_softmax", [](L l) { return log(softmax(l.m, 0)); }, [](L l) { return log_softmax(l.m, 0); }},
      {"log_of_selected_softmax", [](L l) { return log(pick_rows(softmax(l.m), labels())); },
       [](L l) { return pick_rows(log_softmax(l.m), labels()); }},
      {"log_of_selected_softmax", [](L l) { return log(take(softmax(l.x), labels())); },
       [](L l) { return take(log_softmax(l.x), labels()); }},
      {"log_of_selected_softmax",
       [](L l) {
         return log(subtensor(softmax(l.x), {Slice{1, 3}}));
       },
       [](L l) {
         return subtensor(log_softmax(l.x), {Slice{1, 3}});
       }},
      {"softmax_quotient", [](L l) { return exp_over_total(l.m, 1); }, [](L l) { return softmax(l.m); }},
      {"softmax_quotient", [](L l) { return exp(l.x) / sum(exp(l.x)); }, [](L l) { return softmax(l.x); }},
      {"softmax_quotient",
       [](L l) {
         return exp(l.m) / reshape(sum(exp(l.m), 1), {3, 1});
       },
       [](L l) { return softmax(l.m); }},
      {"softmax_quotient", [](L l) { return exp(l.m) / sum(exp(l.m), 0); }, [](L l) { return softmax(l.m, 0); }},
      {"softmax_quotient", [](L l) { return exp(l.m) / sum(exp(l.m)); },
       [](L l) { return reshape(softmax(reshape(l.m, {-1})), l.m.dims()); }},
      {"softmax_quotient_times", [](L l) { return exp(l.m) * (3 / sum(exp(l.m), 0)); },
       [](L l) { return 3 * softmax(l.m, 0); }},
      {"softmax_quotient_times", [](L l) { return exp(l.m) * (3 / sum(exp(l.m))); },
       [](L l) { return 3 * reshape(softmax(reshape(l.m, {-1})), l.m.dims()); }},
      {"log_of_softmax", [](L l) { return log(exp_over_total(l.m, 1)); }, [](L l) { return log_softmax(l.m); }},
      {"log_softmax_difference", [](L l) { return l.m - log(sum(exp(l.m), 1, true)); },
       [](L l) { return log_softmax(l.m); }},
      {"log_softmax_difference", [](L l) { return l.m - log(sum(exp(l.m))); },
       [](L l) { return reshape(log_softmax(reshape(l.m, {-1})), l.m.dims()); }},
      {"log_of_selected_softmax", [](L l) { return log(transpose(reshape(softmax(reshape(l.m, {-1})), l.m.dims()))); },
       [](L l) { return transpose(reshape(log_softmax(reshape(l.m, {-1})), l.m.dims())); }},
      {"exp_of_log_softmax", [](L l) { return exp(l.m - log(sum(exp(l.m), 1, true))); },
       [](L l) { return softmax(l.m); }},
  };
}

TEST(SoftmaxRules, Rewrite) {
  expect_rewrites(softmax_rewrites());
}

std::vector<UnchangedRow> softmax_unchanged() {
  return {
      // The maximum of another value, or along another axis; NaN would be lost, or another softmax made.
      {"softmax_of_shifted", [](L l) { return softmax(l.m - max(sqr(l.m), 1, true)); }},
      {"softmax_of_shifted", [](L l) { return softmax(l.m - max(l.m, 0, true), 1); }},
      {"softmax_of_shifted", [](L l) { return softmax(l.m - min(l.m, 1, true)); }},
      {"", [](L l) { return log(2 + softmax(l.m)); }},
      {"", [](L l) { return exp(l.m) / sum(exp(l.m), 0); }, Level::kStrict},
      {"softmax_quotient", [](L l) { return exp(l.m) / sum(exp(l.x)); }},
      {"softmax_quotient", [](L l) { return exp(l.x) / sum(exp(l.y)); }},
      {"softmax_quotient", [](L l) { return exp(l.m) / max(exp(l.m), 1, true); }},
      {"log_softmax_difference", [](L l) { return l.y - log(sum(exp(l.x))); }},
      {"log_softmax_difference", [](L l) { return l.x - sum(exp(l.x)); }},
      {"log_of_selected_softmax", [](L l) { return log(sum(softmax(l.m), 1)); }},
      // The logarithm is wanted too, so that its exponential is the cheaper way.
      {"exp_of_log_softmax", [](L l) { return exp(log_softmax(l.m)) + log_softmax(l.m); }},
      // Another axis, another sum, another p.
      {"softmax_gradient", [](L l) { return softmax(l.m) * (l.m / softmax(l.m) - sum(l.m, 1, true)); },
       Level::kStandard},
      {"softmax_gradient",
       [](L l) {
         Expr p = softmax(l.m), q = softmax(l.m, 0);
         return p * (l.m / q - sum(l.m / q * p, 1, true));
       }},
      // Nothing to take out.
      {"softmax_gradient",
       [](L l) {
         Expr p = softmax(l.m), dy = tanh(l.m);
         return p * (dy - sum(dy * p, 1, true));
       }},
  };
}

TEST(SoftmaxRules, Stay) {
  expect_unchanged(softmax_unchanged());
}

// An axis that is square with another: a transposed total is not the total.
TEST(SoftmaxRules, TransposedTotalsAreNotTaken) {
  Expr cube = make_input({.dtype = DType::kFloat64, .dims = {4, 4, 4}}, "cube");
  Expr total = dimshuffle(sum(exp(cube), 2), {1, 0, -1});
  EXPECT_FALSE(stable(exp(cube) / total).has("softmax_quotient"));
}

}  // namespace thtrain
