// Running the host compiler: its output, its end, and ending it.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace thtrain {

/// `flag`: 0, or the number of the signal by which the user asked to stop (null: there is none). As soon as it is not
/// 0, programs that run are ended and run_program throws Interrupted. Without a flag, and while a program runs, the
/// signals SIGINT, SIGTERM and SIGHUP that would end this process by their default end the program first, then this
/// process.
void set_interrupt_flag(const std::atomic<int>* flag);

/// Ends, at once and with their process groups, all programs that run. For handlers of signals.
void kill_running_programs() noexcept;

/// Does one run now? For handlers of signals.
bool is_program_running() noexcept;

/// How long one run of the host compiler may take, in seconds: THTRAIN_COMPILE_LIMIT, else 600; 0 for no limit.
/// UserError where the variable holds no such number.
double compile_limit();

/// Programs that run side by side for one purpose.
struct ProgramGroup {
  std::atomic<bool> is_cancelled{false};  // what runs is ended; its result is of no use
  std::atomic<bool> was_told{false};      // the line on standard error is for all of them
};

struct RunOptions {
  int folder = AT_FDCWD;     // the program's current folder
  double limit_seconds = 0;  // 0: none
  /// Asked with all output so far whenever there is more of it: how many seconds the program may take from then until
  /// it writes again or ends; 0: only limit_seconds counts. A program that the system has stopped is ended by it too.
  std::function<double(const std::string& output)> limit_of_silence = {};
  /// After so many seconds a line on standard error says that the program is waited for; 0: never.
  double word_after = 0;
  ProgramGroup* group = nullptr;
  bool ends_others = false;  // processes that it started in its group, and that go on when it has ended, are ended
};

struct Finished {
  int exit_code = 0;    // -1 where the program could not be started or was ended
  std::string output;   // standard output and error together; of a long one its beginning and its end
  std::string trouble;  // for exit code -1: why
  int signal = 0;       // that ended it
  bool out_of_time = false;
};

/// Runs arguments[0] with no shell and no input, in the C locale, in a process group of its own. Interrupted where the
/// user asks to stop; the whole group is ended then, as at the limit.
Finished run_program(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace thtrain
