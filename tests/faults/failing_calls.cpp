// A library that LD_PRELOAD puts before the system's: its calls on files fail where THTRAIN_FAULT says so.
//
//   THTRAIN_FAULT       "write run/checkpoint.npz* 3 1 ENOSPC": the third call of write on such a file fails, and only
//                       that one (0: all from there on). Several patterns of fnmatch are apart by '|'. The fault may be
//                       "short" (half of the bytes are written or read), "slow" (it takes six seconds more), or a
//                       list, "short,ENOSPC": one for each call, the last one for all that follow. Of rename, the new
//                       name counts.
//   THTRAIN_FAULT_LOG   a file that gets a line for each fault: "write run/checkpoint.npz.tmp-17-0"
//
// Only calls of the program `thtrain` are counted, not those of what it starts.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Fault {
  std::string call;
  std::vector<std::string> patterns;
  int first = 0, count = 0;
  std::vector<int> errors;  // or kShort, kSlow
};

constexpr int kShort = 0, kNone = -1, kSlow = -2;
constexpr int kDescriptors = 4096;

std::vector<std::string> parts(const char* text, char separator) {
  std::vector<std::string> out(1);
  for (; *text; ++text)
    if (*text == separator)
      out.emplace_back();
    else
      out.back() += *text;
  return out;
}

int error_of(const std::string& name) {
  struct {
    const char* name;
    int number;
  } const known[] = {{"short", kShort}, {"slow", kSlow},  {"EACCES", EACCES}, {"EBADF", EBADF},   {"EDQUOT", EDQUOT},
                     {"EINTR", EINTR},  {"EIO", EIO},     {"EMFILE", EMFILE}, {"ENOLCK", ENOLCK}, {"ENOSPC", ENOSPC},
                     {"EROFS", EROFS},  {"EXDEV", EXDEV}, {"ESTALE", ESTALE}};
  for (const auto& [text, number] : known)
    if (name == text) return number;
  fprintf(stderr, "THTRAIN_FAULT: unknown error %s\n", name.c_str());
  abort();
}

// Null where there is none to make.
const Fault* fault() {
  static const Fault* const made = []() -> const Fault* {
    const char* text = getenv("THTRAIN_FAULT");
    if (!text || strcmp(program_invocation_short_name, "thtrain") != 0) return nullptr;
    std::vector<std::string> words = parts(text, ' ');
    if (words.size() != 5) abort();
    auto* out = new Fault{words[0], parts(words[1].c_str(), '|'), atoi(words[2].c_str()), atoi(words[3].c_str()), {}};
    for (const std::string& name : parts(words[4].c_str(), ',')) out->errors.push_back(error_of(name));
    return out;
  }();
  return made;
}

void log_fault(const char* call, const char* path) {
  const char* log = getenv("THTRAIN_FAULT_LOG");
  if (!log) return;
  std::string line = std::string(call) + " " + path + "\n";
  auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600));
  (void)!syscall(SYS_write, file, line.data(), line.size());
  syscall(SYS_close, file);
}

/// kNone, kShort or the error of this call.
int fault_of(const char* call, const char* path) {
  const Fault* made = fault();
  if (!made || !path || made->call != call) return kNone;
  bool matches = std::any_of(made->patterns.begin(), made->patterns.end(),
                             [&](const std::string& pattern) { return fnmatch(pattern.c_str(), path, 0) == 0; });
  if (!matches) return kNone;
  static std::atomic<int> counter{0};
  int number = ++counter, which = number - made->first;
  if (which < 0 || (made->count > 0 && which >= made->count)) return kNone;
  log_fault(call, path);
  const int error = made->errors[std::min(static_cast<size_t>(which), made->errors.size() - 1)];
  if (error != kSlow) return error;
  sleep(6);
  return kNone;
}

bool fails(const char* call, const char* path) {
  int error = fault_of(call, path);
  if (error <= 0) return false;
  errno = error;
  return true;
}

// ---- the files behind descriptors; paths are never freed, for another thread may be reading one

std::atomic<const char*> paths[kDescriptors];

int remember(int descriptor, const char* path) {
  if (descriptor >= 0 && descriptor < kDescriptors) paths[descriptor] = strdup(path);
  return descriptor;
}
const char* path_of(int descriptor) {
  return descriptor >= 0 && descriptor < kDescriptors ? paths[descriptor].load() : nullptr;
}

// Of a path that starts at the folder behind a descriptor.
std::string whole_path(int folder, const char* path) {
  const char* start = *path == '/' || folder == AT_FDCWD ? nullptr : path_of(folder);
  if (!start) return path;
  return std::string(start) + (std::string(start).ends_with('/') ? "" : "/") + path;
}

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
#define TH_NEXT(name) static auto* const real = next(&::name, #name)

