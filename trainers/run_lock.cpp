#include "trainers/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "compiler/base/file.h"
#include "compiler/base/system_error.h"

namespace thtrain {

static int open_folder(const std::string& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// The number of the process that has the lock, of what the system lists; empty where it is not there: a process of
// another machine or container.
static std::string holder_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {};
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%llu", major(status.st_dev), minor(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK  ADVISORY  WRITE 575 fe:00:11001863 0 EOF"
    std::istringstream words(line);
    std::string number, kind, mode, access, process, location;
    words >> number >> kind >> mode >> access >> process >> location;
    if (kind == "FLOCK" && access == "WRITE" && location == wanted) return process;
  }
  return {};
}

// False where another one has it. Who asks is_locked() has it for a moment, too.
static bool take_lock(int descriptor) {
  constexpr int kAttempts = 20;
  for (int attempt = 1; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++attempt) {
    if (attempt == kAttempts) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

RunLock::RunLock(const std::string& folder) {
  while (!take(folder)) ::close(descriptor_);
}

// False where it is to be tried again: who had the lock before removed or renamed the folder after we opened it.
bool RunLock::take(const std::string& folder) {
  descriptor_ = open_folder(folder);
  if (descriptor_ < 0) throw file_error(folder, "the folder cannot be opened", {}, system_error_text(errno));
  if (take_lock(descriptor_)) return is_at(folder);
  const std::string holder = holder_of(descriptor_);
  ::close(descriptor_);
  throw UserError(Message{.what = str(folder, ": another process writes to this run folder"),
                          .expected = "one process for each run folder",
                          .got = holder.empty() ? "" : str("process ", holder),
                          .hint = "wait until it is done, or stop it first"});
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

bool RunLock::is_at(const std::string& folder) const {
  struct stat there {
  }, open{};
  return ::stat(folder.c_str(), &there) == 0 && ::fstat(descriptor_, &open) == 0 && there.st_ino == open.st_ino &&
         there.st_dev == open.st_dev;
}

bool is_locked(const std::string& folder) {
  const int descriptor = open_folder(folder);
  if (descriptor < 0) return false;
  const bool out = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return out;
}

}  // namespace thtrain
