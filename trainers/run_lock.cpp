#include "trainers/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "datasets/file.h"

namespace thtrain {

static std::string lock_file(const std::string& folder) {
  return folder + "/lock";
}

// The number that the holder wrote; empty where it did not come to that yet.
static std::string holder_of(int descriptor) {
  char text[32];
  ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  std::string out(text, length > 0 ? static_cast<size_t>(length) : 0);
  return out.substr(0, out.find('\n'));
}

// Did the holder before us remove the file between our opening and locking it? Or did somebody put another thing there?
static bool is_file_at(const std::string& path, int descriptor) {
  struct stat there {
  }, open{};
  return ::lstat(path.c_str(), &there) == 0 && ::fstat(descriptor, &open) == 0 && there.st_ino == open.st_ino &&
         there.st_dev == open.st_dev && S_ISREG(open.st_mode);
}

// What is written into must be ours: a link leads to a file of somebody else, and so does a file with two names.
static void require_own_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || (S_ISREG(status.st_mode) && status.st_nlink <= 1)) return;
  const char* got = S_ISLNK(status.st_mode)   ? "a symbolic link"
                    : S_ISDIR(status.st_mode) ? "a folder"
                    : S_ISREG(status.st_mode) ? "a file that has another name, too"
                                              : "a device, pipe or socket";
  throw file_error(path, "the lock of this run folder cannot be taken", "a file of its own, or nothing", got,
                   "remove it, if no other process uses this folder");
}

RunLock::RunLock(const std::string& folder) : path_(lock_file(folder)), maker_(::getpid()) {
  while (!take(folder)) {
  }
}

// False where it is to be tried again.
bool RunLock::take(const std::string& folder) {
  require_own_file(path_);
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0) throw write_error(path_, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    std::string holder = holder_of(descriptor_);
    ::close(descriptor_);
    throw UserError(Message{.what = str(folder, ": another process writes to this run folder"),
                            .expected = "one process for each run folder",
                            .got = holder.empty() ? "a process that has just begun" : str("process ", holder),
                            .hint = "wait until it is done, or stop it first"});
  }
  if (!is_file_at(path_, descriptor_)) {
    ::close(descriptor_);
    return false;
  }
  try {
    write_process();
  } catch (const UserError&) {
    ::unlink(path_.c_str());
    ::close(descriptor_);
    throw;
  }
  return true;
}

void RunLock::write_process() const {
  std::string text = str(maker_, "\n");
  bool emptied = ::ftruncate(descriptor_, 0) == 0;
  ssize_t written = emptied ? ::pwrite(descriptor_, text.data(), text.size(), 0) : -1;
  if (written != static_cast<ssize_t>(text.size())) throw write_error(path_, written < 0 ? errno : ENOSPC);
}

RunLock::~RunLock() {
  if (::getpid() == maker_) ::unlink(path_.c_str());
  ::close(descriptor_);
}

void RunLock::moved_to(const std::string& folder) {
  path_ = lock_file(folder);
}

bool is_locked(const std::string& folder) {
  int descriptor = ::open(lock_file(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  bool out = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return out;
}

}  // namespace thtrain
