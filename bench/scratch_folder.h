// A folder that is there as long as this object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "compiler/base/error.h"

namespace thtrain {

class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "thtrain_bench_XXXXXX").string()) {
    if (!::mkdtemp(path_.data()))
      throw UserError(Message{.what = "bench: cannot make a temporary folder", .got = path_});
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace thtrain
