// One writer for each run folder.
#pragma once

#include <sys/types.h>

#include <string>

namespace thtrain {

/// While it lives, no other RunLock of the same folder can be made, by this process or another one. The system takes
/// the lock back from a process that was killed. The file "lock" in the folder holds the number of the process that has
/// it, and goes with it. A file system that has no locks is used without.
class RunLock {
 public:
  /// UserError where another one holds it (the message has the number of its process), or where the file cannot be
  /// written.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// The folder was renamed.
  void moved_to(const std::string& folder);

 private:
  bool take(const std::string& folder);
  void write_process() const;

  std::string path_;
  pid_t maker_;  // a child made by fork() must not remove the file
  int descriptor_ = -1;
};

/// Is somebody writing to this folder? False where there is no such folder.
bool is_locked(const std::string& folder);

}  // namespace thtrain
