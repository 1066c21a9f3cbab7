// Which keys a text of TOML has given until now: TOML gives each once, and opens each table once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace thtrain {

/// A part of a dotted key. `begin` is its first byte, `name_begin` that of its name, within quotes.
struct TomlKey {
  std::string name;
  size_t begin = 0, name_begin = 0;
};

/// A key's value, or a table with its keys.
struct TomlTable {
  enum class Kind {
    kValue,     // no table
    kInline,    // closed by its brace
    kImplicit,  // made by the header of a table in it
    kHeader,
    kDotted,  // made by a dotted key
    kTables,  // an array of tables; the keys are those of its last one
  };
  Kind kind = Kind::kHeader;
  size_t key = 0;             // the first byte of the key
  size_t begin = 0, end = 0;  // of the value's text
  int64_t elements = 0;       // of kTables
  std::map<std::string, TomlTable> children = {};
};

/// Thrown where the first `depth` parts of `keys` name what there is already.
struct RepeatedTomlKey {
  std::vector<TomlKey> keys;
  size_t depth;
  TomlTable first;   // a copy: that of an inline table ends with it
  bool wants_table;  // where `first` may be a value
};
/// Thrown where a header is within an inline table.
struct ClosedTomlTable {};

/// RepeatedTomlKey where `keys` cannot be given in this table.
void require_new(const TomlTable& table, const std::vector<TomlKey>& keys);
/// Adds a value, which require_new() allows.
TomlTable& add_value(TomlTable& table, const std::vector<TomlKey>& keys);
/// The table of the header [keys], or of [[keys]]. RepeatedTomlKey, ClosedTomlTable.
TomlTable& open_table(TomlTable& root, const std::vector<TomlKey>& keys, bool is_array);

}  // namespace thtrain
