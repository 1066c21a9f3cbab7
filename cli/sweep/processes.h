// The processes that a sweep leads: `thtrain train` and `thtrain resume`, each with a log of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/process.h"

namespace thtrain {

/// How one of them ended.
struct EndedProcess {
  int64_t id = 0;  // that start() was given
  int code = 0;    // its exit code; 128 + `signal` where a signal ended it
  int signal = 0;
  std::string message = {};  // the first line of its error; "" where it wrote none
};

/// Processes of this program. Each is in a process group of its own, so that a key on the terminal reaches this process
/// alone; where this process ends without a word, the system sends SIGTERM to all of them.
class Processes {
 public:
  Processes() = default;
  /// Words that come before the program's own path, of a launcher that waits for it; `env` sets the threads behind
  /// them.
  explicit Processes(std::vector<std::string> launch) : launch_(std::move(launch)) {}
  /// Ends those that still run by SIGTERM, and waits for them.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Starts this program with these arguments and no input; both outputs are appended to the file `log`. The
  /// environment is that of this process with OMP_NUM_THREADS set to `threads`. False where the system starts no more
  /// processes besides those that run. UserError where it starts none at all, or the log cannot be written.
  bool start(int64_t id, const std::vector<std::string>& arguments, int threads, const std::string& log);
  size_t running() const { return running_.size(); }
  /// The ids of those that run.
  std::vector<int64_t> ids() const;
  /// Sends it to each of them.
  void signal(int number) const;
  /// Those that ended since the last call. Does not wait.
  std::vector<EndedProcess> ended();

 private:
  struct Running {
    int64_t id;
    std::string log;
    int64_t log_start;  // bytes that were there before
    std::unique_ptr<Process> process;
  };
  std::vector<std::string> launch_;
  std::vector<Running> running_;
};

}  // namespace thtrain
