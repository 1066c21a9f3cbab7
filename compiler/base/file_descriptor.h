// A file that is open, by its number in this process.
#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace thtrain {

/// Closes what it holds.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// The ends of a new pipe for reading and for writing, which no program that is started inherits; -1 with errno where
/// there is none.
std::pair<FileDescriptor, FileDescriptor> make_pipe();

/// Writes all of it; false with errno where the system does not take it.
bool write_all(int fd, std::string_view bytes);
/// So many bytes from where the file is read next; nullopt where it has fewer, or cannot be read.
std::optional<std::string> read_all(int fd, size_t size);

}  // namespace thtrain
