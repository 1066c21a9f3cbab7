// Threads of the host that share out the blocks of an emulated launch.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace thtrain::cuda::emulated {

/// One caller at a time. They live until the process ends.
class Workers {
 public:
  /// So many threads besides the caller's.
  explicit Workers(int count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls `share` here, and in each thread that finds time for it before this call has returned. All have ended then.
  void run(const std::function<void()>& share);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void()>* share_ = nullptr;  // null: there is nothing to do
  uint64_t number_ = 0;                           // of calls
  int at_work_ = 0;
};

/// As many as make one thread for each core. A child of fork() has none.
Workers& workers();

}  // namespace thtrain::cuda::emulated
