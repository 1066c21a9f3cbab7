// Names of classes in a text file, one in each line.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

/// Without the blanks around them. Empty lines at the end are none. UserError at `where`: the file cannot be read or is
/// no text, there are no names, a line before the last name is empty, or two names are the same.
std::vector<std::string> read_class_names(const std::string& path, const ConfigPosition& where);

}  // namespace thtrain
