// TOML texts as located values; its .cpp is the only file that knows a TOML library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config_node.h"

namespace thtrain {

/// The file's tables and values. What is not TOML goes to `findings`, and reading goes on behind the bad line where
/// that line stands alone; then the result is marked incomplete. A file that cannot be opened throws a UserError.
ConfigNode read_toml_file(const std::string& path, Findings& findings);

/// The same for a text; `file` is the name that positions carry.
ConfigNode parse_toml(std::string_view text, const std::string& file, Findings& findings);

/// One value typed on the command line: the characters of `text` from byte `start` on, which `position` points to. What
/// is not a value of TOML is a string as it is; an opened quote or bracket that is not closed goes to `findings`.
ConfigNode parse_toml_value(const std::string& text, size_t start, const ConfigPosition& position, Findings& findings);

}  // namespace thtrain
