#include "reports/explain/layered_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thtrain {
namespace {

constexpr int kOrderRounds = 16, kPlaceRounds = 12;
constexpr size_t kMaxSwapped = 64;  // neighbours of an item that takes part in swaps

// A node, or the position where a long edge passes a layer.
struct Item {
  size_t layer = 0;
  double width = 0;
  bool is_node = true;
  std::vector<size_t> up = {}, down = {};  // items of the adjacent layers
  double x = 0;                            // of its middle
};

class LayeredLayoutBuilder {
 public:
  LayeredLayoutBuilder(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges, const LayoutGaps& gaps)
      : nodes_(nodes), edges_(edges), gaps_(gaps) {}

  LayeredLayout run() {
    choose_layers();
    make_items();
    order_items();
    place_items();
    return result();
  }

 private:
  // ---- layers ------------------------------------------------------------------------------------------------------

  // Nodes that nothing reads are as high as possible; all others just above their first reader, so that what is read
  // late is low. What has more operands than readers goes up again: that makes more edges shorter than longer.
  // Operands without operands of their own do not count, since they follow.
  void choose_layers() {
    const size_t count = nodes_.size();
    std::vector<std::vector<size_t>> readers(count), operands(count);
    layer_.assign(count, 0);
    for (const LayoutEdge& edge : edges_) {
      readers[edge.from].push_back(edge.to);
      operands[edge.to].push_back(edge.from);
    }
    for (size_t i = 0; i < count; ++i)
      for (size_t reader : readers[i]) layer_[reader] = std::max(layer_[reader], layer_[i] + 1);
    auto lower = [&](size_t i) {
      if (readers[i].empty()) return;
      size_t first = layer_[readers[i][0]];
      for (size_t reader : readers[i]) first = std::min(first, layer_[reader]);
      layer_[i] = first - 1;
    };
    for (size_t i = count; i-- > 0;) lower(i);
    for (size_t i = 0; i < count; ++i) {
      size_t heavy = 0, highest = 0;
      for (size_t operand : operands[i]) {
        if (operands[operand].empty()) continue;
        ++heavy;
        highest = std::max(highest, layer_[operand] + 1);
      }
      if (heavy > readers[i].size() && !readers[i].empty()) layer_[i] = highest;
    }
    for (size_t i = 0; i < count; ++i)
      if (operands[i].empty()) lower(i);
  }

  void make_items() {
    for (size_t i = 0; i < nodes_.size(); ++i) items_.push_back({.layer = layer_[i], .width = nodes_[i].width});
    for (const LayoutEdge& edge : edges_) {
      std::vector<size_t> chain{edge.from};
      for (size_t l = layer_[edge.from] + 1; l < layer_[edge.to]; ++l) {
        items_.push_back({.layer = l, .is_node = false});
        chain.push_back(items_.size() - 1);
      }
      chain.push_back(edge.to);
      for (size_t k = 0; k + 1 < chain.size(); ++k) {
        items_[chain[k]].down.push_back(chain[k + 1]);
        items_[chain[k + 1]].up.push_back(chain[k]);
      }
      chains_.push_back(std::move(chain));
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (rows_.size() <= items_[i].layer) rows_.resize(items_[i].layer + 1);
      rows_[items_[i].layer].push_back(i);
    }
  }

  // ---- order -------------------------------------------------------------------------------------------------------

  void order_items() {
    at_.assign(items_.size(), 0);
    for (size_t l = 0; l < rows_.size(); ++l) number(l);
    std::vector<std::vector<size_t>> best = rows_;
    size_t fewest = crossings();
    for (int round = 0; round < kOrderRounds && fewest > 0; ++round) {
      const bool downwards = round % 2 == 0;
      for (size_t k = 0; k < rows_.size(); ++k) sort_row(downwards ? k : rows_.size() - 1 - k, downwards);
      for (size_t l = 0; l < rows_.size(); ++l) swap_neighbours(l);
      const size_t now = crossings();
      if (now < fewest) {
        fewest = now;
        best = rows_;
      }
    }
    rows_ = std::move(best);
    for (size_t l = 0; l < rows_.size(); ++l) number(l);
  }

  void number(size_t layer) {
    for (size_t k = 0; k < rows_[layer].size(); ++k) at_[rows_[layer][k]] = k;
  }
  double part_of(size_t item) const {
    return (static_cast<double>(at_[item]) + 0.5) / static_cast<double>(rows_[items_[item].layer].size());
  }

  // By the mean position of the neighbours in the layer above (below).
  void sort_row(size_t layer, bool downwards) {
    std::vector<std::pair<double, size_t>> keys;
    for (size_t item : rows_[layer]) {
      const std::vector<size_t>& adjacent = downwards ? items_[item].up : items_[item].down;
      double key = 0;
      for (size_t other : adjacent) key += part_of(other);
      keys.emplace_back(adjacent.empty() ? part_of(item) : key / static_cast<double>(adjacent.size()), item);
    }
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t k = 0; k < keys.size(); ++k) rows_[layer][k] = keys[k].second;
    number(layer);
  }

