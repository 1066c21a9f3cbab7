// A file in memory for parsers that take a path.
#pragma once

#include <string>
#include <string_view>

namespace thtrain::fuzz {

/// One file under /dev/shm (where there is none, $TMPDIR or /tmp), removed at the end of the process.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Its path, with these bytes in it.
  const std::string& holding(std::string_view bytes);

 private:
  std::string path_;
  int descriptor_;
};

ScratchFile& scratch_file();

}  // namespace thtrain::fuzz
