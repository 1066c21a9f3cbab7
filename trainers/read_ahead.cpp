#include "trainers/read_ahead.h"

#include <signal.h>

#include <utility>

#include "compiler/base/error.h"

namespace thtrain {

ReadAhead::ReadAhead() {
  // Signals are the main thread's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::start(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    TH_CHECK(!job_ && !error_, "a job begins before the one before it was waited for");
    job_ = std::move(job);
  }
  changed_.notify_all();
}

void ReadAhead::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ReadAhead::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    std::exception_ptr error;
    lock.unlock();
    try {
      job_();  // nobody changes it before it is null again
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace thtrain
