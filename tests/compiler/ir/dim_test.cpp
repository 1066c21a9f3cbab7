// Lengths: canonical forms, and random expressions against integers.
#include "compiler/ir/dim.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/base/error.h"
#include "compiler/ir/variables.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

TEST(Dim, EqualExpressionsHaveOneForm) {
  Dim n("n"), m("m");
  EXPECT_EQ(((n + m) * 2).text(), "2*m + 2*n");
  EXPECT_EQ((n + m) * 2, 2 * m + 2 * n);
  EXPECT_EQ((n - n).text(), "0");
  EXPECT_EQ(floor_div(4 * n + 2, 2), 2 * n + 1);
  EXPECT_EQ(floor_div(n, n), Dim(1));
  EXPECT_EQ(max(n, m), max(m, n));
  EXPECT_EQ(max(n, n + 2), n + 2);
  EXPECT_EQ(min(n, n + 2), n);
  EXPECT_EQ(floor_div(Dim(-3), 2), Dim(-2));
  EXPECT_EQ((floor_div(n - 3, 2) + 1).text(), "floor_div(n - 3, 2) + 1");
}

TEST(Dim, RandomExpressionsReadBackAndEvaluate) {
  std::mt19937 random(7);
  SCOPED_TRACE("seed 7");
  auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  auto value_of = [](const std::string& name) { return static_cast<int64_t>(name == "a" ? 3 : name == "b" ? 10 : 7); };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<Dim, int64_t>> pool{{Dim("a"), 3}, {Dim("b"), 10}, {Dim("x~12.0"), 7}, {2, 2}, {-3, -3}};
    for (int i = 0; i < 8; ++i) {
      auto [d, x] = pool[static_cast<size_t>(below(static_cast<int>(pool.size())))];
      auto [e, y] = pool[static_cast<size_t>(below(static_cast<int>(pool.size())))];
      if (std::abs(x) > 100000 || std::abs(y) > 100000 || d.text().size() > 300 || e.text().size() > 300) continue;
      int64_t k = 1 + below(4);
      switch (below(6)) {
        case 0:
          pool.emplace_back(d + e, x + y);
          break;
        case 1:
          pool.emplace_back(d - e, x - y);
          break;
        case 2:
          pool.emplace_back(d * e, x * y);
          break;
        case 3:
          pool.emplace_back(max(d, e), std::max(x, y));
          break;
        case 4:
          pool.emplace_back(min(d, e), std::min(x, y));
          break;
        default:
          pool.emplace_back(floor_div(d, k), (x - (x % k + k) % k) / k);
          break;
      }
    }
    const auto& [dim, value] = pool.back();
    EXPECT_EQ(dim.evaluate(value_of), value) << dim.text();
    std::optional<Dim> again = Dim::parse(dim.text());
    ASSERT_TRUE(again) << dim.text();
    EXPECT_EQ(*again, dim) << dim.text();
    Dim known = dim.substitute([&](const std::string& name) -> std::optional<Dim> { return Dim(value_of(name)); });
    EXPECT_TRUE(known.is(value)) << dim.text();
  }
}

TEST(Dim, WhatIsNoLength) {
  for (const char* text : {"", "n +", "max(n)", "floor_div(n, 0)", "n m", "99999999999999999999", "(n", "n)"})
    EXPECT_FALSE(Dim::parse(text)) << text;
}

TEST(Dim, NamesOfLayersReadBack) {
  for (const char* name : {"batch", "net/hidden.0", "x~12.0", "@net/i~7", "2n"}) {
    std::optional<Dim> again = Dim::parse((2 * Dim(name) + 1).text());
    ASSERT_TRUE(again) << name;
    EXPECT_EQ(*again, 2 * Dim(name) + 1);
  }
}

TEST(Dim, ANameMustNotLookLikeAnExpression) {
  for (std::string name : {"", "12", "n*m", "n m", "n-1", "f(n)", "a,b"})
    EXPECT_EQ(text_without_node([&] { Dim::named(name); }),
              "error: \"" + name +
                  "\" cannot be the name of a length\n"
                  "  expected: letters, digits and _ . / in any order, but not digits alone");
  int line = 0;
  try {
    line = __LINE__, matrix("x", {"n", "n m"});
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages()[0].node, str("built at ", __FILE__, ":", line));
  }
  // Of a variable everything may be a name.
  Expr x = matrix("my x*2, (old)"), i = iscalar("how many?");
  EXPECT_TRUE(Dim::parse(x.dims()[1].text())) << x.dims()[1].text();
  EXPECT_EQ(readable(x.dims()[1].text()), "my_x_2___old_.1");
  EXPECT_EQ(readable(symbolic_value(i)->text()), "@how_many_");
}

TEST(Dim, AnUpperBoundIsNoLessForAllThatTheNameCanBe) {
  const Dim k = Dim::defined("#k~1", nullptr), n("n");
  auto most = [&](const Dim& dim) {
    return dim.upper_bound(
        [](const std::string& name) { return name == "#k~1" ? std::optional<Dim>(10) : std::nullopt; });
  };
  EXPECT_EQ(most(2 * k + n), n + 20);
  EXPECT_EQ(most(n - k), n);
  EXPECT_EQ(most(n - n * floor_div(k, 3)), n);
  EXPECT_EQ(most(k * k * 3), Dim(300));
  EXPECT_EQ(most(floor_div(k - 1, 2)), Dim(4));
  EXPECT_EQ(most(max(k, n)), max(Dim(10), n));
  EXPECT_EQ(most(floor_div(n, k)), n);
  EXPECT_EQ(most(n), n);
}

TEST(Dim, ADefinedNameKeepsItsNode) {
  const Expr x = vector("x", {"n"});
  const Dim k = Dim::defined("#k~1", x.node_ptr());
  std::vector<std::shared_ptr<const Node>> definers;
  (3 * k + 1).substitute([](const std::string&) { return std::nullopt; }).collect_definers(definers);
  ASSERT_EQ(definers.size(), 1u);
  EXPECT_EQ(definers[0], x.node_ptr());
  EXPECT_TRUE(is_data_dependent(k + 1));
  EXPECT_FALSE(is_data_dependent(Dim("n")));
  EXPECT_EQ(readable(k.text()), "#k");
}

TEST(Dim, ProvableOrder) {
  EXPECT_TRUE((Dim("n") + 2).is_at_least(2));
  EXPECT_FALSE(Dim("n").is_at_least(1));
  EXPECT_FALSE((Dim("n") - 1).is_at_least(Dim("m")));
}

}  // namespace
}  // namespace thtrain
