// Long texts in lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The text in lines of at most `width` characters, the first of `first_width`, broken at spaces where it has any.
std::vector<std::string> wrapped(std::string_view text, size_t first_width, size_t width);

}  // namespace thtrain
