#include "reports/explain/layered_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace thtrain {
namespace {

struct Example {
  std::vector<LayoutNode> nodes;
  std::vector<LayoutEdge> edges;
};

// Boxes of many sizes; every edge from a node to a later one, most of them to a near one, some twice.
Example random_example(unsigned seed, size_t nodes, size_t edges) {
  std::mt19937 random(seed);
  auto below = [&](size_t end) { return random() % end; };
  Example out;
  for (size_t i = 0; i < nodes; ++i)
    out.nodes.push_back({20 + static_cast<double>(below(180)), 20 + static_cast<double>(below(40))});
  for (size_t e = 0; e < edges && nodes > 1; ++e) {
    const size_t to = 1 + below(nodes - 1), reach = below(4) == 0 ? to : std::min<size_t>(to, 5);
    const size_t from = to - 1 - below(reach);
    out.edges.push_back({from, to, out.nodes[from].width * (static_cast<double>(below(9)) - 4) / 10});
  }
  return out;
}

void expect_sound(const Example& example, const LayeredLayout& layout, const std::string& name) {
  constexpr double kSlack = 1e-6;
  auto right = [&](size_t i) { return layout.positions[i].x + example.nodes[i].width; };
  auto bottom = [&](size_t i) { return layout.positions[i].y + example.nodes[i].height; };
  ASSERT_EQ(layout.positions.size(), example.nodes.size()) << name;
  ASSERT_EQ(layout.routes.size(), example.edges.size()) << name;
  for (size_t i = 0; i < example.nodes.size(); ++i) {
    EXPECT_GE(layout.positions[i].x, -kSlack) << name;
    EXPECT_GE(layout.positions[i].y, 0) << name;
    EXPECT_LE(right(i), layout.width + kSlack) << name;
    EXPECT_LE(bottom(i), layout.height + kSlack) << name;
    for (size_t k = 0; k < i; ++k)
      EXPECT_TRUE(layout.positions[i].x > right(k) || layout.positions[k].x > right(i) ||
                  layout.positions[i].y > bottom(k) || layout.positions[k].y > bottom(i))
          << name << ": nodes " << k << " and " << i << " overlap";
  }
  for (size_t e = 0; e < example.edges.size(); ++e) {
    const LayoutEdge& edge = example.edges[e];
    const std::vector<LayoutPoint>& route = layout.routes[e];
    EXPECT_LT(layout.layers[edge.from], layout.layers[edge.to]) << name;
    EXPECT_LT(bottom(edge.from), layout.positions[edge.to].y) << name << ": edge " << e << " goes up";
    ASSERT_GE(route.size(), 4u) << name;
    ASSERT_EQ(route.size() % 2, 0u) << name;
    EXPECT_EQ(route.front().y, bottom(edge.from)) << name;
    EXPECT_EQ(route.back().y, layout.positions[edge.to].y) << name;
    EXPECT_NEAR(route.front().x, layout.positions[edge.from].x + example.nodes[edge.from].width / 2 + edge.leaves_at,
                1e-6);
    EXPECT_GE(route.back().x, layout.positions[edge.to].x) << name;
    EXPECT_LE(route.back().x, right(edge.to)) << name;
    for (size_t k = 0; k + 1 < route.size(); ++k) {
      if (k % 2 == 0) {
        EXPECT_LE(route[k].y, route[k + 1].y) << name;
        EXPECT_EQ(route[k].x, route[k + 1].x) << name;
      } else {
        EXPECT_LT(route[k].y, route[k + 1].y) << name;
      }
      for (size_t i = 0; i < example.nodes.size(); ++i) {
        if (i == edge.from || i == edge.to) continue;
        // A gap between layers holds no node; past a layer an edge keeps away from its nodes.
        const bool outside = k % 2 == 0 && (route[k].x < layout.positions[i].x || route[k].x > right(i));
        EXPECT_TRUE(outside || bottom(i) <= route[k].y || layout.positions[i].y >= route[k + 1].y)
            << name << ": edge " << e << " runs through node " << i;
      }
    }
  }
}

size_t crossings(const Example& example, const LayeredLayout& layout) {
  size_t out = 0;
  for (size_t a = 0; a < example.edges.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const auto &p = layout.routes[a], &q = layout.routes[b];
      if (layout.layers[example.edges[a].from] != layout.layers[example.edges[b].from]) continue;
      out += (p.front().x - q.front().x) * (p.back().x - q.back().x) < 0;
    }
  return out;
}

TEST(LayeredLayout, RandomGraphsAreSoundAndTheSameEachTime) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const size_t nodes = 1 + seed * 3 % 70;
    Example example = random_example(seed, nodes, nodes * (seed % 4));
    LayeredLayout layout = layered_layout(example.nodes, example.edges);
    expect_sound(example, layout, "seed " + std::to_string(seed));
    LayeredLayout again = layered_layout(example.nodes, example.edges);
    for (size_t i = 0; i < nodes; ++i) {
      EXPECT_EQ(layout.positions[i].x, again.positions[i].x);
      EXPECT_EQ(layout.positions[i].y, again.positions[i].y);
    }
  }
}

