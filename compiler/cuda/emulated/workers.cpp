#include "compiler/cuda/emulated/workers.h"

#include <csignal>
#include <thread>

#include "compiler/host/cpu.h"

namespace thtrain::cuda::emulated {

Workers::Workers(int count) {
  // Signals of the process are for its other threads.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < count; ++i) std::thread([this] { serve(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Workers::serve() {
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [&] { return share_ && number_ != done; });
    const std::function<void()>& share = *share_;
    done = number_;
    ++at_work_;
    lock.unlock();
    share();
    lock.lock();
    if (--at_work_ == 0) end_.notify_all();
  }
}

void Workers::run(const std::function<void()>& share) {
  {
    const std::lock_guard lock(mutex_);
    share_ = &share;
    ++number_;
  }
  begin_.notify_all();
  share();
  std::unique_lock lock(mutex_);
  share_ = nullptr;
  end_.wait(lock, [&] { return at_work_ == 0; });
}

Workers& workers() {
  static Workers* const once = new Workers(cpu().cores - 1);
  return *once;
}

}  // namespace thtrain::cuda::emulated
