#include "compiler/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "compiler/base/system_error.h"
#include "compiler/base/unfinished_files.h"

namespace thtrain {

UserError file_error(const std::string& path, std::string_view what, std::string expected, std::string got,
                     std::string hint) {
  return UserError(
      {.what = str(path, ": ", what), .expected = std::move(expected), .got = std::move(got), .hint = std::move(hint)});
}

UserError placed(const UserError& error, const ConfigPosition& where) {
  std::vector<Message> messages = error.messages();
  for (Message& message : messages) {
    if (!message.config) message.config = where;
  }
  return UserError(std::move(messages));
}

namespace {

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a folder on the way to it may not be entered, the file's own permissions say nothing.
UserError refused(const std::string& path) {
  const char *what = "the file may not be read", *got = "permission denied";
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return file_error(path, what, "read permission for this user", got,
                      status.st_uid == ::geteuid() ? str("run: chmod u+r ", path) : "the file belongs to another user");
  std::string folder = folder_of(path);
  while (folder != "/" && folder != "." && ::stat(folder.c_str(), &status) != 0) folder = folder_of(folder);
  return file_error(path, what, str("permission for this user to enter the folder ", folder), got);
}

UserError open_error(const std::string& path, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      if (const std::string target = target_of_link(path); !target.empty())
        return file_error(path, "no such file", "a file, or a link that leads to one",
                          str("a link to ", target, ", which is not there"));
      return file_error(path, "no such file");
    case EACCES:
    case EPERM:
      return refused(path);
    case ELOOP:
      return file_error(path, "the file cannot be read", "a file, or a link that leads to one",
                        system_error_text(error_number));
    default:
      return file_error(path, "the file cannot be read", {}, system_error_text(error_number));
  }
}

}  // namespace

std::string target_of_link(const std::string& path) {
  std::string out(4096, '\0');
  const ssize_t length = ::readlink(path.c_str(), out.data(), out.size());
  out.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return out;
}

UserError write_error(const std::string& path, int error_number) {
  const char* what = "the file cannot be written";
  std::string folder = folder_of(path);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      if (struct stat status{}; ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        return file_error(path, what, "a folder that takes new files", str("the folder ", folder, " takes none"));
      return file_error(path, what, str("a folder ", folder), "no such folder", str("run: mkdir -p ", folder));
    case EACCES:
    case EPERM:
      return file_error(path, what, str("write permission for the folder ", folder), "permission denied");
    case EROFS:
      return file_error(path, what, str("write permission for the folder ", folder), "a read-only file system");
    case ENOSPC:
    case EDQUOT:
      return file_error(path, what, "free space on its disk", error_number == ENOSPC ? "a full disk" : "a full quota",
                        "make room and try again; an earlier file of this name is unchanged");
    case EFBIG:
      return file_error(path, what, "a file below the limit on sizes (`ulimit -f`)", "a file at the limit",
                        "raise the limit and try again; an earlier file of this name is unchanged");
    case ELOOP:
      return file_error(path, what, "a new name, or that of a file", system_error_text(error_number));
    default:
      return file_error(path, what, {}, system_error_text(error_number));
  }
}

UserError folder_error(const std::string& path, int error_number) {
  return file_error(path, "the folder cannot be made", "a folder where this user may make one",
                    system_error_text(error_number));
}

UserError changed_while_read(const std::string& path) {
  return file_error(path, "the file changed while it was read", "a file that stays as it was when it was opened", {},
                    "another program writes to it: put it back, and try again");
}

static FileState state_of(const struct stat& status) {
  return {.size = static_cast<uint64_t>(status.st_size),
          .inode = static_cast<uint64_t>(status.st_ino),
          .modified_seconds = status.st_mtim.tv_sec,
          .modified_nanoseconds = status.st_mtim.tv_nsec};
}

FileState file_state(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? state_of(status) : FileState{};
}

void fail_changed(const std::string& path, const FileState& then, const FileState& now) {
  const std::string hint = "put it back as it was, with its time (`cp -p` keeps it)";
  if (now == FileState{}) throw file_error(path, "the file was removed while the run read it", {}, {}, hint);
  const bool other_size = now.size != then.size;
  throw file_error(path, "the file was changed while the run read it",
                   other_size ? str(then.size, " bytes, as when it was opened") : "no write since it was opened",
                   other_size ? str(now.size, " bytes") : "a later time of modification", hint);
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not block
  if (descriptor_ < 0) throw open_error(path_, errno);
  struct stat status {};
  int error_number = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error_number == 0 && S_ISREG(status.st_mode)) {
    opened_ = state_of(status);
    size_ = opened_.size;
    return;
  }
  ::close(descriptor_);
  if (error_number != 0) throw open_error(path_, error_number);
  throw file_error(path_, "not a regular file", "a file",
                   S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t n = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw open_error(path_, errno);
    if (n == 0) {
      throw file_error(path_, "the file was cut short while it was read",
                       str("at least ", offset + out.size(), " bytes"), str(offset + done, " bytes"),
                       "another program has changed it: write it again, whole");
    }
    done += static_cast<size_t>(n);
  }
}

std::string InputFile::beginning(size_t count) const {
  std::string out(std::min<uint64_t>(count, size_), '\0');
  read_at(0, std::as_writable_bytes(std::span(out)));
  return out;
}

void InputFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw open_error(path_, errno);
  if (const FileState now = state_of(status); now != opened_) fail_changed(path_, opened_, now);
}

int InputFile::duplicate() const {
  int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw open_error(path_, errno);
  return copy;
}

std::string read_file(const std::string& path) {
  InputFile file(path);
  std::string out(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(out)));
  return out;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void check_replaceable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw file_error(path, "the file cannot be written", "a new name, or that of a file",
                   S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
}

AtomicFile::AtomicFile(std::string path, const std::function<void()>& check) : path_(std::move(path)) {
  check_replaceable(path_);
  static std::atomic<uint64_t> counter{0};
  temporary_ = str(path_, ".tmp-", ::getpid(), "-", counter++);
  note_unfinished(temporary_);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int error_number = errno;
    forget_unfinished(temporary_);
    throw write_error(path_, error_number);
  }
  if (!check) return;
  try {
    check();
  } catch (...) {
    remove_temporary();
    throw;
  }
}

AtomicFile::~AtomicFile() {
  remove_temporary();
}

void AtomicFile::remove_temporary() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget_unfinished(temporary_);
}

void AtomicFile::write(const void* bytes, size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    ssize_t n = ::write(descriptor_, from, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw write_error(path_, errno);
    from += n;
    count -= static_cast<size_t>(n);
    written_ += static_cast<uint64_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw write_error(path_, errno);
  int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) throw write_error(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw write_error(path_, errno);
  forget_unfinished(temporary_);
  temporary_.clear();
  // The rename itself survives a crash only when the folder is on the disk. A folder that cannot be synced is no error.
  int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)!::fsync(folder);
    ::close(folder);
  }
}

}  // namespace thtrain
