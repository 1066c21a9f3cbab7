#include "compiler/store/cache_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "compiler/base/error.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/store/trusted_folder.h"

namespace thtrain {
namespace {

// "checks" and "tmp" are of programs that run, "tuning" is what nobody can make again without measuring.
constexpr const char* kKinds[] = {"compilers", "kernels", "objects", "programs"};

std::map<std::string, std::shared_ptr<const FileDescriptor>> open_kinds(const std::string& folder, uid_t owner) {
  std::map<std::string, std::shared_ptr<const FileDescriptor>> out;
  if (folder.empty()) return out;
  const OpenedFolder all = open_trusted_folder(folder, owner, /*make=*/false);
  if (!all.trouble.empty())
    throw UserError({.what = str(folder, ": the cache folder is not used: ", all.trouble),
                     .hint = "set THTRAIN_CACHE_DIR to a folder that only you can change"});
  if (!all.descriptor) return out;
  for (const char* kind : kKinds)
    if (const OpenedFolder one = open_private_folder(*all.descriptor, folder, kind, owner, false); one.descriptor)
      out.emplace(kind, one.descriptor);
  return out;
}

}  // namespace

std::vector<CacheEntry> cache_entries(const std::string& folder, uid_t owner) {
  std::vector<CacheEntry> out;
  for (const auto& [kind, descriptor] : open_kinds(folder, owner)) {
    const int again = openat(descriptor->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* files = again < 0 ? nullptr : fdopendir(again);
    if (!files && again >= 0) close(again);
    if (!files) continue;
    while (const dirent* file = readdir(files)) {
      struct stat info;
      if (fstatat(descriptor->get(), file->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
        out.push_back({kind, file->d_name, static_cast<int64_t>(info.st_size), info.st_mtime});
    }
    closedir(files);
  }
  std::sort(out.begin(), out.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(a.used, a.kind, a.name) < std::tie(b.used, b.kind, b.name);
  });
  return out;
}

std::vector<CacheEntry> remove_cache_entries(const std::string& folder, uid_t owner,
                                             const std::vector<CacheEntry>& entries) {
  std::vector<CacheEntry> removed;
  const auto kinds = open_kinds(folder, owner);
  for (const CacheEntry& entry : entries) {
    const auto kind = kinds.find(entry.kind);
    if (kind != kinds.end() && unlinkat(kind->second->get(), entry.name.c_str(), 0) == 0) removed.push_back(entry);
  }
  return removed;
}

std::vector<CacheEntry> entries_beyond(const std::vector<CacheEntry>& entries, int64_t limit) {
  int64_t bytes = 0;
  for (const CacheEntry& entry : entries) bytes += entry.bytes;
  auto end = entries.begin();
  for (; end != entries.end() && bytes > limit; ++end) bytes -= end->bytes;
  return {entries.begin(), end};
}

}  // namespace thtrain
