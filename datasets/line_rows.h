// Rows that are lines of a text file, read and parsed when they are asked for.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "datasets/text_lines.h"

namespace thtrain {

class LineRows : public RowSource {
 public:
  /// Writes the numbers of the line that `text` begins with, as the reader of the whole file would; false where it has
  /// none, or others than it had. May be called from several threads.
  using Parse = std::function<bool(std::string_view text, double* out)>;

  /// The i-th row, of `numbers` float64, is the line at byte starts[i] of the file; they rise.
  LineRows(const TextFile& file, std::vector<uint64_t> starts, int64_t numbers, Parse parse)
      : file_(file), starts_(std::move(starts)), numbers_(numbers), parse_(std::move(parse)) {}
  void read(int64_t first, int64_t count, std::byte* out) const override;
  bool is_sequential() const override { return file_.bytes->is_sequential(); }
  void check_unchanged() const override { file_.bytes->check_unchanged(); }
  void list_files(std::vector<OpenedFile>& out) const override { file_.bytes->list_files(out); }

 private:
  TextFile file_;
  std::vector<uint64_t> starts_;
  int64_t numbers_;
  Parse parse_;
};

}  // namespace thtrain
