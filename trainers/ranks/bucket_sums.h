// Sums over the ranks during the computation of what is summed next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "trainers/ranks/shard_tree.h"

namespace thtrain {

/// Sums parts of a buffer ("buckets") over all ranks, one after the other, by a thread of its own until
/// finish(), and there by the caller. Where the rank is alone there is no thread, and nothing to do.
class BucketSums {
 public:
  explicit BucketSums(Ranks& ranks) : ranks_(ranks) {}
  ~BucketSums() { give_up(); }
  BucketSums(const BucketSums&) = delete;
  BucketSums& operator=(const BucketSums&) = delete;

  /// The sum of these elements follows those before it; all ranks add the same buckets in the same order. Until
  /// finish() nobody else touches the elements, nor speaks with other ranks.
  void add(Tensor& values, const Bucket& bucket);
  /// Waits for all sums. Throws what failed: RankFailure.
  void finish();
  /// Ends without them, where this rank leaves the job.
  void give_up();

  /// Seconds so far: of all sums, of them those before finish() was called, during the computation, and those that
  /// finish() waited.
  struct Times {
    double sums = 0, hidden = 0, waited = 0;
  };
  const Times& times() const { return times_; }

 private:
  struct Waiting {
    Tensor* values;
    Bucket bucket;
  };
  void run();
  void sum_first(std::unique_lock<std::mutex>& lock);

  Ranks& ranks_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool is_summing_ = false;  // the first of them
  bool ends_ = false;
  std::optional<std::chrono::steady_clock::time_point> computed_;  // when finish() was called
  std::exception_ptr failure_;
  Times times_;
};

}  // namespace thtrain
