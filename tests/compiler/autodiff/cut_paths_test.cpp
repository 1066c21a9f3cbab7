// What the error of a disconnected variable says of the paths from it to the cost.
#include "compiler/autodiff/cut_paths.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::cut_paths_test {
namespace {

// The line "got:" of what f throws.
template <class F>
std::string got_of(F f) {
  const std::string text = text_without_node(f);
  const size_t begin = text.find("  got:      "), end = text.find("\n  hint:");
  return begin == std::string::npos ? text : text.substr(begin + 12, end - begin - 12);
}

std::string at(int line) {
  return str(", built at ", __FILE__, ":", line);
}

TEST(CutPaths, TheNodeThatEndsTheOnlyPathIsNamedWithItsLine) {
  const Expr x = vector("x", {3});
  const Expr stopped = stop_gradient(x * 2.0), rounded = cast(x, DType::kInt32), location = argmax(x);
  const int line = __LINE__ - 1;
  EXPECT_EQ(got_of([&] { grad(sum(sqr(stopped)), x); }),
            str("the path from x ends at stop_gradient(mul(x, 2)) float64[3]", at(line), ": no derivative passes it"));
  EXPECT_EQ(got_of([&] { grad(sum(cast(rounded, DType::kFloat64) * 2.0), x); }),
            str("the path from x ends at cast(x) int32[3]", at(line), ": such values have no derivative"));
  EXPECT_EQ(got_of([&] { grad(cast(location, DType::kFloat64), x); }),
            str("the path from x ends at argmax(x) int64[]", at(line), ": such values have no derivative"));
  const Expr inner = sqr(x);
  EXPECT_EQ(got_of([&] { grad(sum(exp(inner)), x, {.consider_constant = {inner}}); }),
            str("the path from x ends at sqr(x) float64[3]", at(__LINE__ - 2), ": it is considered constant"));
}

TEST(CutPaths, SeveralAreNamed) {
  const Expr x = vector("x", {3});
  const Expr cost = sum(stop_gradient(x)) + sum(cast(gt(x, 0), DType::kFloat64));
  const std::string text = got_of([&] { grad(cost, x); });
  EXPECT_TRUE(text.starts_with("all paths from x end at ")) << text;
  EXPECT_NE(text.find("stop_gradient(x) float64[3]"), std::string::npos) << text;
  EXPECT_NE(text.find("\n            and at gt(x, 0) bool[3]"), std::string::npos) << text;
}

TEST(CutPaths, WhereThereIsNoneTheErrorSaysSo) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  EXPECT_EQ(got_of([&] { grad(sum(sqr(y)), x); }), "no path of the graph leads from x to the cost");
  const Expr hidden = tanh(y);
  EXPECT_EQ(got_of([&] { grad(sum(sqr(y)), hidden); }), "no path of the graph leads from tanh(y) to the cost");
}

TEST(CutPaths, OfAProductWithAPathThatIsOpenThereIsNoError) {
  const Expr x = vector("x", {3});
  EXPECT_EQ(got_of([&] { grad(sum(stop_gradient(x) * x), x); }), "no error");
}

TEST(CutPaths, LongChainsAreFollowedWithoutRecursion) {
  const Expr x = scalar("x");
  Expr y = stop_gradient(x);
  for (int i = 0; i < 20000; ++i) y = y + 1.0;
  EXPECT_NE(got_of([&] { grad(y, x); }).find("ends at stop_gradient(x)"), std::string::npos);
}

}  // namespace
}  // namespace thtrain::cut_paths_test
