// One thread that reads what is needed next, while the program computes.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace thtrain {

class ReadAhead {
 public:
  ReadAhead();
  /// Waits for the job.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Runs `job` in the thread. The one before it has been waited for.
  void start(std::function<void()> job);
  /// Until the job is done; throws what it threw.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // null: there is none
  std::exception_ptr error_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of them
};

}  // namespace thtrain
