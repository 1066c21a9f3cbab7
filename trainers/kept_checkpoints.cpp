#include "trainers/kept_checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/system_error.h"

namespace thtrain {

namespace fs = std::filesystem;

std::string KeptCheckpoint::file_name() const {
  const std::string prefix = phase_name.empty() ? "" : str(phase + 1, '_', phase_name, '_');
  return str(prefix, "step_", step, ".npz");
}

// A number that begins `text`, which loses it.
static std::optional<int64_t> take_number(std::string_view& text) {
  int64_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 0) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

// The phase and the step in the name of a file; none where it is no kept checkpoint.
static std::optional<std::pair<int64_t, int64_t>> phase_and_step(const std::string& name) {
  std::string_view text = name;
  int64_t phase = 0;
  if (!text.starts_with("step_")) {
    std::optional<int64_t> number = take_number(text);
    const size_t step = text.rfind("_step_");
    if (!number || step == std::string_view::npos) return {};
    phase = *number - 1;
    text.remove_prefix(step + 1);
  }
  text.remove_prefix(5);
  std::optional<int64_t> step = take_number(text);
  if (!step || text != ".npz") return {};
  return std::pair(phase, *step);
}

void set_aside_checkpoint(const RunFolder& folder, const KeptCheckpoint& last, int64_t keep) {
  if (keep < 2 || !folder.has_checkpoint()) return;
  const std::string kept = folder.kept_checkpoints(), path = str(kept, '/', last.file_name());
  std::error_code error;
  fs::create_directory(kept, error);  // not the run's, where that was removed
  if (error) throw folder_error(kept, error.value());
  // A second name for the file, which stays when the first one gets another. Not every file system has such names.
  ::unlink(path.c_str());
  if (::link(folder.checkpoint().c_str(), path.c_str()) == 0) return;
  AtomicFile copy(path);
  copy.write(read_file(folder.checkpoint()));
  copy.commit();
}

void remove_kept_checkpoints(const RunFolder& folder, const KeptCheckpoint& now, int64_t keep) {
  std::error_code error;
  std::vector<std::pair<std::pair<int64_t, int64_t>, fs::path>> found;
  for (fs::directory_iterator at(folder.kept_checkpoints(), error), end; !error && at != end; at.increment(error))
    if (auto number = phase_and_step(at->path().filename().string())) found.emplace_back(*number, at->path());
  std::sort(found.begin(), found.end());
  const std::pair<int64_t, int64_t> here(now.phase, now.step);
  while (!found.empty() && found.back().first >= here) {
    fs::remove(found.back().second, error);
    found.pop_back();
  }
  for (size_t i = 0; static_cast<int64_t>(found.size() - i) > keep - 1; ++i) fs::remove(found[i].second, error);
}

}  // namespace thtrain
