// Text of files, paths and users, as it may be shown: what a terminal would obey becomes a visible escape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The characters of a text, each as it may be shown: itself, or `\n`, `\x1b`, `\u202e` for control characters (C0, C1,
/// DEL), marks that change the direction of writing, ends of lines, and bytes that are no UTF-8.
std::vector<std::string> printable_characters(std::string_view text);

/// The same as one text, for people. What is in `kept`, such as "\n\t", stays as it is.
std::string printable(std::string_view text, std::string_view kept = {});

/// Text for a terminal: at most about `most` bytes of it, control characters as escapes, UTF-8 as it is.
std::string excerpt(std::string_view text, size_t most = 72);

/// The same with backslashes doubled, so that unescaped() gives the text back: for names in text that is read again.
std::string escaped(std::string_view name);
/// `\uXXXX` that is no code point gives U+FFFD.
std::string unescaped(std::string_view text);

}  // namespace thtrain
