#include "compiler/runtime/entry_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/runtime/content_hash.h"

namespace thtrain {
namespace {

constexpr std::string_view kMagic = "thtrain-entry-1 ";
constexpr size_t kTrailerBytes = 64;  // magic, 16 digits of size, 32 of hash
constexpr long kStaleSeconds = 3600;  // what is older in tmp/ belongs to a process that was killed

std::string trailer_of(std::string_view content) {
  char size[17];
  std::snprintf(size, sizeof size, "%016zx", content.size());
  return str(kMagic, size, content_hash({content}));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool is_private_to(const struct stat& info, uid_t owner) { return info.st_uid == owner && (info.st_mode & 022) == 0; }

bool may_trust_folder(const std::string& path, uid_t owner) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && is_private_to(info, owner);
}

/// Every missing folder of `path`, for this user alone. The reason where that cannot be, else "".
std::string make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      // A folder that exists may answer "read-only" or "permission denied" instead.
      int error = errno;
      struct stat info;
      if (stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return std::strerror(error);
    }
    if (end == std::string::npos) return {};
  }
}

std::string make_trusted_folder(const std::string& path, uid_t owner) {
  if (std::string reason = make_folders(path); !reason.empty()) return reason;
  if (!may_trust_folder(path, owner)) return str(path, " is another user's, or others may write to it");
  return {};
}

/// "" or why the file could not be written.
std::string write_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::strerror(errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

bool is_between(std::string_view name, std::string_view prefix, std::string_view suffix) {
  return name.starts_with(prefix) && name.ends_with(suffix) && name.size() >= prefix.size() + suffix.size();
}

template <class F>
void for_each_file(const std::string& folder, F f) {
  DIR* dir = opendir(folder.c_str());
  if (!dir) return;
  while (dirent* file = readdir(dir))
    if (file->d_name[0] != '.') f(std::string(file->d_name));
  closedir(dir);
}

}  // namespace

EntryStore::EntryStore(std::string folder, uid_t owner) : folder_(std::move(folder)), owner_(owner) {}

EntryStore::~EntryStore() {
  if (private_folder_.empty() || private_folder_maker_ != getpid()) return;
  std::error_code ignored;
  std::filesystem::remove_all(private_folder_, ignored);
}

std::string EntryStore::private_folder() const {
  std::lock_guard lock(mutex_);
  return private_folder_;
}

std::vector<std::string> EntryStore::folders() const {
  std::vector<std::string> out;
  if (!folder_.empty()) out.push_back(folder_);
  if (std::string extra = private_folder(); !extra.empty()) out.push_back(extra);
  return out;
}

std::optional<EntryStore::Entry> EntryStore::read_checked(const std::string& path) const {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno != ELOOP) return std::nullopt;
  auto content = [&]() -> std::optional<std::string> {
    struct stat info;
    if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !is_private_to(info, owner_))
      return std::nullopt;
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    for (size_t done = 0; done < bytes.size();) {
      ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      done += static_cast<size_t>(got);
    }
    if (bytes.size() < kTrailerBytes) return std::nullopt;
    std::string trailer = bytes.substr(bytes.size() - kTrailerBytes);
    bytes.resize(bytes.size() - kTrailerBytes);
    if (trailer != trailer_of(bytes)) return std::nullopt;
    return bytes;
  }();
  if (content) return Entry{path, std::move(*content)};
  unlink(path.c_str());
  return std::nullopt;
}

std::optional<EntryStore::Entry> EntryStore::read(std::string_view kind, std::string_view name) {
  for (const std::string& folder : folders()) {
    std::string place = str(folder, "/", kind);
    if (!may_trust_folder(place, owner_)) continue;
    if (auto entry = read_checked(str(place, "/", name))) return entry;
  }
  return std::nullopt;
}

std::optional<EntryStore::Entry> EntryStore::read_any(std::string_view kind, std::string_view prefix,
                                                      std::string_view suffix) {
  for (const std::string& folder : folders()) {
    std::string place = str(folder, "/", kind);
    if (!may_trust_folder(place, owner_)) continue;
    std::vector<std::string> names;
    for_each_file(place, [&](std::string name) {
      if (is_between(name, prefix, suffix)) names.push_back(std::move(name));
    });
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      if (auto entry = read_checked(str(place, "/", name))) return entry;
  }
  return std::nullopt;
}

