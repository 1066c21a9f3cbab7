#include "tests/fuzz/parsers/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {

ScratchFile::ScratchFile() : descriptor_(-1) {
  const char* chosen = std::getenv("TMPDIR");
  for (const char* folder : {"/dev/shm", chosen && *chosen ? chosen : "/tmp"}) {
    path_ = std::string(folder) + "/thtrain-fuzz-XXXXXX";
    if (descriptor_ = mkostemp(path_.data(), O_CLOEXEC); descriptor_ >= 0) return;
  }
  throw std::runtime_error("no folder for a scratch file");
}

ScratchFile::~ScratchFile() {
  close(descriptor_);
  unlink(path_.c_str());
}

const std::string& ScratchFile::holding(std::string_view bytes) {
  // A file may be mapped still by a tensor of the last input: cut first, so that nothing old is seen.
  bool written = ftruncate(descriptor_, 0) == 0 &&
                 pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (!written) throw std::runtime_error("the scratch file cannot be written");
  return path_;
}

ScratchFile& scratch_file() {
  static ScratchFile once;
  return once;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace thtrain::fuzz
