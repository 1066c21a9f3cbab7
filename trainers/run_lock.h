// One writer for each run folder.
#pragma once

#include <string>

namespace thtrain {

/// While it lives, no other RunLock of the same folder can be made, by this process or another one, whatever becomes of
/// the folder's name and of the files in it: what is locked (flock) is the folder itself. The system takes the lock
/// back from a process that was killed. A file system that has no locks is used without.
class RunLock {
 public:
  /// UserError where another one holds it (the message has the number of its process, where the system knows it), or
  /// where the folder cannot be opened.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Does this path lead to the folder that is locked? The folder may have been removed, or renamed.
  bool is_at(const std::string& folder) const;

 private:
  bool take(const std::string& folder);

  int descriptor_ = -1;
};

/// Is somebody writing to this folder? False where there is no such folder.
bool is_locked(const std::string& folder);

}  // namespace thtrain
