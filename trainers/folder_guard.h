// A folder that is being made, and that goes again where making it is not completed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thtrain {

/// Is it a folder, also by a link, that holds nothing but the `lost+found` of a file system?
bool is_empty_folder(const std::string& path);
/// Removes all else that is in it; what cannot be removed stays.
void empty_folder(const std::string& path);

/// From made() to keep(), the folder at `path` goes with this object, and so do those above it that were not there
/// before, where they are empty. A process that is killed meanwhile leaves no part of it under its name. Of a folder
/// that was there before, which may be a mount point, the working folder or named by a link, only what is in it goes.
class FolderGuard {
 public:
  explicit FolderGuard(const std::string& path);
  ~FolderGuard();
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;
  void made() { made_ = true; }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> new_above_;
  bool was_there_ = false, made_ = false, kept_ = false;
};

}  // namespace thtrain
