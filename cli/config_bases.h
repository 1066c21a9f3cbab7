// A configuration file over others that it names: `_base_ = "other.toml"`.
#pragma once

#include <string>

#include "config/config_node.h"

namespace thtrain {

/// The file's tables and values over those of its bases. `_base_` at the top of a file is the path of another one,
/// relative to the file that names it, or an array of them, each over those before it; bases may have bases. Tables
/// merge key by key; anything else, arrays of tables too, replaces what the base has. Where a file names another
/// source, optimizer or objective than its base, the base's keys that go with the old one go (drop_replaced_kinds()).
/// Positions are in the file that each value comes from, and the result has no `_base_`. To `findings` goes, at the
/// location of `_base_`, a base that cannot be read, that is one of the files that lead to it, or is no path, besides
/// the mistakes of read_toml_file(); the result is incomplete then. UserError where `path` itself cannot be read.
ConfigNode read_config(const std::string& path, Findings& findings);

}  // namespace thtrain
