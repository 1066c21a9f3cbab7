// A set of nodes, for walks through a graph.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Nodes by their addresses, as in NodeMap: whoever fills the set keeps them alive.
class NodeSet {
 public:
  /// Is it new?
  bool insert(const Node* node) {
    if (count_ * 2 >= slots_.size()) grow();
    const Node*& slot = *slot_of(node);
    if (slot) return false;
    slot = node;
    ++count_;
    return true;
  }

 private:
  const Node** slot_of(const Node* node) {
    const size_t mask = slots_.size() - 1;
    size_t slot = (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15ull >> 20) & mask;
    const Node** slots = slots_.data();
    while (slots[slot] && slots[slot] != node) slot = (slot + 1) & mask;
    return slots + slot;
  }
  void grow() {
    const std::vector<const Node*> old =
        std::exchange(slots_, std::vector<const Node*>(slots_.empty() ? 32 : 4 * slots_.size()));
    for (const Node* node : old)
      if (node) *slot_of(node) = node;
  }

  std::vector<const Node*> slots_;  // a power of two, half full at most
  size_t count_ = 0;
};

}  // namespace thtrain
