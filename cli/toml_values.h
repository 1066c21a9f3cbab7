// Numbers, dates, words and escapes of TOML: whether they are some.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// What is wrong with a text of TOML: its bytes from `begin` to `end`.
struct TomlFault {
  size_t begin = 0, end = 0;
  std::string what = {};  // "": something else was expected
  std::string expected = {}, got = {}, hint = {};
};

/// The end of the number, date or boolean that begins at byte `at`. Throws TomlFault.
size_t check_toml_scalar(std::string_view text, size_t at);

/// What the escape of a basic string stands for that begins at byte `at`, which moves behind it; a line that goes on
/// in the next one only where the string `has_lines`. Throws TomlFault.
std::string toml_escape(std::string_view text, size_t& at, bool has_lines);

}  // namespace thtrain
