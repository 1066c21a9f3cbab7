// A folder that is there as long as this object.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "compiler/base/error.h"
#include "compiler/base/str.h"

namespace thtrain {

class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / str(kPrefix, ::getpid(), "_XXXXXX")).string()) {
    remove_abandoned();
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
  static constexpr const char* kPrefix = "thtrain_bench_";

  // Those of processes that were interrupted.
  static void remove_abandoned() {
    const std::string prefix = kPrefix;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const auto owner = static_cast<pid_t>(std::atol(name.c_str() + prefix.size()));
      if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
    }
  }

  std::string path_;
};

}  // namespace thtrain
