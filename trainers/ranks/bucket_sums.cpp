#include "trainers/ranks/bucket_sums.h"

#include <algorithm>

#include "compiler/base/clock.h"

namespace thtrain {

void BucketSums::add(Tensor& values, const Bucket& bucket) {
  if (ranks_.size() == 1) return;
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  computed_.reset();
  ranks_.give_way(true);
  waiting_.push_back({&values, bucket});
  changed_.notify_all();
}

// What the thread has not begun, this one sums itself: nothing else is to be done, and it need not be woken.
void BucketSums::finish() {
  if (ranks_.size() == 1) return;
  const auto begin = std::chrono::steady_clock::now();
  ranks_.give_way(false);
  std::unique_lock lock(mutex_);
  computed_ = begin;
  while (!waiting_.empty() && !failure_) {
    if (is_summing_)
      changed_.wait(lock);
    else
      sum_first(lock);
  }
  times_.waited += seconds_since(begin);
  if (failure_) std::rethrow_exception(failure_);
}

void BucketSums::give_up() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    if (!waiting_.empty()) ranks_.cancel();
    changed_.notify_all();
  }
  thread_.join();
}

void BucketSums::sum_first(std::unique_lock<std::mutex>& lock) {
  is_summing_ = true;
  const Waiting next = waiting_.front();
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  sum_over(ranks_, *next.values, next.bucket);
  const auto end = std::chrono::steady_clock::now();
  lock.lock();
  auto seconds = [](auto time) { return std::max(0.0, std::chrono::duration<double>(time).count()); };
  times_.sums += seconds(end - begin);
  times_.hidden += seconds((computed_ ? std::min(end, *computed_) : end) - begin);
  waiting_.pop_front();
  is_summing_ = false;
  changed_.notify_all();
}

void BucketSums::run() {
  std::unique_lock lock(mutex_);
  try {
    for (;;) {
      changed_.wait(lock, [&] { return (!waiting_.empty() && !is_summing_) || ends_; });
      if (ends_) return;
      sum_first(lock);
    }
  } catch (const Ranks::Cancelled&) {
  } catch (...) {
    lock.lock();
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace thtrain
