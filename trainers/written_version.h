// Files that a newer thtrain wrote.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// Is version `a` newer than `b`? By their numbers from left to right, a missing one counting as 0: 0.10 is newer than
/// 0.9.2, and 1.0 is not newer than 1.0.0. What follows the numbers ("-rc1") does not count.
bool is_newer_version(std::string_view a, std::string_view b);

/// UserError where `written`, the version that the file at `path` says wrote it, is newer than this thtrain. `what` is
/// what the file describes: "run", "sweep".
void refuse_newer_version(const std::string& path, const std::string& what, const std::string& written);

}  // namespace thtrain
