// The work of emulated streams: nothing runs before somebody waits for it, and then in an order that a seed draws.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace thtrain::cuda::emulated {

/// Of one recording of an event.
using IsDone = std::shared_ptr<bool>;

/// What a stream does in its order.
struct Operation {
  std::function<void()> run;
  IsDone waits_for = {};  // it may begin when that is true; null: at once
};

/// Queues whose first operations may run in any order.
class Queues {
 public:
  explicit Queues(uint64_t seed) : state_(seed) {}
  using Queue = std::deque<Operation>;

  Queue* add();
  /// The queue must be empty.
  void remove(Queue* queue);
  /// Runs what may run, drawn by the seed, until the condition holds.
  void run_until(const std::function<bool()>& condition);
  /// The next number of the seed's.
  uint64_t draw();

 private:
  uint64_t state_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace thtrain::cuda::emulated
