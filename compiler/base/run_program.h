// Running a program to its end: what it writes, a limit of time, and ending it where the user asks to stop.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "compiler/base/process.h"

namespace thtrain {

/// `flag`: 0, or the number of the signal by which the user asked to stop (null: there is none). As soon as it is not
/// 0, programs that run are ended and run_program throws Interrupted. Without a flag, and while a program runs, the
/// signals SIGINT, SIGTERM and SIGHUP that would end this process by their default end the program first, then this
/// process.
void set_interrupt_flag(const std::atomic<int>* flag);

/// Ends, at once and with their process groups, all programs that run_program waits for. For handlers of signals.
void kill_running_programs() noexcept;

/// Does one run now? For handlers of signals.
bool is_program_running() noexcept;

/// The seconds that an environment variable says, or `otherwise` where it is not set or empty. UserError with
/// `expected` where it holds no number of at least 0.
double limit_of(const char* variable, double otherwise, const std::string& expected);

struct RunOptions {
  double limit_seconds = 0;                         // 0: none
  const std::atomic<bool>* is_cancelled = nullptr;  // true: the program is ended
  std::function<void(double seconds)> waiting =
      {};  // called again and again until it ends: how long it has been running
};

struct Finished {
  int exit_code = 0;    // -1 where the program could not be started or was ended
  std::string output;   // standard output and error together; of a long one its beginning and its end
  std::string trouble;  // for exit code -1: why
  int signal = 0;       // that ended it
  bool out_of_time = false;
};

/// Runs a program; the launch's outputs are taken from it. Interrupted where the user asks to stop; the whole group is
/// ended then, as at the limit.
Finished run_program(Launch launch, const RunOptions& options = {});

}  // namespace thtrain
