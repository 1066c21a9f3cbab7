#include "datasets/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "compiler/base/file.h"

namespace thtrain {

uint64_t usable_memory() {
  uint64_t out = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t bytes = 0;
    if (std::ifstream(limit) >> bytes && bytes > 0) out = std::min(out, bytes);
  }
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    out = std::min(out, static_cast<uint64_t>(space.rlim_cur));
  return out;
}

void require_memory(const std::string& path, const std::string& what, uint64_t bytes) {
  uint64_t most = usable_memory();
  if (bytes <= most) return;
  throw file_error(path, str(what, " does not fit in memory"),
                   str("at most ", bytes_text(static_cast<double>(most)), ", the memory that there is"),
                   bytes_text(static_cast<double>(bytes)));
}

}  // namespace thtrain
