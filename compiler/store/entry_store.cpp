#include "compiler/store/entry_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/system_error.h"

namespace thtrain {
namespace {

constexpr std::string_view kMagic = "thtrain-entry-2 ";
constexpr size_t kTrailerBytes = 64;  // magic, 16 digits of size, 32 of hash
constexpr long kStaleSeconds = 3600;  // what is older in tmp/ belongs to a process that was killed
constexpr std::string_view kTemporaries = "tmp";

/// "" or why the file could not be written.
std::string write_bytes(int fd, std::string_view bytes) {
  return write_all(fd, bytes) ? "" : system_error_text(errno);
}

/// A new file in `folder`, readable and writable by this user alone; `name` becomes its name.
int create_temporary(int folder, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<uint64_t>(getpid()) + name.size();
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", number + static_cast<unsigned long long>(attempt));
    name = text;
    int fd = openat(folder, text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/// The names in a folder, but for hidden ones, in their order.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> out;
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = again < 0 ? nullptr : fdopendir(again);
  if (!dir) {
    if (again >= 0) close(again);
    return out;
  }
  while (dirent* file = readdir(dir))
    if (file->d_name[0] != '.') out.emplace_back(file->d_name);
  closedir(dir);
  std::sort(out.begin(), out.end());
  return out;
}

/// Was it removed since it was opened?
bool is_gone(const FileDescriptor& folder) {
  struct stat info;
  return fstat(folder.get(), &info) != 0 || info.st_nlink == 0;
}

}  // namespace

std::string detail::entry_trailer(std::string_view kind, std::string_view name, std::string_view content) {
  char size[17];
  std::snprintf(size, sizeof size, "%016zx", content.size());
  return str(kMagic, size, content_hash({kind, name, content}));
}

std::optional<std::string> detail::entry_content(std::string_view kind, std::string_view name, std::string bytes) {
  if (bytes.size() < kTrailerBytes) return std::nullopt;
  std::string trailer = bytes.substr(bytes.size() - kTrailerBytes);
  bytes.resize(bytes.size() - kTrailerBytes);
  if (trailer != entry_trailer(kind, name, bytes)) return std::nullopt;
  return bytes;
}

// ---- folders -------------------------------------------------------------------------------------------------------

EntryStore::EntryStore(std::string folder, uid_t owner, const char* what) : owner_(owner), what_(what) {
  own_.path = std::move(folder);
  if (!own_.path.empty()) own_.path = std::filesystem::absolute(own_.path).string();
  private_.is_private = true;
}

EntryStore::~EntryStore() {
  if (!private_.descriptor || private_maker_ != getpid()) return;
  for (const std::string& kind : names_in(private_.descriptor->get())) {
    FileDescriptor folder(openat(private_.descriptor->get(), kind.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (folder.get() >= 0)
      for (const std::string& name : names_in(folder.get())) unlinkat(folder.get(), name.c_str(), 0);
    unlinkat(private_.descriptor->get(), kind.c_str(), AT_REMOVEDIR);
  }
  rmdir(private_.path.c_str());
}

std::string EntryStore::private_folder() const {
  std::lock_guard lock(mutex_);
  return private_.path;
}

bool EntryStore::is_replaced() const {
  std::lock_guard lock(mutex_);
  return is_replaced_;
}

std::string EntryStore::refusal() const {
  std::lock_guard lock(mutex_);
  return own_.refusal;
}

std::vector<EntryStore::Location*> EntryStore::locations() {
  std::vector<Location*> out;
  if (!own_.path.empty()) out.push_back(&own_);
  if (!private_folder().empty()) out.push_back(&private_);
  return out;
}

std::shared_ptr<const FileDescriptor> EntryStore::open_kind(Location& location, std::string_view kind, bool make,
                                                            std::string& trouble) {
  std::lock_guard lock(mutex_);
  // Another process may have removed the cache: it is made anew, not written into what is gone.
  if (!location.is_private && location.descriptor && is_gone(*location.descriptor)) {
    location.descriptor = nullptr;
    location.kinds.clear();
  }
  if (trouble = location.refusal; !trouble.empty()) return nullptr;
  if (!location.descriptor) {
    OpenedFolder opened = open_trusted_folder(location.path, owner_, make);
    trouble = opened.trouble;
    if (opened.is_refused) location.refusal = opened.trouble;
    if (!opened.descriptor) return nullptr;
    location.descriptor = opened.descriptor;
    location.trusted_path = opened.path;
  }
  auto known = location.kinds.find(kind);
  if (known != location.kinds.end()) {
    struct stat info;
    if (fstat(known->second->get(), &info) == 0 && info.st_nlink > 0 && is_private_to(info, owner_))
      return known->second;
    location.kinds.erase(known);
  }
  OpenedFolder opened = open_private_folder(*location.descriptor, location.path, std::string(kind), owner_, make);
  trouble = opened.trouble;
  if (opened.descriptor) location.kinds.emplace(kind, opened.descriptor);
  return opened.descriptor;
}

std::shared_ptr<const FileDescriptor> EntryStore::lock(std::string_view kind) {
  if (own_.path.empty()) return nullptr;
  std::string ignored;
  const auto folder = open_kind(own_, kind, /*make=*/true, ignored);
  if (!folder) return nullptr;
  // A lock belongs to what open() gave: threads of one process exclude each other too.
  auto opened = std::make_shared<FileDescriptor>(openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened->get() < 0) return nullptr;
  while (flock(opened->get(), LOCK_EX) != 0)
    if (errno != EINTR) return nullptr;
  return opened;
}

std::string EntryStore::make_private_folder() {
  std::lock_guard lock(mutex_);
  if (!private_.path.empty()) return {};
  const char* parent = std::getenv("TMPDIR");
  std::string made = str(parent && *parent ? parent : "/tmp", "/thtrain-XXXXXX");
  if (!mkdtemp(made.data())) return str(made, ": ", system_error_text(errno));
  // Where others may write to the parent, they may have put another folder there: it is not this user's alone.
  auto opened = std::make_shared<FileDescriptor>(open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (opened->get() < 0 || fstat(opened->get(), &info) != 0) {
    const int error = errno;
    rmdir(made.c_str());
    return str(made, ": ", system_error_text(error));
  }
  if (info.st_uid != geteuid() || (info.st_mode & 077) != 0) return str(made, " was exchanged by another user");
  private_.path = std::filesystem::absolute(made).string();
  private_.descriptor = opened;
  private_.trusted_path = open_trusted_folder(private_.path, owner_, false).path;
  private_maker_ = getpid();
  return {};
}

void EntryStore::warn_of_replacement(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(is_replaced_, true)) return;
  }
  const std::string text =
      str("thtrain: warning: cache folder ", own_.path.empty() ? "(none)" : own_.path, " cannot be used (", reason,
          "): ", what_, " is kept in ", private_folder(), " until the program ends");
  std::fprintf(stderr, "%s\n", printable(text).c_str());
}

// ---- reading -------------------------------------------------------------------------------------------------------

std::optional<std::string> EntryStore::checked_content(std::string_view kind, const std::string& name,
                                                       const FileDescriptor& folder, Fault& fault) const {
  FileDescriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  auto refuse = [&](std::string why, bool is_readable) { return fault = {std::move(why), is_readable}, std::nullopt; };
  struct stat info;
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0 && errno == ELOOP) return refuse("it is a symbolic link", true);
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return refuse(system_error_text(errno), false);
  if (!S_ISREG(info.st_mode)) return refuse("it is no file", true);
  if (!is_private_to(info, owner_)) return refuse("another user may have written it", true);
  std::optional<std::string> bytes = read_all(file.get(), static_cast<size_t>(info.st_size));
  std::optional<std::string> content = bytes ? detail::entry_content(kind, name, std::move(*bytes)) : std::nullopt;
  if (!content) return refuse("it was cut, altered, or written by another version of thtrain", true);
  return content;
}

EntryStore::Entry EntryStore::entry_of(const Location& location, std::string_view kind, const std::string& name,
                                       const std::shared_ptr<const FileDescriptor>& folder, std::string content) {
  std::string inner = str("/", kind, "/", name);
  return Entry{location.path + inner, std::move(content), name, folder,
               location.trusted_path.empty() ? "" : location.trusted_path + inner};
}

std::optional<EntryStore::Entry> EntryStore::read_checked(const Location& location, std::string_view kind,
                                                          const std::string& name,
                                                          const std::shared_ptr<const FileDescriptor>& folder) const {
  Fault fault;
  if (auto content = checked_content(kind, name, *folder, fault)) {
    utimensat(folder->get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // when it was last used: cache_entries.h
    return entry_of(location, kind, name, folder, std::move(*content));
  }
  if (fault.is_readable) unlinkat(folder->get(), name.c_str(), 0);
  return std::nullopt;
}

EntryStore::Kept EntryStore::read_kept(std::string_view kind, std::string_view name) {
  Kept out;
  std::string ignored;
  for (Location* location : locations()) {
    const auto folder = open_kind(*location, kind, false, ignored);
    if (!folder) continue;
    Fault fault;
    const std::string own(name);
    out.path = str(location->path, "/", kind, "/", name);
    auto content = checked_content(kind, own, *folder, fault);
    if (content) out.entry = entry_of(*location, kind, own, folder, std::move(*content));
    if (content) return out;
    if (fault.why.empty()) continue;
    out.trouble = fault.why;
    out.stays =
        !fault.is_readable || renameat(folder->get(), own.c_str(), folder->get(), (own + ".damaged").c_str()) != 0;
    return out;
  }
  return out;
}

std::optional<EntryStore::Entry> EntryStore::read(std::string_view kind, std::string_view name) {
  std::string trouble;
  for (Location* location : locations())
    if (auto folder = open_kind(*location, kind, false, trouble))
      if (auto entry = read_checked(*location, kind, std::string(name), folder)) return entry;
  return std::nullopt;
}

std::optional<EntryStore::Entry> EntryStore::read_any(std::string_view kind, std::string_view prefix,
                                                      std::string_view suffix) {
  std::string trouble;
  for (Location* location : locations()) {
    auto folder = open_kind(*location, kind, false, trouble);
    if (!folder) continue;
    for (const std::string& name : names_in(folder->get()))
      if (name.size() >= prefix.size() + suffix.size() && name.starts_with(prefix) && name.ends_with(suffix))
        if (auto entry = read_checked(*location, kind, name, folder)) return entry;
  }
  return std::nullopt;
}

// ---- writing -------------------------------------------------------------------------------------------------------

template <class Write>
void EntryStore::write_somewhere(Write write) {
  std::string reason = "there is no home folder";
  if (!is_replaced() && !own_.path.empty() && (reason = write(own_)).empty()) return remove_stale_temporaries();
  std::string trouble = make_private_folder();
  if (!trouble.empty())
    throw UserError({.what = "neither the cache folder nor a temporary one can be used",
                     .got = str("cache folder: ", own_.path, ": ", reason, "\ntemporary folder: ", trouble),
                     .hint = "set THTRAIN_CACHE_DIR or TMPDIR to a folder of yours"});
  warn_of_replacement(reason);
  reason = write(private_);
  if (!reason.empty())
    throw UserError(
        {.what = str("cannot write to ", private_folder(), ": ", reason), .hint = "set THTRAIN_CACHE_DIR or TMPDIR"});
}

std::string EntryStore::write_file(Location& location, std::string_view kind, const std::string& name,
                                   std::string_view content, std::string_view trailer) {
  std::string trouble, temporary;
  auto temporaries = open_kind(location, kTemporaries, true, trouble);
  auto folder = temporaries ? open_kind(location, kind, true, trouble) : nullptr;
  if (!folder) return trouble;
  FileDescriptor file(create_temporary(temporaries->get(), temporary));
  if (file.get() < 0) return system_error_text(errno);
  std::string reason = write_bytes(file.get(), content);
  if (reason.empty()) reason = write_bytes(file.get(), trailer);
  if (reason.empty() && renameat(temporaries->get(), temporary.c_str(), folder->get(), name.c_str()) != 0)
    reason = system_error_text(errno);
  if (!reason.empty()) unlinkat(temporaries->get(), temporary.c_str(), 0);
  return reason;
}

std::string EntryStore::write(std::string_view kind, std::string_view name, std::string_view content) {
  return write_with(kind, name, content, detail::entry_trailer(kind, name, content));
}

std::string EntryStore::write_plain(std::string_view kind, std::string_view name, std::string_view content) {
  return write_with(kind, name, content, {});
}

std::string EntryStore::write_with(std::string_view kind, std::string_view name, std::string_view content,
                                   const std::string& trailer) {
  std::string out;
  write_somewhere([&](Location& location) {
    out = str(location.path, "/", kind, "/", name);
    return write_file(location, kind, std::string(name), content, trailer);
  });
  return out;
}

std::string EntryStore::write_temporary(Location& location, std::string_view content, std::string& trouble) {
  std::string name;
  auto folder = open_kind(location, kTemporaries, true, trouble);
  if (!folder) return {};
  FileDescriptor file(create_temporary(folder->get(), name));
  trouble = file.get() < 0 ? system_error_text(errno) : write_bytes(file.get(), content);
  if (trouble.empty()) return str(kTemporaries, "/", name);
  if (file.get() >= 0) unlinkat(folder->get(), name.c_str(), 0);
  return {};
}

std::string EntryStore::open_workplace(Location& location, Workplace& out) {
  std::string trouble;
  out.output = write_temporary(location, {}, trouble);
  std::lock_guard lock(mutex_);
  out.folder = location.descriptor;
  out.folder_path = location.path;
  return trouble;
}

EntryStore::Workplace EntryStore::workplace(std::string_view kind, std::string_view name, std::string_view source) {
  Workplace out;
  write_somewhere([&](Location& location) {
    std::string trouble = write_file(location, kind, std::string(name), source, {});
    out.source = str(kind, "/", name);
    out.written = {{out.source, content_hash({source})}};
    return trouble.empty() ? open_workplace(location, out) : trouble;
  });
  return out;
}

EntryStore::Workplace EntryStore::workplace(const std::vector<std::string>& contents) {
  Workplace out;
  write_somewhere([&](Location& location) {
    out.remove();
    std::string trouble = open_workplace(location, out);
    for (size_t i = 0; i < contents.size() && trouble.empty(); ++i)
      if (std::string name = write_temporary(location, contents[i], trouble); trouble.empty()) {
        out.inputs.push_back(name);
        out.written.emplace_back(name, content_hash({contents[i]}));
      }
    return trouble;
  });
  return out;
}

void EntryStore::Workplace::remove() {
  if (!folder) return;
  if (!output.empty()) unlinkat(folder->get(), output.c_str(), 0);
  for (const std::string& input : inputs) unlinkat(folder->get(), input.c_str(), 0);
  inputs.clear();
  written.clear();
}

EntryStore::Workplace::~Workplace() {
  remove();
}

/// A file of this user; none where it cannot be read.
static std::optional<std::string> own_bytes(const FileDescriptor& folder, const std::string& name) {
  FileDescriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return {};
  return read_all(file.get(), static_cast<size_t>(info.st_size));
}

bool EntryStore::Workplace::is_untouched() const {
  return std::all_of(written.begin(), written.end(), [this](const auto& one) {
    errno = 0;
    const std::optional<std::string> bytes = own_bytes(*folder, one.first);
    return bytes ? content_hash({*bytes}) == one.second : errno != 0 && errno != ENOENT;
  });
}

std::string EntryStore::Workplace::result() const {
  // Opened again: a linker removes what is there and writes a new file.
  std::optional<std::string> bytes = own_bytes(*folder, output);
  if (!bytes) throw UserError({.what = str(folder_path, "/", output, ": cannot be read: ", system_error_text(errno))});
  return std::move(*bytes);
}

void EntryStore::remove_stale_temporaries() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(removed_stale_, true)) return;
  }
  std::string trouble;
  auto folder = open_kind(own_, kTemporaries, false, trouble);
  if (!folder) return;
  for (const std::string& name : names_in(folder->get())) {
    struct stat info;
    if (fstatat(folder->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
        info.st_mtime + kStaleSeconds < std::time(nullptr))
      unlinkat(folder->get(), name.c_str(), 0);
  }
}

}  // namespace thtrain