std::string EntryStore::write(std::string_view kind, std::string_view name, std::string_view content) {
  return write_file(kind, name, content, trailer_of(content));
}

std::string EntryStore::write_plain(std::string_view kind, std::string_view name, std::string_view content) {
  return write_file(kind, name, content, {});
}

template <class Write>
void EntryStore::write_somewhere(Write write) {
  std::string reason = "there is no home folder";
  if (private_folder().empty() && !folder_.empty()) {
    reason = make_trusted_folder(folder_ + "/tmp", owner_);
    if (reason.empty()) {
      remove_stale_temporaries();
      reason = write(folder_);
    }
    if (reason.empty()) return;
  }
  std::string folder = make_private_folder(reason);
  reason = make_trusted_folder(folder + "/tmp", owner_);
  if (reason.empty()) reason = write(folder);
  if (!reason.empty())
    throw UserError({.what = str("cannot write to ", folder, ": ", reason), .hint = "set THTRAIN_CACHE_DIR or TMPDIR"});
}

std::string EntryStore::temporary_file() {
  std::string out;
  write_somewhere([&](const std::string& folder) -> std::string {
    out = folder + "/tmp/XXXXXX";
    FileDescriptor file(mkostemp(out.data(), O_CLOEXEC));
    return file.get() < 0 ? std::strerror(errno) : "";
  });
  return out;
}

std::string EntryStore::write_file(std::string_view kind, std::string_view name, std::string_view content,
                                   std::string_view trailer) {
  std::string out;
  write_somewhere([&](const std::string& folder) -> std::string {
    std::string place = str(folder, "/", kind);
    if (std::string reason = make_trusted_folder(place, owner_); !reason.empty()) return reason;
    out = str(place, "/", name);
    std::string temporary = folder + "/tmp/XXXXXX";
    FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));  // readable and writable by this user alone
    if (file.get() < 0) return std::strerror(errno);
    std::string reason = write_bytes(file.get(), content);
    if (reason.empty()) reason = write_bytes(file.get(), trailer);
    if (reason.empty() && rename(temporary.c_str(), out.c_str()) != 0) reason = std::strerror(errno);
    if (!reason.empty()) unlink(temporary.c_str());
    return reason;
  });
  return out;
}

std::string EntryStore::make_private_folder(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!private_folder_.empty()) return private_folder_;
  const char* parent = std::getenv("TMPDIR");
  std::string made = str(parent && *parent ? parent : "/tmp", "/thtrain-XXXXXX");
  if (!mkdtemp(made.data()))
    throw UserError({.what = str("neither the cache folder nor a temporary one can be written: ", std::strerror(errno)),
                     .got = str("cache folder: ", folder_, ": ", reason, "\ntemporary folder: ", made),
                     .hint = "set THTRAIN_CACHE_DIR or TMPDIR to a folder of yours"});
  private_folder_ = made;
  private_folder_maker_ = getpid();
  std::fprintf(stderr, "thtrain: warning: cache folder %s cannot be used (%s): compiled code is kept in %s until the "
               "program ends\n", folder_.empty() ? "(none)" : folder_.c_str(), reason.c_str(), made.c_str());
  return private_folder_;
}

void EntryStore::remove_stale_temporaries() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(removed_stale_, true)) return;
  }
  std::string place = folder_ + "/tmp";
  for_each_file(place, [&](const std::string& name) {
    std::string path = str(place, "/", name);
    struct stat info;
    if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_mtime + kStaleSeconds < std::time(nullptr))
      unlink(path.c_str());
  });
}

std::string default_cache_folder() {
  auto variable = [](const char* name) -> std::string {
    const char* text = std::getenv(name);
    return text ? text : "";
  };
  if (std::string own = variable("THTRAIN_CACHE_DIR"); !own.empty()) return std::filesystem::absolute(own).string();
  if (std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/thtrain";
  std::string home = variable("HOME");
  if (home.empty()) {
    passwd entry, *found = nullptr;
    std::string room(16384, '\0');
    if (getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found) == 0 && found && found->pw_dir)
      home = found->pw_dir;
  }
  return home.starts_with('/') ? home + "/.cache/thtrain" : "";
}

}  // namespace thtrain
