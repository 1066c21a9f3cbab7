// What is wrong with a text that is no TOML 1.0, and where: a check of its syntax and of keys that are given twice.
// What has no mistake is read by the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config_node.h"

namespace thtrain {

/// The lines of a text, for carets. An override is a text of one line, of which the check sees the end.
struct TomlSource {
  std::string file;
  std::vector<std::string> lines;
  int first_line = 1;
  int column_shift = 0;  // added to columns of the text

  /// Of `length` characters, within the line with this number, from 1.
  ConfigPosition position(int line, int column, int length) const;
  const std::string& line(int number) const;  // empty where there is none
};

struct TomlCheck {
  std::vector<Message> mistakes = {};
  std::string rest = {};  // the text without the lines of mistakes; "" where it has others
  bool has_more = false;  // mistakes behind the last one that may be told
};

/// At most `most` mistakes: reading goes on behind a line whose mistake ends with it. `describe` says what a value is,
/// given its text: "a string, \"x\"".
TomlCheck check_toml(std::string_view text, const TomlSource& source, int most,
                     std::string (*describe)(std::string_view value));

}  // namespace thtrain
