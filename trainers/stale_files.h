// What killed processes left behind beside and in run folders.
#pragma once

#include <string>

namespace thtrain {

/// Removes the unfinished files in a run folder: "checkpoint.npz.tmp-1234-0" and the like, of the names that a run
/// writes. Nobody else may be writing to it: the caller holds its lock.
void remove_stale_files(const std::string& run_folder);

/// The name under which a run folder is made in `parent`, before it is renamed: ".thtrain-new-1234-0".
std::string new_folder_name(const std::string& parent);
/// Removes such folders in `parent` whose process is gone.
void remove_stale_folders(const std::string& parent);

}  // namespace thtrain
