#include "datasets/text_lines.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "datasets/content.h"
#include "datasets/deflated_bytes.h"

namespace thtrain {

static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

TextFile::TextFile(const std::string& where) : path(where) {
  auto file = std::make_shared<const InputFile>(path);
  size = file->size();
  if (content_of(file->beginning()) != Content::kGzip) {
    bytes = std::make_shared<const FileBytes>(std::move(file));
    return;
  }
  auto unpacked = std::make_shared<const DeflatedBytes>(file, 0, size, DeflatedBytes::Format::kGzip);
  size = unpacked->size();
  bytes = std::move(unpacked);
}

std::string TextFile::beginning(size_t count) const {
  std::string out(std::min<uint64_t>(count, size), '\0');
  bytes->read_at(0, std::as_writable_bytes(std::span(out)));
  return out;
}

TextLines::TextLines(const InputFile& file)
    : path_(file.path()),
      read_at_([&file](uint64_t offset, std::span<std::byte> out) { file.read_at(offset, out); }),
      size_(file.size()) {
  if (file.beginning(3) == "\xef\xbb\xbf") offset_ = 3;
}

TextLines::TextLines(const TextFile& file)
    : path_(file.path),
      read_at_([&file](uint64_t offset, std::span<std::byte> out) { file.bytes->read_at(offset, out); }),
      size_(file.size) {
  if (file.beginning(3) == "\xef\xbb\xbf") offset_ = 3;
}

bool TextLines::read_more() {
  constexpr size_t kMostBytes = size_t{64} << 20;
  if (offset_ == size_) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  if (buffer_.size() > kMostBytes)
    throw file_error(path_, str("line ", number_ + 1, " is longer than 64 MiB"), "lines of text", {},
                     "is it a text file?");
  const size_t held = buffer_.size(), more = std::min(kPieceBytes, size_ - offset_);
  buffer_.resize(held + more);
  read_at_(offset_, std::as_writable_bytes(std::span(buffer_)).subspan(held));
  offset_ += more;
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

int64_t count_lines(const TextFile& file) {
  int64_t count = 0;
  bool within = false;
  std::string text;
  for (uint64_t offset = 0; offset < file.size; offset += text.size()) {
    text.resize(std::min(kPieceBytes, file.size - offset));
    file.bytes->read_at(offset, std::as_writable_bytes(std::span(text)));
    for (char c : text) {
      bool end = c == '\n' || c == '\r';
      count += within && end;
      within = !end;
    }
  }
  return count + within;
}

std::optional<int64_t> integer_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace thtrain
