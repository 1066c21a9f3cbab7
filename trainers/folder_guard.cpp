#include "trainers/folder_guard.h"

#include <unistd.h>

#include <system_error>

#include "trainers/stale_files.h"

namespace thtrain {

namespace fs = std::filesystem;

constexpr const char* kOfFileSystem = "lost+found";

bool is_empty_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != kOfFileSystem) return false;
  return !error;
}

void empty_folder(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> inner;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != kOfFileSystem) inner.push_back(at->path());
  for (const fs::path& one : inner) fs::remove_all(one, error);
}

FolderGuard::FolderGuard(const std::string& path) {
  std::error_code error;
  path_ = fs::absolute(path, error);
  if (error) path_ = path;  // the working folder is gone
  path_ = path_.lexically_normal();
  if (path_.filename().empty()) path_ = path_.parent_path();
  was_there_ = fs::exists(path_, error);
  for (fs::path above = path_.parent_path(); !fs::exists(above, error) && above.has_relative_path();
       above = above.parent_path())
    new_above_.push_back(above);
}

FolderGuard::~FolderGuard() {
  if (!made_ || kept_) return;
  if (was_there_)
    empty_folder(path_);
  else
    remove_whole(path_);
  for (const fs::path& above : new_above_) ::rmdir(above.c_str());  // where another run came meanwhile, it stays
}

}  // namespace thtrain
