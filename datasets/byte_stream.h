// The bytes of a file from its start, unpacked on the way where it is gzipped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "compiler/base/file.h"

struct gzFile_s;

namespace thtrain {

class ByteStream {
 public:
  /// A gzipped file is known by its content, not by its name. UserError as InputFile.
  explicit ByteStream(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const InputFile& file() const { return file_; }
  bool packed() const { return packed_; }
  /// The most bytes that can come, unpacked.
  uint64_t most_bytes() const;
  uint64_t bytes_read() const { return read_; }
  /// " unpacked" of a packed file, for messages.
  const char* unpacked() const { return packed_ ? " unpacked" : ""; }

  /// The number of bytes read: fewer than asked for at the end. UserError for damaged gzip data; its checksum is
  /// checked when the end is read.
  size_t read(std::span<std::byte> out);

 private:
  InputFile file_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> gz_;
  bool packed_ = false;
  uint64_t read_ = 0;
};

}  // namespace thtrain
