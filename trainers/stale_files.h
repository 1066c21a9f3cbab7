// What killed processes left behind next to and in run folders.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// "checkpoint.npz.tmp-1234-0" and the like: a file of a run folder that was not finished.
bool is_unfinished_file(std::string_view name);
/// Removes the unfinished files in a run folder: "checkpoint.npz.tmp-1234-0" and the like, of the names that a run
/// writes. Nobody else may be writing to it: the caller holds its lock. In its plots, remove_stale_pictures().
void remove_stale_files(const std::string& run_folder);
/// Removes unfinished pictures in a folder, "confusion_test.png.tmp-1234-0", whose process is gone.
void remove_stale_pictures(const std::string& folder);

/// The name under which a run folder is made in `parent`, before it is renamed: ".thtrain-new-1234-0".
std::string new_folder_name(const std::string& parent);
/// Removes such folders in `parent` whose process is gone.
void remove_stale_folders(const std::string& parent);

/// Gives a run folder such a name, and returns it; `folder` itself where it cannot be renamed.
std::string set_aside(const std::string& folder);
/// Removes a folder, set aside first: a process that is killed meanwhile leaves no part of it under its name.
void remove_whole(const std::string& folder);

}  // namespace thtrain