  // Crossings between the edges of `left` and those of `right`, when they are in this order.
  size_t crossings_of(const std::vector<size_t>& left, const std::vector<size_t>& right) const {
    size_t out = 0;
    for (size_t a : left)
      for (size_t b : right) out += at_[a] > at_[b];
    return out;
  }

  void swap_neighbours(size_t layer) {
    std::vector<size_t>& row = rows_[layer];
    for (size_t k = 0; k + 1 < row.size(); ++k) {
      const Item &a = items_[row[k]], &b = items_[row[k + 1]];
      if (std::max({a.up.size(), a.down.size(), b.up.size(), b.down.size()}) > kMaxSwapped) continue;
      const size_t now = crossings_of(a.up, b.up) + crossings_of(a.down, b.down);
      const size_t then = crossings_of(b.up, a.up) + crossings_of(b.down, a.down);
      if (then >= now) continue;
      std::swap(row[k], row[k + 1]);
      at_[row[k]] = k;
      at_[row[k + 1]] = k + 1;
    }
  }

  // Of all edges: inversions between neighbouring layers, by a Fenwick tree.
  size_t crossings() const {
    size_t out = 0;
    for (size_t l = 0; l + 1 < rows_.size(); ++l) {
      std::vector<size_t> seen(rows_[l + 1].size() + 1, 0), ends;
      size_t so_far = 0;
      for (size_t item : rows_[l]) {
        ends.clear();
        for (size_t other : items_[item].down) ends.push_back(at_[other] + 1);
        for (size_t end : ends) {
          size_t left = 0;  // edges before, that end at `end` or left of it
          for (size_t k = end; k > 0; k &= k - 1) left += seen[k];
          out += so_far - left;
        }
        for (size_t end : ends)
          for (size_t k = end; k < seen.size(); k += k & -k) ++seen[k];
        so_far += ends.size();
      }
    }
    return out;
  }

  // ---- positions ----------------------------------------------------------------------------------------------------

  void place_items() {
    for (size_t l = 0; l < rows_.size(); ++l) pack(l, [](const Item& item) { return item.x; });
    for (int round = 0; round < kPlaceRounds; ++round) {
      const bool both = round >= kPlaceRounds / 2, downwards = round % 2 == 0;
      for (size_t k = 0; k < rows_.size(); ++k)
        pack(downwards ? k : rows_.size() - 1 - k,
             [&](const Item& item) { return wanted(item, both || downwards, both || !downwards); });
    }
    straighten();
    double left = 0;
    for (size_t i = 0; i < items_.size(); ++i)
      left = i == 0 ? items_[i].x - items_[i].width / 2 : std::min(left, items_[i].x - items_[i].width / 2);
    for (Item& item : items_) item.x -= left;
  }

  // The mean position of the neighbours; the parts of a long edge pull each other most, so that it becomes straight.
  double wanted(const Item& item, bool above, bool below) const {
    double sum = 0, weight = 0;
    auto pull = [&](const std::vector<size_t>& others) {
      for (size_t other : others) {
        const double w = item.is_node && items_[other].is_node ? 1 : item.is_node || items_[other].is_node ? 2 : 8;
        sum += w * items_[other].x;
        weight += w;
      }
    };
    if (above) pull(item.up);
    if (below) pull(item.down);
    return weight > 0 ? sum / weight : item.x;
  }

  double distance(const Item& a, const Item& b) const {
    return (a.width + b.width) / 2 + (a.is_node && b.is_node ? gaps_.nodes : gaps_.edges);
  }

