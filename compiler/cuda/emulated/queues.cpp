#include "compiler/cuda/emulated/queues.h"

#include <algorithm>

#include "compiler/base/error.h"

namespace thtrain::cuda::emulated {

Queues::Queue* Queues::add() {
  return queues_.emplace_back(std::make_unique<Queue>()).get();
}

void Queues::remove(Queue* queue) {
  std::erase_if(queues_, [&](const auto& known) { return known.get() == queue; });
}

// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
uint64_t Queues::draw() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Queues::run_until(const std::function<bool()>& condition) {
  while (!condition()) {
    std::vector<Queue*> ready;
    for (const auto& queue : queues_)
      if (!queue->empty() && (!queue->front().waits_for || *queue->front().waits_for)) ready.push_back(queue.get());
    TH_CHECK(!ready.empty(), "emulated streams wait for each other");
    Queue* queue = ready[draw() % ready.size()];
    const Operation operation = std::move(queue->front());
    queue->pop_front();
    operation.run();
  }
}

}  // namespace thtrain::cuda::emulated
