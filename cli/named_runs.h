// Runs as a command line names them: their folders, and those of sweeps, which name their runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/folder.h"
#include "trainers/run_record.h"

namespace thtrain {

/// A folder that was named, without slashes at its end.
struct NamedFolder {
  std::string path;
  std::optional<SweepFolder> sweep = {};  // where it is that of a sweep
};
/// A sweep's folder of logs, which `sweep/*/` names too, is passed over. UserError where a sweep cannot be read.
std::vector<NamedFolder> named_folders(const std::vector<std::string>& words);
/// Each folder, and for that of a sweep those of its runs that were begun.
std::vector<std::string> folders_of_runs(const std::vector<std::string>& words);

struct NamedRun {
  std::string name;  // of its folder; the whole path where two have one name
  RunRecord record;
};
/// UserError as read_run(), and where one is given twice: `command` is "thtrain compare".
std::vector<NamedRun> read_runs(const std::string& command, const std::vector<std::string>& folders);
/// The names of these runs.
void name_runs(std::vector<NamedRun>& runs);

}  // namespace thtrain