TEST(LayeredLayout, NothingHasNoSize) {
  LayeredLayout layout = layered_layout({}, {});
  EXPECT_EQ(layout.width, 0);
  EXPECT_EQ(layout.height, 0);
}

TEST(LayeredLayout, WhatIsReadLateIsJustAboveItsReader) {
  // 0 -> 1 -> 2 -> 3, and 4's only reader is 5, next to 3.
  Example example{std::vector<LayoutNode>(6, {30, 20}), {{0, 1}, {1, 2}, {2, 3}, {2, 5}, {4, 5}}};
  LayeredLayout layout = layered_layout(example.nodes, example.edges);
  EXPECT_EQ(layout.layers, (std::vector<size_t>{0, 1, 2, 3, 2, 3}));
  expect_sound(example, layout, "late");
  // So does all of a branch that is read late: 4 -> 5 -> 6 next to the chain 0 -> 1 -> 2 -> 3 -> 7.
  Example branch{std::vector<LayoutNode>(8, {30, 20}), {{0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {3, 7}, {6, 7}}};
  layout = layered_layout(branch.nodes, branch.edges);
  EXPECT_EQ(layout.layers, (std::vector<size_t>{0, 1, 2, 3, 1, 2, 3, 4}));
  // But not what makes many values one: 3 sums 0, 1 and 2, each made from an input, and is read by the end of a chain.
  Example funnel{std::vector<LayoutNode>(12, {30, 20}),
                 {{0, 3},
                  {1, 4},
                  {2, 5},
                  {3, 6},
                  {4, 6},
                  {5, 6},
                  {7, 8},
                  {8, 9},
                  {9, 10},
                  {10, 11},
                  {6, 11},
                  {3, 8},
                  {4, 8},
                  {5, 8}}};
  layout = layered_layout(funnel.nodes, funnel.edges);
  EXPECT_EQ(layout.layers[6], 2u);
  expect_sound(funnel, layout, "funnel");
}

TEST(LayeredLayout, EdgesAreUncrossed) {
  // 0 1 2 above 3 4 5, each read by the one on the other side.
  Example example{std::vector<LayoutNode>(6, {30, 20}), {{0, 5}, {1, 4}, {2, 3}}};
  EXPECT_EQ(crossings(example, layered_layout(example.nodes, example.edges)), 0u);
  // A tree of two levels, its leaves numbered across.
  Example tree{std::vector<LayoutNode>(9, {30, 20}), {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {1, 5}, {2, 6}, {1, 7}, {2, 8}}};
  EXPECT_EQ(crossings(tree, layered_layout(tree.nodes, tree.edges)), 0u);
}

TEST(LayeredLayout, LongEdgesAreStraightWhereNothingIsInTheirWay) {
  // A chain of ten, and an edge past all of it.
  Example example{std::vector<LayoutNode>(10, {60, 20}), {{0, 9}}};
  for (size_t i = 0; i + 1 < 10; ++i) example.edges.push_back({i, i + 1});
  LayeredLayout layout = layered_layout(example.nodes, example.edges);
  const std::vector<LayoutPoint>& route = layout.routes[0];
  for (size_t k = 2; k + 2 < route.size(); ++k) EXPECT_EQ(route[k].x, route[2].x);
  expect_sound(example, layout, "long");
}

}  // namespace
}  // namespace thtrain
