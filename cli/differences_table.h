// The keys in which runs differ, as a table for people.
#pragma once

#include <string>
#include <vector>

namespace thtrain {

/// Of short_differences(): `rows` of a key and its value in each of the runs `names`. A column for each run, where that
/// fits into lines of `width` characters; else a row for each run and a column for each key, in blocks of as many keys
/// as fit, with a line between them. There, names of runs are cut to 40 characters where they still differ, and a value
/// that fits into no line is cut in the middle.
std::string differences_text(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
                             int width);

}  // namespace thtrain
