// Names of users in texts: on one line, and safe to print.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// A name as texts show it: on one line, and unescaped() gives it back. A backslash is doubled; control characters,
/// what reverses the direction of text, and bytes that are not UTF-8 are "\n", "\t" or "\x1b". Other UTF-8 stays.
std::string escaped(std::string_view name);
std::string unescaped(std::string_view text);

}  // namespace thtrain
