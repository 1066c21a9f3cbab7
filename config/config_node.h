// A configuration as located values, before any meaning: what a TOML file and the command line's overrides become.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

/// One value with its location. A child of a table also has its key and the key's location.
struct ConfigNode {
  enum class Kind { kBool, kInt, kFloat, kString, kDate, kArray, kTable };
  Kind kind = Kind::kTable;
  bool boolean = false;   // kBool
  int64_t integer = 0;    // kInt
  double number = 0;      // kFloat
  std::string text = {};  // kString and kDate; for an unquoted value of the command line, the text as typed
  std::vector<ConfigNode> children = {};  // elements of an array; entries of a table in the order of the file
  ConfigPosition position = {};           // of the value; for a table, of its header
  std::string key = {};
  ConfigPosition key_position = {};
  bool unquoted = false;    // typed without quotes on the command line: `text` has it, if a string is wanted
  bool incomplete = false;  // of the root: a line was unreadable, so a missing key is no finding

  static ConfigNode of(bool value);
  static ConfigNode of(int64_t value);
  static ConfigNode of(double value);
  static ConfigNode of(std::string value);

  bool is_table() const { return kind == Kind::kTable; }
  bool is_array() const { return kind == Kind::kArray; }
  const ConfigNode* find(std::string_view name) const;  // an entry of a table; null where there is none
  ConfigNode* find(std::string_view name);
};

/// What a message says that it got: `a string, "ten"`; `2.5`; `an array of 3`.
std::string description(const ConfigNode& node);
/// One value as TOML, in one line: `"ten"`, `2.5`, `[1, 2]`, `{a = 1}`.
std::string toml_value(const ConfigNode& node);
/// A whole table as a TOML file. Every number is written with the fewest digits that read back as the same number.
std::string toml_text(const ConfigNode& table);

/// Where the positions of overrides say that they are.
inline constexpr std::string_view kCommandLine = "command line";

/// The mistakes found so far, to be reported together.
class Findings {
 public:
  void add(Message message) { messages_.push_back(std::move(message)); }
  bool empty() const { return messages_.empty(); }
  size_t size() const { return messages_.size(); }
  /// By position; those of the command line after those of the file.
  std::vector<Message> sorted() const;
  /// Throws a UserError of all findings, if there are any.
  void raise() const;

 private:
  std::vector<Message> messages_;
};

}  // namespace thtrain
