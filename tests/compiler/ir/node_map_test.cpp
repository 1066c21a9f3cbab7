#include "compiler/ir/node_map.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"

namespace thtrain {
namespace {

TEST(NodeMap, KeepsEveryValue) {
  std::vector<Expr> nodes;
  for (int i = 0; i < 1000; ++i) nodes.push_back(scalar("x"));
  NodeMap<int> map;
  EXPECT_EQ(map.find(&nodes[0].node()), nullptr);
  for (int i = 0; i < 1000; i += 2) map[&nodes[static_cast<size_t>(i)].node()] = i;
  EXPECT_EQ(map.size(), 500u);
  for (int i = 0; i < 1000; ++i) {
    const Node* node = &nodes[static_cast<size_t>(i)].node();
    EXPECT_EQ(map.contains(node), i % 2 == 0);
    if (i % 2 == 0) {
      EXPECT_EQ(map.at(node), i);
    }
  }
}

TEST(NodeMap, SaysWhatIsNew) {
  const Expr x = scalar("x");
  NodeMap<int> map;
  map.reserve(100);
  EXPECT_TRUE(map.try_emplace(&x.node(), 3).second);
  auto [value, fresh] = map.try_emplace(&x.node(), 4);
  EXPECT_FALSE(fresh);
  EXPECT_EQ(value, 3);
  value = 5;
  EXPECT_EQ(*map.find(&x.node()), 5);
}

}  // namespace
}  // namespace thtrain