  // The positions nearest to the wanted ones (least squares) that keep order and distances: with the distances taken
  // off, that is the nearest sequence that does not fall, found by joining neighbours that violate it.
  template <class Wanted>
  void pack(size_t layer, Wanted wanted_of) {
    struct Block {
      double sum, weight;
      size_t count;
      double mean() const { return sum / weight; }
    };
    const std::vector<size_t>& row = rows_[layer];
    std::vector<Block> blocks;
    std::vector<double> offsets;
    for (size_t k = 0; k < row.size(); ++k) {
      const Item& item = items_[row[k]];
      offsets.push_back(k == 0 ? 0 : offsets.back() + distance(items_[row[k - 1]], item));
      const double weight = item.is_node ? 1 : 2;
      blocks.push_back({weight * (wanted_of(item) - offsets[k]), weight, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().weight += last.weight;
        blocks.back().count += last.count;
      }
    }
    size_t k = 0;
    for (const Block& block : blocks)
      for (size_t i = 0; i < block.count; ++i, ++k) items_[row[k]].x = block.mean() + offsets[k];
  }

  // Where an item may be between its neighbours.
  std::pair<double, double> room_of(size_t i) const {
    const std::vector<size_t>& row = rows_[items_[i].layer];
    const size_t k = at_[i];
    constexpr double kFar = 1e9;
    return {k > 0 ? items_[row[k - 1]].x + distance(items_[row[k - 1]], items_[i]) : -kFar,
            k + 1 < row.size() ? items_[row[k + 1]].x - distance(items_[i], items_[row[k + 1]]) : kFar};
  }

  // Long edges, the longest first, in as few straight parts as their neighbours leave room for.
  void straighten() {
    std::vector<size_t> order(chains_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return chains_[a].size() > chains_[b].size(); });
    for (size_t e : order) {
      const std::vector<size_t>& chain = chains_[e];
      for (size_t begin = 1; begin + 1 < chain.size();) {
        auto [low, high] = room_of(chain[begin]);
        double sum = items_[chain[begin]].x;
        size_t end = begin + 1;
        for (; end + 1 < chain.size(); ++end) {
          const auto [next_low, next_high] = room_of(chain[end]);
          if (std::max(low, next_low) > std::min(high, next_high)) break;
          low = std::max(low, next_low);
          high = std::min(high, next_high);
          sum += items_[chain[end]].x;
        }
        const double x = std::clamp(sum / static_cast<double>(end - begin), low, std::max(low, high));
        for (; begin < end; ++begin) items_[chain[begin]].x = x;
      }
    }
  }

  // ---- result ------------------------------------------------------------------------------------------------------

  // Edges that end at one node arrive side by side, in the order in which they come.
  std::vector<double> arrivals() const {
    std::vector<std::vector<size_t>> into(nodes_.size());
    for (size_t e = 0; e < edges_.size(); ++e) into[edges_[e].to].push_back(e);
    std::vector<double> out(edges_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto comes_from = [&](size_t e) {
        const size_t last = chains_[e][chains_[e].size() - 2];
        return items_[last].x + (chains_[e].size() == 2 ? edges_[e].leaves_at : 0);
      };
      std::stable_sort(into[i].begin(), into[i].end(),
                       [&](size_t a, size_t b) { return comes_from(a) < comes_from(b); });
      const double count = static_cast<double>(into[i].size()), step = std::min(20.0, nodes_[i].width / (count + 1));
      for (size_t k = 0; k < into[i].size(); ++k)
        out[into[i][k]] = items_[i].x + (static_cast<double>(k) - (count - 1) / 2) * step;
    }
    return out;
  }

  LayeredLayout result() const {
    LayeredLayout out;
    out.layers = layer_;
    const std::vector<double> arrive = arrivals();
    std::vector<double> heights(rows_.size(), 0), runs(rows_.size(), 0), tops(rows_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i) heights[layer_[i]] = std::max(heights[layer_[i]], nodes_[i].height);
    for (const Item& item : items_)
      for (size_t other : item.down) runs[item.layer] = std::max(runs[item.layer], std::abs(item.x - items_[other].x));
    for (size_t l = 1; l < rows_.size(); ++l)
      tops[l] = tops[l - 1] + heights[l - 1] + std::clamp(runs[l - 1] / 8, gaps_.layers, 3 * gaps_.layers);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      out.positions.push_back({items_[i].x - nodes_[i].width / 2, tops[layer_[i]]});
      out.width = std::max(out.width, items_[i].x + nodes_[i].width / 2);
    }
    for (const Item& item : items_) out.width = std::max(out.width, item.x);
    if (!rows_.empty()) out.height = tops.back() + heights.back();
    for (size_t e = 0; e < edges_.size(); ++e) {
      const size_t from = edges_[e].from, to = edges_[e].to;
      const double x = items_[from].x + edges_[e].leaves_at;
      std::vector<LayoutPoint> route{{x, tops[layer_[from]] + nodes_[from].height},
                                     {x, tops[layer_[from]] + heights[layer_[from]]}};
      for (size_t k = 1; k + 1 < chains_[e].size(); ++k) {
        const Item& item = items_[chains_[e][k]];
        route.push_back({item.x, tops[item.layer]});
        route.push_back({item.x, tops[item.layer] + heights[item.layer]});
      }
      route.push_back({arrive[e], tops[layer_[to]]});
      route.push_back(route.back());
      out.routes.push_back(std::move(route));
    }
    return out;
  }

  std::span<const LayoutNode> nodes_;
  std::span<const LayoutEdge> edges_;
  const LayoutGaps& gaps_;
  std::vector<size_t> layer_;                // of the nodes
  std::vector<Item> items_;                  // nodes first
  std::vector<std::vector<size_t>> chains_;  // items along each edge
  std::vector<std::vector<size_t>> rows_;    // items of each layer, from the left
  std::vector<size_t> at_;                   // of each item in its row
};

}  // namespace

LayeredLayout layered_layout(std::span<const LayoutNode> nodes, std::span<const LayoutEdge> edges,
                             const LayoutGaps& gaps) {
  return LayeredLayoutBuilder(nodes, edges, gaps).run();
}

}  // namespace thtrain
