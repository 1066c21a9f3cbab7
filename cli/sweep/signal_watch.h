// Signals of a command that leads other processes.
#pragma once

#include <signal.h>

#include <array>

namespace thtrain {

/// While it lives, SIGINT, SIGTERM and SIGHUP are counted and do nothing else; they and the end of a child wake wait().
/// Those that the process was started without (nohup) stay ignored. Output whose reader is gone (SIGPIPE) is an error
/// of the write. At most one at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// How many signals asked to stop.
  int stops() const;
  /// The number of the first of them; 0 where none came.
  int signal() const;
  /// Returns when a signal or the end of a child has come since the last call, or after so many seconds.
  void wait(double seconds);

 private:
  std::array<struct sigaction, 5> before_;
};

}  // namespace thtrain
