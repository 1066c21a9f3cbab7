// Origins name the user's line, never one of the standard library that called for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/runtime/shared.h"

namespace thtrain {
namespace {

std::string location(const Expr& value) {
  return value.node().origin.text();
}
std::string here(int line) {
  return str("built at ", __FILE__, ":", line);
}

TEST(Origins, AnOpThatAnAlgorithmCallsHasTheLineOfItsFirstInput) {
  const int first = __LINE__ + 1;
  Expr x = vector("x"), y = vector("y");
  std::vector<Expr> terms = {x, y};
  const int start = __LINE__ + 1;
  Expr sum = std::accumulate(terms.begin(), terms.end(), -x);
  EXPECT_EQ(location(sum), here(start));
  std::vector<Expr> products(2);
  std::transform(terms.begin(), terms.end(), terms.begin(), products.begin(), std::multiplies<>());
  EXPECT_EQ(location(products[1]), here(first));
  const int line = __LINE__ + 1;
  std::transform(terms.begin(), terms.end(), products.begin(), [](const Expr& term) { return exp(term); });
  EXPECT_EQ(location(products[0]), here(line));
}

TEST(Origins, AVariableThatAContainerMadeHasNoLineButItsScope) {
  Scope scope("net/hidden");
  std::vector<Shared> variables;
  variables.emplace_back(1.0, "w");
  EXPECT_EQ(location(variables[0].expr()), "net/hidden");
  std::optional<Shared> one;
  one.emplace(1.0, "b");
  EXPECT_EQ(location(one->expr()), "net/hidden");
  EXPECT_EQ(location(variables[0].expr() * 2.0), str("net/hidden, ", here(__LINE__)));
}

}  // namespace
}  // namespace thtrain
