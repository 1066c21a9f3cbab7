#include "trainers/epoch_order.h"

#include <algorithm>

namespace thtrain {

EpochOrder draw_order(RandomState& random, int64_t size, int64_t window) {
  EpochOrder out;
  if (window == 0 || window >= size) {
    out.examples = random.permutation(size);
    out.window = std::min(window, size);
    if (window == 0 || size == 0) return out;
    out.blocks = {0};
    out.block = size;
    return out;
  }
  constexpr int64_t kBlocksOfWindow = 8;
  out.window = window;
  out.block = std::max<int64_t>(1, window / kBlocksOfWindow);
  out.blocks = random.permutation((size + out.block - 1) / out.block);
  for (int64_t& block : out.blocks) block *= out.block;
  std::vector<int64_t> held;
  Arrivals arrivals(out);
  out.examples.resize(static_cast<size_t>(size));  // what Arrivals counts by
  auto arrive = [&](int64_t most, auto location) {
    const Arrivals::Run run = arrivals.next(most);
    for (int64_t i = 0; i < run.count; ++i) location(run.first + i);
    return run.count;
  };
  while (static_cast<int64_t>(held.size()) < window)
    arrive(window - static_cast<int64_t>(held.size()), [&](int64_t example) { held.push_back(example); });
  for (int64_t& example : out.examples) {
    const auto drawn = static_cast<size_t>(random.interval(held.size() - 1));
    example = held[drawn];
    if (arrive(1, [&](int64_t next) { held[drawn] = next; }) > 0) continue;
    held[drawn] = held.back();
    held.pop_back();
  }
  return out;
}

EpochOrder draw_order(RandomState& random, std::span<const int64_t> lengths, int64_t batch) {
  constexpr int64_t kBatchesOfBlock = 16;
  const auto size = std::ssize(lengths);
  const std::vector<int64_t> drawn = random.permutation(size);
  std::vector<int64_t> sorted = drawn;
  const int64_t batches = size / batch, full = batches * batch;
  for (int64_t begin = 0; begin < full; begin += kBatchesOfBlock * batch)
    std::stable_sort(
        sorted.begin() + begin, sorted.begin() + std::min(full, begin + kBatchesOfBlock * batch),
        [&](int64_t a, int64_t b) { return lengths[static_cast<size_t>(a)] < lengths[static_cast<size_t>(b)]; });
  EpochOrder out{.examples = {}, .blocks = {}};
  for (int64_t chosen : random.permutation(batches))
    out.examples.insert(out.examples.end(), sorted.begin() + chosen * batch, sorted.begin() + (chosen + 1) * batch);
  out.examples.insert(out.examples.end(), sorted.begin() + full, sorted.end());
  return out;
}

Arrivals::Run Arrivals::next(int64_t most) {
  const auto size = static_cast<int64_t>(order_->examples.size());
  if (block_ == order_->blocks.size()) return {};
  const int64_t first = order_->blocks[block_], length = std::min(order_->block, size - first);
  const Run out{first + at_, std::min(most, length - at_)};
  at_ += out.count;
  if (at_ == length) {
    ++block_;
    at_ = 0;
  }
  return out;
}

}  // namespace thtrain
