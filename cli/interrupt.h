// SIGINT and SIGTERM: the first one asks the run to end after its step, the second one ends the process at once.
// SIGPIPE, the reader of the output that has gone, asks for the same.
#pragma once

#include <atomic>

namespace thtrain {

/// While it lives, signals are counted instead of ending the process.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// 0, or the number of the signal that came.
  const std::atomic<int>* flag() const;
  /// 130 for SIGINT, 143 for SIGTERM, 141 for SIGPIPE.
  int exit_code() const;
};

}  // namespace thtrain
