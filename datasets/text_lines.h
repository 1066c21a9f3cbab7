// The lines of a text file, a piece of the file at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/file.h"

namespace thtrain {

class TextLines {
 public:
  /// Skips a byte order mark.
  explicit TextLines(const InputFile& file);

  /// The next line without its end (LF, CRLF or CR) in `line`, until the next call; false at the end of the file.
  bool next(std::string_view& line);
  int64_t number() const { return number_; }      // of that line, from 1
  uint64_t begin() const { return line_begin_; }  // its first byte in the file

 private:
  bool read_more();

  const InputFile& file_;
  uint64_t offset_ = 0;  // of the file: what follows buffer_
  std::string buffer_;
  size_t at_ = 0;
  int64_t number_ = 0;
  uint64_t line_begin_ = 0;
};

/// Lines that are not empty: a fast count.
int64_t count_lines(const InputFile& file);

}  // namespace thtrain
