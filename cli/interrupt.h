// The signals that the program answers instead of being ended by them.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>

namespace thtrain {

/// From now on a file at the limit of its size (SIGXFSZ) is an error of the write, as a full disk is.
void expect_write_errors();

/// SIGINT, SIGTERM and SIGHUP: the first one asks the run to end after its minibatch, and says so at once on standard
/// error; the second one ends the process. Those that the process was started without (nohup) stay ignored. Output
/// whose reader is gone (SIGPIPE) is an error of the write.
class InterruptWatch {
 public:
  /// `quiet`: nothing is said.
  explicit InterruptWatch(bool quiet = false);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Not 0: a signal came, or ask() was called.
  const std::atomic<int>* flag() const;
  /// Asks the run to end as a signal does.
  void ask();
  /// 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP; 0 where none came.
  int exit_code() const;

 private:
  std::array<struct sigaction, 4> before_;
};

}  // namespace thtrain
