#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {

std::vector<RewriteRow> inverse_rewrites() {
  return {
      {"log_of_exp", [](L l) { return log(exp(l.x)); }, [](L l) { return l.x; }},
      {"exp_of_log", [](L l) { return exp(log(l.x)); }, [](L l) { return switch_(ge(l.x, 0), l.x, NAN); }},
      {"exp2_of_log2", [](L l) { return exp2(log2(l.x)); }, [](L l) { return switch_(ge(l.x, 0), l.x, NAN); }},
      {"expm1_of_log1p", [](L l) { return expm1(log1p(l.x)); }, [](L l) { return switch_(ge(l.x, -1), l.x, NAN); }},
      {"sqr_of_sqrt", [](L l) { return sqrt(l.x) * sqrt(l.x); }, [](L l) { return l.x; }, Level::kFast},
      {"floor_of_ceil", [](L l) { return floor(ceil(l.x)); }, [](L l) { return ceil(l.x); }, Level::kStrict},
      {"sign_of_sign", [](L l) { return sign(sign(l.i)); }, [](L l) { return sign(l.i); }, Level::kStrict},
      {"abs_of_sigmoid", [](L l) { return abs(sigmoid(l.x)); }, [](L l) { return sigmoid(l.x); }, Level::kStrict},
      {"mul_of_abs", [](L l) { return abs(l.x) * abs(l.y); }, [](L l) { return abs(l.x * l.y); }, Level::kStrict},
  };
}

TEST(InverseRules, Rewrite) {
  expect_rewrites(inverse_rewrites());
}

std::vector<UnchangedRow> inverse_unchanged() {
  return {
      {"", [](L l) { return exp(log(l.x)); }, Level::kStrict},
      {"", [](L l) { return sqr(sqrt(l.x)); }, Level::kStandard},
      {"", [](L l) { return log(exp(l.x)); }, Level::kStrict},  // exp(1000) is an infinity
      {"", [](L l) { return arcsinh(tanh(l.x)); }},
      {"", [](L l) { return floor(tanh(l.x)); }},
      {"mul_of_abs", [](L l) { return abs(l.i) * abs(l.i); }},
  };
}

TEST(InverseRules, Stay) {
  expect_unchanged(inverse_unchanged());
}

}  // namespace thtrain
