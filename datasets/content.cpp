#include "datasets/content.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"

namespace thtrain {

Content content_of(std::string_view beginning) {
  using namespace std::string_view_literals;
  auto starts = [&](std::string_view mark) { return beginning.starts_with(mark); };
  if (beginning.empty()) return Content::kEmpty;
  if (starts("\x93NUMPY")) return Content::kNpy;
  if (starts("PK\3\4") || starts("PK\5\6")) return Content::kZip;
  if (starts("\x1f\x8b")) return Content::kGzip;
  if (starts("\x89HDF\r\n")) return Content::kHdf5;
  if (starts("\x89PNG") || starts("\xff\xd8\xff") || starts("GIF8")) return Content::kPicture;
  if (starts("\xff\xfe") || starts("\xfe\xff")) return Content::kUtf16;
  if (beginning.size() > 3 && starts("\0\0"sv) && beginning[2] >= 8 && beginning[2] <= 14 && beginning[3] > 0 &&
      beginning[3] <= 8)
    return Content::kIdx;
  bool text = std::none_of(beginning.begin(), beginning.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
  return text ? Content::kText : Content::kBytes;
}

std::string content_text(std::string_view beginning) {
  if (beginning.starts_with("\xef\xbb\xbf")) beginning.remove_prefix(3);  // a byte order mark
  switch (content_of(beginning)) {
    case Content::kEmpty:
      return "an empty file";
    case Content::kNpy:
      return "a .npy file";
    case Content::kZip:
      return "a zip archive, such as an .npz file";
    case Content::kGzip:
      return "a gzipped file";
    case Content::kIdx:
      return "an IDX file";
    case Content::kHdf5:
      return "an HDF5 file";
    case Content::kPicture:
      return "a picture";
    case Content::kUtf16:
      return "text in UTF-16";
    case Content::kText:
      return str("text that begins with \"", excerpt(beginning.substr(0, beginning.find_first_of("\r\n")), 40), '"');
    case Content::kBytes:
      return "bytes of no known format";
  }
  return "";
}

// Bytes of the character that begins at `at`; 0 where that is no UTF-8. (The Unicode Standard 15.0, table 3-7.)
static size_t utf8_length(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0; };
  const int first = byte(0), second = byte(1);
  auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !follows(1)) return 0;
  if (first < 0xe0) return 2;
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_surrogate = first == 0xed && second >= 0xa0, is_too_large = first == 0xf4 && second >= 0x90;
  if (is_overlong || is_surrogate || is_too_large || !follows(2)) return 0;
  if (first < 0xf0) return 3;
  return follows(3) ? 4 : 0;
}

size_t first_not_utf8(std::string_view text) {
  unsigned char any = 0;  // a loop without branches: most text is ASCII
  for (char c : text) any = static_cast<unsigned char>(any | static_cast<unsigned char>(c));
  if (any < 0x80) return std::string_view::npos;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace thtrain
