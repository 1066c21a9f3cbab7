#include "trainers/stale_files.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <vector>

#include "compiler/base/str.h"
#include "trainers/run_lock.h"

namespace thtrain {

namespace fs = std::filesystem;

constexpr std::string_view kNew = ".thtrain-new-";
constexpr std::string_view kTemporary = ".tmp-";  // of AtomicFile

// Two numbers: the process and its count.
static bool are_numbers(std::string_view text) {
  size_t dash = text.find('-');
  auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) && is_number(text.substr(dash + 1));
}

// The paths in `folder` whose names `wanted` takes; none where it cannot be read.
static std::vector<fs::path> entries(const fs::path& folder, const std::function<bool(std::string_view)>& wanted) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (wanted(at->path().filename().native())) out.push_back(at->path());
  return out;
}

// Those whose names a phase or a step has a part in.
static bool is_one_of_several(std::string_view name) {
  const bool is_best = name.starts_with("best_"), is_step = name.find("step_") != std::string_view::npos,
             are_filters = name.find("filters_at_epoch_") != std::string_view::npos;
  return ((is_best || is_step) && name.ends_with(".npz")) ||
         ((are_filters || name.ends_with("samples.png")) && name.ends_with(".png"));
}

bool is_unfinished_file(std::string_view name) {
  const size_t mark = name.rfind(kTemporary);
  if (mark == std::string_view::npos || !are_numbers(name.substr(mark + kTemporary.size()))) return false;
  const std::string_view file = name.substr(0, mark);
  if (is_one_of_several(file)) return true;
  for (std::string_view known :
       {"config.toml", "run.json", "table.json", "metrics.jsonl", "checkpoint.npz", "best.npz", "learning_curves.png",
        "learning_curves.svg", "profile.json", "trace.json", "sweep.json", "sweep.csv"})
    if (file == known) return true;
  return false;
}

void remove_stale_files(const std::string& run_folder) {
  for (const char* folder : {"", "plots", "profile", "checkpoints"})
    for (const fs::path& path : entries(fs::path(run_folder) / folder, is_unfinished_file)) ::unlink(path.c_str());
  remove_stale_pictures(run_folder + "/plots");
}

// The number of a process, and what follows it.
static bool is_process_gone(const std::string& numbers) {
  const auto process = static_cast<pid_t>(std::strtol(numbers.c_str(), nullptr, 10));
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

void remove_stale_pictures(const std::string& folder) {
  auto is_stale = [](std::string_view name) {
    const size_t mark = name.rfind(kTemporary);
    if (mark == std::string_view::npos) return false;
    const std::string_view file = name.substr(0, mark), numbers = name.substr(mark + kTemporary.size());
    return (file.ends_with(".png") || file.ends_with(".svg")) && are_numbers(numbers) &&
           is_process_gone(std::string(numbers));
  };
  for (const fs::path& path : entries(folder, is_stale)) ::unlink(path.c_str());
}

std::string new_folder_name(const std::string& parent) {
  static std::atomic<int> counter{0};
  return str(parent, '/', kNew, ::getpid(), '-', counter++);
}

std::string set_aside(const std::string& folder) {
  const std::string parent = fs::path(folder).parent_path().string();
  const std::string aside = new_folder_name(parent.empty() ? "." : parent);
  return ::rename(folder.c_str(), aside.c_str()) == 0 ? aside : folder;
}

void remove_whole(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(set_aside(folder), ignored);
}

// A process of another machine, or one of another user, is told by the lock that it holds.
static bool is_abandoned(const fs::path& folder) {
  return is_process_gone(folder.filename().native().substr(kNew.size())) && !is_locked(folder.native());
}

void remove_stale_folders(const std::string& parent) {
  auto is_new = [](std::string_view name) { return name.starts_with(kNew) && are_numbers(name.substr(kNew.size())); };
  std::error_code ignored;
  for (const fs::path& folder : entries(parent, is_new))
    if (is_abandoned(folder)) fs::remove_all(folder, ignored);
}

}  // namespace thtrain
