// Lines of generated code.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// `text` at that indentation. What is too long for a line goes on in the next, `deeper`, after `mark`.
std::string lines_of(const std::string& text, size_t indent, size_t deeper, std::string_view mark = {});

/// A line that begins a nested part, with its comment behind it, or before it where the line would be too long.
std::string opening_lines(const std::string& text, const std::string& comment, size_t indent);

/// Does the text contain the word?
bool mentions(const std::string& text, const std::string& word);

}  // namespace thtrain
