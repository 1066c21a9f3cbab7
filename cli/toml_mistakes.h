// What is wrong with a text that is no TOML: from a parser's complaint to a message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_node.h"

namespace thtrain {

/// The lines of a text, for carets. An override is a text of one line, of which the parser sees the end.
struct TomlSource {
  std::string file;
  std::vector<std::string> lines;
  int first_line = 1;
  int column_shift = 0;  // added to the parser's columns

  /// Of `length` characters, within the line with this number, from 1.
  ConfigPosition position(int line, int column, int length) const;
  const std::string& line(int number) const;  // empty where there is none
};

/// What a parser says of the first mistake, and where: line and column from 1.
struct TomlComplaint {
  std::string what;
  int line = 1, column = 1;
};

/// The byte where a column's character starts; columns count characters, from 1.
size_t byte_of(const std::string& line, int column);

/// Is it said of a key that was given before?
bool is_of_repeated_key(const TomlComplaint& complaint);
/// The line of the mistake: of some headers the parser says it in the line behind.
int line_of(const TomlSource& source, const TomlComplaint& complaint);
/// Its message, which names the first position. `lines` are those of `source` without earlier mistakes; `parse` reads a
/// text without mistakes, or gives nothing.
Message repeated_key(const TomlSource& source, const TomlComplaint& complaint, const std::vector<std::string>& lines,
                     std::optional<ConfigNode> (*parse)(const std::string& text));
/// The message of any other mistake.
Message syntax_mistake(const TomlSource& source, const TomlComplaint& complaint);

}  // namespace thtrain
