// What a file seems to be, for messages about one that is not what was expected.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

enum class Content { kEmpty, kNpy, kZip, kGzip, kIdx, kHdf5, kPicture, kUtf16, kText, kBytes };

/// By the file's first bytes (some 256 of them serve best).
Content content_of(std::string_view beginning);

/// "a .npy file", "text that begins with \"a,b,c\"", "an empty file": what was got instead.
std::string content_text(std::string_view beginning);

}  // namespace thtrain
