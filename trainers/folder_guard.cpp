#include "trainers/folder_guard.h"

#include <unistd.h>

#include <system_error>

namespace thtrain {

namespace fs = std::filesystem;

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
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (was_there_) fs::create_directory(path_, ignored);
  for (const fs::path& above : new_above_) ::rmdir(above.c_str());  // where another run came meanwhile, it stays
}

}  // namespace thtrain
