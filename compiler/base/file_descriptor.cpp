#include "compiler/base/file_descriptor.h"

#include <fcntl.h>

#include <cerrno>

namespace thtrain {

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::optional<std::string> read_all(int fd, size_t size) {
  std::string out(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(fd, out.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return out;
}

}  // namespace thtrain
