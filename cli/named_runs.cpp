#include "cli/named_runs.h"

#include <filesystem>
#include <set>

#include "compiler/base/file.h"

namespace thtrain {

namespace fs = std::filesystem;

std::vector<NamedFolder> named_folders(const std::vector<std::string>& words) {
  std::vector<NamedFolder> out;
  for (std::string folder : words) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    const fs::path path(folder);
    if (path.filename() == "logs" && SweepFolder::is_at((path.parent_path() / ".").string())) continue;
    NamedFolder& named = out.emplace_back(NamedFolder{.path = folder});
    if (SweepFolder::is_at(folder)) named.sweep = SweepFolder::open(folder);
  }
  return out;
}

std::vector<std::string> folders_of_runs(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const NamedFolder& named : named_folders(words)) {
    if (!named.sweep) {
      out.push_back(named.path);
      continue;
    }
    std::error_code error;
    for (const std::string& name : named.sweep->facts().runs)
      if (fs::exists(named.sweep->run(name) + "/run.json", error)) out.push_back(named.sweep->run(name));
  }
  return out;
}

std::vector<NamedRun> read_runs(const std::string& command, const std::vector<std::string>& folders) {
  std::vector<NamedRun> out;
  for (const std::string& folder : folders) {
    for (const NamedRun& other : out)
      if (is_same_file(other.record.folder, folder))
        throw UserError(Message{.what = str(command, ": ", folder, " is given twice"),
                                .expected = "different runs",
                                .got = str(other.record.folder, ", ", folder)});
    out.emplace_back().record = read_run(folder);
  }
  name_runs(out);
  return out;
}

void name_runs(std::vector<NamedRun>& runs) {
  std::set<std::string> names;
  for (NamedRun& run : runs) {
    run.name = fs::path(run.record.folder).filename().string();
    names.insert(run.name);
  }
  if (names.size() < runs.size())
    for (NamedRun& run : runs) run.name = run.record.folder;
}

}  // namespace thtrain
