// Programs that are started: the one part of thtrain that makes processes.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace thtrain {

/// A program and what it starts with.
struct Launch {
  std::vector<std::string> words;                       // words[0]: its path, or a name that is looked for on PATH
  std::map<std::string, std::string> environment = {};  // set besides this process's variables
  int folder = AT_FDCWD;                                // its current folder, by descriptor
  int input = -1, output = -1, error = -1;              // descriptors; -1: /dev/null
  int signal_at_end = 0;  // that the system sends it when the thread that started it ends; 0: none
};

/// How a process ended.
struct ProcessEnd {
  int exit_code = 0;  // 128 + `signal` where a signal ended it
  int signal = 0;
};

/// A program that runs, as the leader of a process group of its own: a key on the terminal does not reach it. No signal
/// is blocked in it, and each has its default effect, but for SIGINT, SIGTERM and SIGHUP where this process ignores
/// them.
class Process {
 public:
  /// Nothing is thrown where it cannot be started: error() says so.
  explicit Process(const Launch& launch);
  /// Ends the group at once if the process was not waited for.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The errno of what failed at the start; 0: it runs.
  int error() const { return error_; }
  pid_t id() const { return id_; }
  /// Does not wait. The number of its group stays its own until wait().
  bool has_ended() const;
  /// To the whole group.
  void signal(int number) const;
  ProcessEnd wait();
  /// Asks the group to end by SIGTERM, ends it by SIGKILL after half a second, and waits.
  ProcessEnd stop();

 private:
  pid_t id_ = 0;  // 0: it was not started, or was waited for
  int error_ = 0;
};

/// "SIGKILL (Killed)"
std::string signal_text(int number);

}  // namespace thtrain
