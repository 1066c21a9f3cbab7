#include "datasets/line_rows.h"

#include <algorithm>
#include <memory>

namespace thtrain {

void LineRows::read(int64_t first, int64_t count, std::byte* out) const {
  constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
  const auto rows = static_cast<int64_t>(starts_.size());
  auto begin_of = [&](int64_t row) { return row < rows ? starts_[static_cast<size_t>(row)] : file_.size(); };
  // Rows of doubles begin where doubles may: buffers of elements do.
  auto* numbers = reinterpret_cast<double*>(out);
  std::unique_ptr<char[]> text;
  uint64_t room = 0;
  for (int64_t row = first, piece = 0; row < first + count; row += piece) {
    piece = 1;
    while (row + piece < first + count && begin_of(row + piece + 1) - begin_of(row) <= kPieceBytes) ++piece;
    const uint64_t from = begin_of(row);
    if (begin_of(row + piece) < from) throw changed_while_read(file_.path());
    const uint64_t bytes = begin_of(row + piece) - from;
    if (bytes > room) text = std::make_unique_for_overwrite<char[]>(room = bytes);
    file_.read_at(from, std::as_writable_bytes(std::span(text.get(), bytes)));
    for (int64_t i = 0; i < piece; ++i, numbers += numbers_) {
      std::string_view line(text.get() + (begin_of(row + i) - from), begin_of(row + i + 1) - begin_of(row + i));
      line = line.substr(0, line.find_first_of("\r\n"));
      if (!parse_(line, numbers))
        throw file_error(file_.path(), "the file changed while it was read", {}, {},
                         "start again: the run reads its lines where they were at the beginning");
    }
  }
}

}  // namespace thtrain
