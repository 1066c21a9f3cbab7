// The lines of a text file, a piece of the file at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "datasets/row_source.h"

namespace thtrain {

/// A text file as its bytes are, unpacked where it is gzipped.
struct TextFile {
  std::string path;
  std::shared_ptr<const ByteSource> bytes;
  uint64_t size = 0;  // unpacked

  /// A gzipped file is known by its content, and read once. UserError as InputFile and DeflatedBytes.
  explicit TextFile(const std::string& path);
  /// The first bytes, at most `count`.
  std::string beginning(size_t count = 256) const;
};

class TextLines {
 public:
  /// Skip a byte order mark. The file stays alive.
  explicit TextLines(const InputFile& file);
  explicit TextLines(const TextFile& file);

  /// The next line without its end (LF, CRLF or CR) in `line`, until the next call; false at the end of the file.
  /// UserError for a line of more than 64 MiB.
  bool next(std::string_view& line);
  int64_t number() const { return number_; }      // of that line, from 1
  uint64_t begin() const { return line_begin_; }  // its first byte in the file

 private:
  bool read_more();

  const std::string& path_;
  std::function<void(uint64_t, std::span<std::byte>)> read_at_;
  uint64_t size_;
  uint64_t offset_ = 0;  // of the file: what follows buffer_
  std::string buffer_;
  size_t at_ = 0;
  int64_t number_ = 0;
  uint64_t line_begin_ = 0;
};

/// Lines that are not empty: a fast count.
int64_t count_lines(const TextFile& file);

/// The whole text as a number in decimal digits, with a sign or without; nothing where it is none of an int64_t.
std::optional<int64_t> integer_in(std::string_view text);

}  // namespace thtrain
