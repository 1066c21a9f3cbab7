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

}  // namespace thtrain
