#include "compiler/base/side_by_side.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace thtrain {

void run_side_by_side(size_t count, size_t workers, const std::function<void(size_t)>& job,
                      const std::function<void()>& stop) {
  std::mutex mutex;  // guards the two below
  size_t next = 0;
  std::exception_ptr failure;
  auto work = [&] {
    for (;;) {
      size_t mine = 0;
      {
        std::lock_guard lock(mutex);
        if (next == count || failure) return;
        mine = next++;
      }
      try {
        job(mine);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!failure) {
          failure = std::current_exception();
          stop();
        }
      }
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min(workers, count)) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // Where the system gives no more threads, those that there are do the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thtrain
