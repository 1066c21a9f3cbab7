#include "cli/report/run_pictures.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "cli/load_experiment.h"
#include "cli/show_run.h"
#include "compiler/base/str.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

// A folder under the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "thtrain-report-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw folder_error(path_, errno);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ReportPicture picture_at(const std::string& path, const std::string& what) {
  return {what, path.ends_with(".svg") ? "image/svg+xml" : "image/png", read_file(path)};
}

// The page has curves of its own.
bool is_curves(std::string_view text) {
  return text.starts_with("learning curves") || text.starts_with("learning_curves") ||
         text.find("_learning_curves") != std::string_view::npos;
}

// What a reader asks for first.
bool is_of_mistakes(const ShowReport::File& file) {
  return std::ranges::any_of(std::array{"confusion", "ranking", "mistakes", "predictions", "reconstructions"},
                             [&](const char* name) { return file.name.find(name) != std::string::npos; });
}

ReportRun drawn_part(const std::string& folder) {
  ReportRun out;
  const TemporaryFolder location;
  try {
    const ShownFolder shown = show_run(load_run_to_use(folder, {}), "", "", {}, location.path());
    std::vector<ShowReport::File> files = shown.report.files;
    std::stable_partition(files.begin(), files.end(),
                          [](const ShowReport::File& file) { return is_of_mistakes(file); });
    for (const ShowReport::File& file : files)
      if (!is_curves(file.name)) out.pictures.push_back(picture_at(file.path, file.what));
    for (const ShowReport::Table& table : shown.report.tables) out.tables.push_back({table.title, table.rows});
    for (const std::string& line : shown.report.left_out)
      if (!is_curves(line)) out.left_out.push_back(line);
  } catch (const UserError& error) {
    out.left_out.push_back(str("pictures: ", error.messages().front().what));
  }
  return out;
}

// "pretrain_filters_at_epoch_0012.png" -> "pretrain_filters", 12
std::optional<std::pair<std::string, int64_t>> filters_of(const std::string& name) {
  const size_t at = name.find("filters_at_epoch_");
  if (at == std::string::npos || !name.ends_with(".png")) return {};
  const std::string digits = name.substr(at + 17, name.size() - at - 17 - 4);
  int64_t epoch = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), epoch);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return std::pair(name.substr(0, at + 7), epoch);
}

// What [output] names, in the run's folder.
void add_pictures_of_training(ReportRun& out, const std::string& folder) {
  std::map<std::string, std::map<int64_t, std::string>> filters;
  std::vector<std::pair<std::string, std::string>> others;
  std::error_code error;
  for (fs::directory_iterator at(folder + "/plots", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (const auto found = filters_of(name)) filters[found->first][found->second] = at->path().string();
    if (name.ends_with("augmented.png"))
      others.emplace_back(at->path().string(), "training images, and augmented ones");
    if (name.ends_with("samples.png")) others.emplace_back(at->path().string(), "what the model draws by itself");
  }
  std::sort(others.begin(), others.end());
  for (const auto& [path, what] : others) out.pictures.push_back(picture_at(path, what));
  constexpr size_t kMost = 24;
  for (const auto& [title, epochs] : filters) {
    std::vector<std::pair<int64_t, std::string>> all(epochs.begin(), epochs.end());
    ReportSeries series{.title = "the weights of a layer after each epoch", .pictures = {}};
    const size_t count = std::min(all.size(), kMost);
    for (size_t i = 0; i < count; ++i) {
      const auto& [epoch, path] = all[count > 1 ? i * (all.size() - 1) / (count - 1) : 0];
      series.pictures.emplace_back(str("epoch ", epoch), picture_at(path, str("weights after epoch ", epoch)));
    }
    out.series.push_back(std::move(series));
  }
}

}  // namespace

void RunPictures::add_to(ReportRun& report, const RunRecord& run, bool is_running) {
  add_pictures_of_training(report, run.folder);
  if (is_running) {
    report.left_out.emplace_back("pictures of what the run has learned: they are drawn when it is over");
    return;
  }
  const std::string best = run.folder + "/best.npz";
  const FileState weights = file_state(fs::exists(best) ? best : run.folder + "/checkpoint.npz");
  Drawn& drawn = drawn_[run.folder];
  if (!(drawn.weights == weights) || weights == FileState{}) drawn = {weights, drawn_part(run.folder)};
  const ReportRun& part = drawn.part;
  report.pictures.insert(report.pictures.begin(), part.pictures.begin(), part.pictures.end());
  report.tables.insert(report.tables.end(), part.tables.begin(), part.tables.end());
  report.left_out.insert(report.left_out.end(), part.left_out.begin(), part.left_out.end());
}

}  // namespace thtrain
