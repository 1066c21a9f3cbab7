#include "datasets/text_lines.h"

#include <algorithm>
#include <span>

namespace thtrain {

static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

static std::string piece(const InputFile& file, uint64_t offset) {
  std::string out(std::min(kPieceBytes, file.size() - offset), '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

TextLines::TextLines(const InputFile& file) : file_(file) {
  if (file.beginning(3) == "\xef\xbb\xbf") offset_ = 3;
}

bool TextLines::read_more() {
  if (offset_ == file_.size()) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  std::string more = piece(file_, offset_);
  offset_ += more.size();
  buffer_ += more;
  return true;
}

bool TextLines::next(std::string_view& line) {
  size_t searched = 0;  // bytes after at_ that hold no end of a line
  while (true) {
    size_t end = buffer_.find_first_of("\r\n", at_ + searched);
    bool found = end != std::string::npos;
    // A CR at the end of what was read may have its LF behind it.
    bool whole = found && (buffer_[end] == '\n' || end + 1 < buffer_.size());
    if (!whole) {
      searched = (found ? end : buffer_.size()) - at_;
      if (read_more()) continue;
      if (!found && at_ == buffer_.size()) return false;
    }
    if (!found) end = buffer_.size();
    line = std::string_view(buffer_).substr(at_, end - at_);
    line_begin_ = offset_ - buffer_.size() + at_;
    bool two = end + 1 < buffer_.size() && buffer_[end] == '\r' && buffer_[end + 1] == '\n';
    at_ = std::min(end + (two ? 2 : 1), buffer_.size());
    ++number_;
    return true;
  }
}

int64_t count_lines(const InputFile& file) {
  int64_t count = 0;
  bool within = false;
  for (uint64_t offset = 0; offset < file.size();) {
    std::string text = piece(file, offset);
    offset += text.size();
    for (char c : text) {
      bool end = c == '\n' || c == '\r';
      count += within && end;
      within = !end;
    }
  }
  return count + within;
}

}  // namespace thtrain
