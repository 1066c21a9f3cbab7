#include "compiler/store/trusted_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/base/system_error.h"

namespace thtrain {
namespace {

constexpr int kMaxLinks = 40;  // as many as Linux follows

std::string user_name(uid_t user) {
  passwd entry, *found = nullptr;
  std::string room(16384, '\0');
  return getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found ? found->pw_name : "";
}

/// Debian gives each user a group of the same name, and such users often let their group write.
bool is_private_group(gid_t gid, uid_t user) {
  group entry, *found = nullptr;
  std::string room(65536, '\0'), name = user_name(user);
  if (name.empty() || getgrgid_r(gid, &entry, room.data(), room.size(), &found) != 0 || !found) return false;
  if (found->gr_name != name) return false;
  for (char** member = found->gr_mem; *member; ++member)
    if (*member != name) return false;
  return true;
}

bool belongs_to(const struct stat& info, uid_t owner) {
  return info.st_uid == owner || info.st_uid == 0;
}

std::string octal(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

std::string of_another_user(const std::string& path, const struct stat& info) {
  return str(path, " belongs to another user (number ", info.st_uid, ")");
}

/// Why others could change what is in the folder, or "".
std::string reason_to_refuse(const std::string& path, const struct stat& info, uid_t owner) {
  if (!belongs_to(info, owner)) return of_another_user(path, info);
  bool group_writes = info.st_mode & S_IWGRP, others_write = info.st_mode & S_IWOTH, sticky = info.st_mode & S_ISVTX;
  if (sticky) return {};  // whose the next component is, is asked there
  if (group_writes && !others_write && (is_private_group(info.st_gid, owner) || is_private_group(info.st_gid, 0)))
    return {};
  if (group_writes || others_write)
    return str("other users may write to ", path, ", mode ", octal(info.st_mode), ": `chmod go-w ", path,
               "` ends that");
  return {};
}

/// Puts the components of `path` on top of `waiting`, the first one uppermost.
void push_components(std::vector<std::string>& waiting, const std::string& path) {
  for (size_t end = path.size(); end > 0;) {
    size_t slash = path.rfind('/', end - 1), begin = slash == std::string::npos ? 0 : slash + 1;
    std::string name = path.substr(begin, end - begin);
    if (!name.empty() && name != ".") waiting.push_back(name);
    if (slash == std::string::npos) return;
    end = slash;
  }
}

std::string path_in(const std::string& folder, const std::string& name) {
  return str(folder == "/" ? "" : folder, "/", name);
}

int open_at(int folder, const std::string& name, int flags, bool make) {
  flags |= O_NOFOLLOW | O_CLOEXEC;
  int fd = openat(folder, name.c_str(), flags);
  if (fd >= 0 || errno != ENOENT || !make) return fd;
  if (mkdirat(folder, name.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  return openat(folder, name.c_str(), flags);
}

OpenedFolder refused(std::string reason) {
  return {.trouble = std::move(reason), .is_refused = true};
}

/// After a call of the system that failed.
OpenedFolder failed(const std::string& path, bool make) {
  if (errno == ENOENT && !make) return {};
  return {.trouble = str(path, ": ", system_error_text(errno))};
}

}  // namespace

bool is_private_to(const struct stat& info, uid_t owner) {
  return info.st_uid == owner && (info.st_mode & 022) == 0;
}

OpenedFolder open_trusted_folder(const std::string& path, uid_t owner, bool make) {
  struct Component {
    std::shared_ptr<const FileDescriptor> descriptor;
    std::string path;
  };
  std::vector<Component> opened = {
      {std::make_shared<FileDescriptor>(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/"}};
  std::vector<std::string> waiting;
  push_components(waiting, path);
  struct stat info;
  if (fstat(opened[0].descriptor->get(), &info) != 0) return failed("/", true);
  if (std::string reason = reason_to_refuse("/", info, owner); !reason.empty()) return refused(reason);
  int links = 0;
  while (!waiting.empty()) {
    std::string name = waiting.back();
    waiting.pop_back();
    if (name == "..") {
      if (opened.size() > 1) opened.pop_back();
      continue;
    }
    int above = opened.back().descriptor->get();
    std::string here = path_in(opened.back().path, name);
    auto next = std::make_shared<FileDescriptor>(open_at(above, name, O_PATH, make));
    if (next->get() < 0 || fstat(next->get(), &info) != 0) return failed(here, make);
    if (S_ISLNK(info.st_mode)) {
      if (!belongs_to(info, owner)) return refused(of_another_user(str("the link ", here), info));
      char target[4096];
      ssize_t length = readlinkat(next->get(), "", target, sizeof target);
      if (length < 0 || ++links > kMaxLinks) return {.trouble = str(here, ": ", system_error_text(ELOOP))};
      std::string text(target, static_cast<size_t>(length));
      if (text.starts_with('/')) opened.resize(1);
      push_components(waiting, text);
      continue;
    }
    if (!S_ISDIR(info.st_mode)) return {.trouble = str(here, " is not a folder")};
    if (std::string reason = reason_to_refuse(here, info, owner); !reason.empty()) return refused(reason);
    opened.push_back({next, here});
  }
  return {opened.back().descriptor, opened.back().path, {}, false};
}

OpenedFolder open_private_folder(const FileDescriptor& parent, const std::string& path, const std::string& name,
                                 uid_t owner, bool make) {
  std::string here = path_in(path, name);
  auto opened = std::make_shared<FileDescriptor>(open_at(parent.get(), name, O_RDONLY | O_DIRECTORY, make));
  if (opened->get() < 0 && (errno == ELOOP || errno == ENOTDIR)) return refused(here + " is not a folder");
  struct stat info;
  if (opened->get() < 0 || fstat(opened->get(), &info) != 0) return failed(here, make);
  if (info.st_uid != owner) return refused(of_another_user(here, info));
  if (!is_private_to(info, owner))
    return refused(
        str("other users may write to ", here, ", mode ", octal(info.st_mode), ": `chmod go-w ", here, "` ends that"));
  return {opened, here, {}, false};
}

}  // namespace thtrain