// How many bytes a call may move; -1 where it fails.
ssize_t allowed(const char* call, int descriptor, size_t count) {
  int error = fault_of(call, path_of(descriptor));
  if (error == kNone) return static_cast<ssize_t>(count);
  if (error == kShort) return static_cast<ssize_t>((count + 1) / 2);
  errno = error;
  return -1;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  TH_NEXT(open);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails("open", path) ? -1 : remember(real(path, flags, mode), path);
}
int open64(const char* path, int flags, ...) {
  TH_NEXT(open64);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails("open", path) ? -1 : remember(real(path, flags, mode), path);
}
int openat(int folder, const char* path, int flags, ...) {
  TH_NEXT(openat);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  std::string whole = whole_path(folder, path);
  return fails("open", whole.c_str()) ? -1 : remember(real(folder, path, flags, mode), whole.c_str());
}
int openat64(int folder, const char* path, int flags, ...) {
  TH_NEXT(openat64);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  std::string whole = whole_path(folder, path);
  return fails("open", whole.c_str()) ? -1 : remember(real(folder, path, flags, mode), whole.c_str());
}
int mkostemp(char* path, int flags) {
  TH_NEXT(mkostemp);
  if (fails("open", path)) return -1;
  int out = real(path, flags);
  return remember(out, path);
}
FILE* fopen(const char* path, const char* mode) {
  TH_NEXT(fopen);
  if (fails("open", path)) return nullptr;
  FILE* out = real(path, mode);
  if (out) remember(fileno(out), path);
  return out;
}
FILE* fopen64(const char* path, const char* mode) {
  TH_NEXT(fopen64);
  if (fails("open", path)) return nullptr;
  FILE* out = real(path, mode);
  if (out) remember(fileno(out), path);
  return out;
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  TH_NEXT(write);
  ssize_t most = allowed("write", descriptor, count);
  return most < 0 ? -1 : real(descriptor, bytes, static_cast<size_t>(most));
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  TH_NEXT(pwrite);
  ssize_t most = allowed("write", descriptor, count);
  return most < 0 ? -1 : real(descriptor, bytes, static_cast<size_t>(most), offset);
}
ssize_t read(int descriptor, void* bytes, size_t count) {
  TH_NEXT(read);
  ssize_t most = allowed("read", descriptor, count);
  return most < 0 ? -1 : real(descriptor, bytes, static_cast<size_t>(most));
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  TH_NEXT(pread);
  ssize_t most = allowed("read", descriptor, count);
  return most < 0 ? -1 : real(descriptor, bytes, static_cast<size_t>(most), offset);
}

int fsync(int descriptor) {
  TH_NEXT(fsync);
  return fails("fsync", path_of(descriptor)) ? -1 : real(descriptor);
}
int ftruncate(int descriptor, off_t length) {
  TH_NEXT(ftruncate);
  return fails("ftruncate", path_of(descriptor)) ? -1 : real(descriptor, length);
}
int flock(int descriptor, int operation) {
  static auto* const real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "flock"));
  return fails("flock", path_of(descriptor)) ? -1 : real(descriptor, operation);
}
// As Linux does: the descriptor is gone, whatever close() says.
int close(int descriptor) {
  TH_NEXT(close);
  const char* path = path_of(descriptor);
  if (descriptor >= 0 && descriptor < kDescriptors) paths[descriptor] = nullptr;
  int out = real(descriptor);
  return fails("close", path) ? -1 : out;
}

int rename(const char* from, const char* to) {
  static auto* const real = reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
  return fails("rename", to) ? -1 : real(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static auto* const real = reinterpret_cast<int (*)(int, const char*, int, const char*)>(dlsym(RTLD_NEXT, "renameat"));
  return fails("rename", whole_path(to_folder, to).c_str()) ? -1 : real(from_folder, from, to_folder, to);
}
int mkdir(const char* path, mode_t mode) {
  TH_NEXT(mkdir);
  return fails("mkdir", path) ? -1 : real(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  TH_NEXT(mkdirat);
  return fails("mkdir", whole_path(folder, path).c_str()) ? -1 : real(folder, path, mode);
}
int stat(const char* path, struct stat* out) {
  static auto* const real = reinterpret_cast<int (*)(const char*, struct stat*)>(dlsym(RTLD_NEXT, "stat"));
  return fails("stat", path) ? -1 : real(path, out);
}

}  // extern "C"
