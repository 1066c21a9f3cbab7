// A map from nodes to values, for passes that visit every node of a graph: one block of memory, no order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Keys are the nodes' addresses: whoever fills the map keeps the nodes alive. An insertion may move the values, so
/// that references to them hold until the next one only. Nothing can be taken out, and there is no iteration: what
/// depended on that order would depend on addresses.
template <class T>
class NodeMap {
 public:
  void reserve(size_t count) {
    size_t size = 16;
    while (size * 3 < count * 4) size *= 2;
    if (size > slots_.size()) grow(size);
  }
  size_t size() const { return count_; }

  T* find(const Node* node) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[slot_of(node)];
    return slot.node ? &slot.value : nullptr;
  }
  const T* find(const Node* node) const { return const_cast<NodeMap*>(this)->find(node); }
  bool contains(const Node* node) const { return find(node) != nullptr; }
  /// The value of a node that is there.
  T& at(const Node* node) { return slots_[slot_of(node)].value; }
  const T& at(const Node* node) const { return slots_[slot_of(node)].value; }

  /// The value, and whether it is new.
  std::pair<T&, bool> try_emplace(const Node* node, T value = T()) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow(slots_.empty() ? 16 : 2 * slots_.size());
    Slot& slot = slots_[slot_of(node)];
    const bool fresh = slot.node == nullptr;
    if (fresh) {
      slot.node = node;
      slot.value = std::move(value);
      ++count_;
    }
    return {slot.value, fresh};
  }
  T& operator[](const Node* node) { return try_emplace(node).first; }

 private:
  struct Slot {
    const Node* node = nullptr;
    T value = T();
  };

  // Of the node, or the free one where it belongs.
  size_t slot_of(const Node* node) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15ull >> 20) & mask;
    while (slots_[slot].node && slots_[slot].node != node) slot = (slot + 1) & mask;
    return slot;
  }
  void grow(size_t size) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    for (Slot& slot : old)
      if (slot.node) slots_[slot_of(slot.node)] = std::move(slot);
  }

  std::vector<Slot> slots_;  // a power of two, three quarters full at most
  size_t count_ = 0;
};

}  // namespace thtrain
