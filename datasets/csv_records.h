// The records of a CSV file as texts of their cells: lines, and lines that quotes join.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/csv.h"
#include "datasets/text_lines.h"

namespace thtrain {

class CsvRecords {
 public:
  /// UserError: the file cannot be read, or is no text.
  CsvRecords(const std::string& path, const CsvOptions& options);

  /// The next record that is not blank; false at the end. UserError, each with its line: a quote that is not closed
  /// within 1 MiB, a byte 0, text that is not UTF-8; of the first record, a delimiter that cannot be told.
  bool next();
  const std::vector<std::string>& cells() const { return cells_; }
  std::string_view text() const { return text_; }
  int64_t line() const { return line_; }  // the first of the record, from 1
  int64_t last_line() const { return lines_.number(); }
  uint64_t begin() const { return begin_; }  // its first byte in the file
  char delimiter() const { return delimiter_; }
  const TextFile& file() const { return file_; }

 private:
  void find_delimiter();
  std::string first_record() const;
  void join_lines(size_t open);
  [[noreturn]] void fail_open(size_t open) const;
  void check_bytes() const;

  const CsvOptions& options_;
  TextFile file_;
  TextLines lines_;
  char delimiter_ = 0;  // before the first record
  std::vector<std::string> cells_;
  std::string joined_;
  std::string_view text_;
  int64_t line_ = 0;
  uint64_t begin_ = 0;
};

}  // namespace thtrain
