// A folder that is being made, and that goes again where making it does not come to an end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thtrain {

/// From made() to keep(), the folder at `path` goes with this object, and so do those above it that were not there
/// before, where they are empty.
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
