// Names of classes in a text file, one in each line.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/error.h"
#include "datasets/dataset.h"

namespace thtrain {

/// Without the blanks around them. Empty lines at the end are none. UserError at `where`: the file cannot be read or is
/// no text, there are no names, a line before the last name is empty, or two names are the same.
std::vector<std::string> read_class_names(const std::string& path, const ConfigPosition& where);

/// UserError at `where`: the targets are values, or `known` classes (or labels of an example; 0: not known) are not as
/// many as the names. `counted_in`: the file whose labels were counted; "" where the source says how many there are.
void check_class_names(const std::vector<std::string>& names, const ConfigPosition& where, Targets targets,
                       int64_t known, const std::string& counted_in);

}  // namespace thtrain
