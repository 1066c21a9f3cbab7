#include "trainers/run_record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "compiler/base/system_error.h"
#include "datasets/file.h"
#include "nn/metric.h"
#include "reports/json.h"
#include "trainers/checkpoint.h"
#include "trainers/config_edits.h"
#include "trainers/run_folder.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

std::optional<double> number_of(const std::string& text) {
  double out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

// A line of metrics.jsonl.
struct Line {
  std::string phase = {};
  int64_t epoch = 0;
  std::map<std::string, std::string> values = {};

  std::optional<double> value(const std::string& key) const {
    auto found = values.find(key);
    return found == values.end() ? std::nullopt : number_of(found->second);
  }
};

// What stands behind the last line end is still being written, or was when the process was killed.
std::vector<Line> read_lines(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const std::string text = read_file(path);
  std::vector<Line> out;
  for (size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string source = str(path, ", line ", out.size() + 1);
    Line line;
    line.values = read_json(std::string_view(text).substr(start, end - start), source);
    const std::optional<double> epoch = line.value("epoch");
    if (!epoch || !line.value("seconds") || !line.values.contains("train_loss") || !(*epoch >= 1 && *epoch < 1e15))
      throw UserError(Message{.what = str(source, ": this is not what a run writes"),
                              .expected = "an object with epoch, train_loss and seconds",
                              .got = text.substr(start, std::min<size_t>(end - start, 80))});
    line.epoch = static_cast<int64_t>(*epoch);
    line.phase = line.values["phase"];
    out.push_back(std::move(line));
  }
  return out;
}

// Of runs whose run.json does not say it.
bool is_larger_better(const std::string& metric) {
  for (const Kind<MetricOptions>& kind : MetricOptions::kinds())
    if (kind.name == metric) return kind.make()->make()->better() == Metric::Better::kLarger;
  return false;
}

int64_t changed_at(const std::string& path) {
  const FileState state = file_state(path);
  return state.modified_seconds;
}

class RecordReader {
 public:
  explicit RecordReader(const std::string& path) : folder_(RunFolder::open(path)) {
    const RunFacts& facts = folder_.facts();
    out_.folder = path;
    out_.config_file = facts.config_file;
    out_.command_line = facts.command_line;
    out_.config = fs::path(facts.config_file).stem().string();
    if (out_.config.empty()) out_.config = facts.config_file;
  }

  RunRecord read() {
    // Before the files: what another process writes meanwhile is still that of a running run.
    const bool is_running = is_locked(folder_.path());
    if (folder_.has_checkpoint()) checkpoint_ = read_progress(folder_.checkpoint());
    lines_ = read_lines(folder_.metrics());
    take_metric();
    take_checkpoint();
    take_lines();
    take_times(is_running);
    out_.end = end(is_running);
    if (!is_running) out_.trouble = trouble();
    if (out_.end == RunEnd::kFailed || out_.end == RunEnd::kNonFinite) out_.why = folder_.facts().why;
    return std::move(out_);
  }

 private:
  void take_metric() {
    if (folder_.facts().metric) {
      out_.metric = *folder_.facts().metric;
    } else if (checkpoint_) {
      out_.metric = checkpoint_->metrics.at(0);
      out_.metric.larger_is_better = is_larger_better(out_.metric.name);
    }
  }

  void take_checkpoint() {
    if (!checkpoint_) return;
    const RunState& state = checkpoint_->state;
    out_.epochs = state.epochs;
    if (state.monitor.best_epoch > 0) {
      out_.best = state.monitor.best_error;
      out_.best_epoch = state.monitor.best_epoch;
    }
    out_.test = state.best_test_error;
    if (!state.history.empty()) out_.train_loss = state.history.back().train_loss;
    for (const PhaseHistory& phase : checkpoint_->before) out_.seconds += seconds_of(phase.epochs);
    out_.seconds += seconds_of(state.history);
    if (state.history.size() <= static_cast<size_t>(state.epochs)) out_.seconds += state.report.seconds;
    phase_at_ = checkpoint_->before.size();
  }

  static double seconds_of(const std::vector<EpochReport>& epochs) {
    double out = 0;
    for (const EpochReport& epoch : epochs) out += epoch.seconds;
    return out;
  }

  // Those behind the checkpoint.
  void take_lines() {
    std::vector<std::string> phases;
    for (const Line& line : lines_)
      if (std::find(phases.begin(), phases.end(), line.phase) == phases.end()) phases.push_back(line.phase);
    const size_t known = known_epochs();
    if (checkpoint_ && checkpoint_->phase)
      out_.phase = config_value(checkpoint_->config, str("phase.", phase_at_, ".name")).value_or("");
    if (out_.phase.size() > 2) out_.phase = out_.phase.substr(1, out_.phase.size() - 2);  // without its quotes
    bool is_first = true;
    for (size_t i = known; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      out_.seconds += line.value("seconds").value_or(0);
      if (is_first && checkpoint_) out_.seconds -= unfinished_seconds();
      is_first = false;
      if (line.phase != out_.phase) begin_phase(line.phase);
      out_.epochs = line.epoch;
      out_.train_loss = line.value("train_loss");
      take_value(line);
    }
  }

  // That the checkpoint has, in all phases.
  size_t known_epochs() const {
    size_t out = checkpoint_ ? checkpoint_->state.history.size() : 0;
    if (checkpoint_)
      for (const PhaseHistory& phase : checkpoint_->before) out += phase.epochs.size();
    return out;
  }

  // The first of what no run leaves behind.
  std::string trouble() const {
    const std::string config = read_file(folder_.config());
    const bool is_cut = checkpoint_
                            ? config.size() < checkpoint_->config.size() && checkpoint_->config.starts_with(config)
                            : !config.ends_with('\n');
    if (config.empty()) return "config.toml is empty";
    if (is_cut) return "config.toml is cut off";
    for (size_t i = 1; i < lines_.size(); ++i)
      if (lines_[i].phase == lines_[i - 1].phase && lines_[i].epoch <= lines_[i - 1].epoch)
        return str("metrics.jsonl, line ", i + 1, ": epoch ", lines_[i].epoch, " behind epoch ", lines_[i - 1].epoch);
    const size_t known = known_epochs();
    const bool has_none = lines_.empty() && !checkpoint_ && out_.end == RunEnd::kFinished;
    if (!is_over(out_.end) || (lines_.size() >= known && !has_none)) return "";
    std::error_code error;
    if (!fs::exists(folder_.metrics(), error)) return "metrics.jsonl is missing";
    if (lines_.empty()) return "metrics.jsonl is empty";
    return str("metrics.jsonl has ", lines_.size(), " of ", known, " epochs");
  }

  // Of the epoch that the checkpoint was written in: its line has them, too.
  double unfinished_seconds() const {
    const RunState& state = checkpoint_->state;
    return state.history.size() <= static_cast<size_t>(state.epochs) ? state.report.seconds : 0;
  }

  void begin_phase(const std::string& phase) {
    out_.phase = phase;
    out_.best.reset();
    out_.test.reset();
    out_.best_epoch = 0;
  }

  void take_value(const Line& line) {
    const std::optional<double> value = line.value("valid_" + out_.metric.name);
    if (!value || (out_.best && !is_better(out_.metric, *value, *out_.best))) return;
    out_.best = value;
    out_.best_epoch = line.epoch;
    out_.test = line.value("test_" + out_.metric.name);
  }

  void take_times(bool is_running) {
    const RunFacts& facts = folder_.facts();
    out_.started = facts.started.value_or(changed_at(folder_.config()));
    if (is_running) return;
    if (facts.ended) {
      out_.ended = facts.ended;
      return;
    }
    int64_t last = changed_at(folder_.facts_file());
    for (const std::string& path : {folder_.metrics(), folder_.checkpoint()}) last = std::max(last, changed_at(path));
    out_.ended = last;
  }

  RunEnd end(bool is_running) const {
    if (is_running) return RunEnd::kRunning;
    if (std::optional<RunEnd> end = folder_.facts().end) return *end == RunEnd::kRunning ? RunEnd::kKilled : *end;
    if (!checkpoint_) return RunEnd::kUnfinished;
    const RunState& state = checkpoint_->state;
    const bool is_last = !checkpoint_->phase || !phase_value(*checkpoint_->phase + 1, "name");
    if (!is_last) return RunEnd::kUnfinished;
    if (state.out_of_time) return RunEnd::kMaxSeconds;
    if (state.stopped_early) return RunEnd::kPatience;
    const std::optional<std::string> epochs = checkpoint_->phase ? phase_value(*checkpoint_->phase, "trainer.epochs")
                                                                 : config_value(checkpoint_->config, "trainer.epochs");
    const bool is_finished =
        epochs && static_cast<double>(state.epochs) >= number_of(*epochs).value_or(HUGE_VAL) && state.batch == 0;
    return is_finished ? RunEnd::kFinished : RunEnd::kUnfinished;
  }

  std::optional<std::string> phase_value(int64_t phase, const char* key) const {
    return config_value(checkpoint_->config, str("phase.", phase, '.', key));
  }

  RunFolder folder_;
  RunRecord out_;
  std::optional<Checkpoint> checkpoint_;
  std::vector<Line> lines_;
  size_t phase_at_ = 0;
};

bool is_run_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "config.toml", ignored) || fs::exists(path / "run.json", ignored);
}

void add_run_folders(const fs::path& folder, std::vector<std::string>& out, std::error_code& error) {
  if (is_run_folder(folder)) return out.push_back(folder.string());
  std::vector<fs::path> inner;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored) && !at->path().filename().string().starts_with('.'))
      inner.push_back(at->path());
  }
  std::sort(inner.begin(), inner.end());
  std::error_code ignored;  // of one that may not be read, nothing can be said
  for (const fs::path& path : inner) add_run_folders(path, out, ignored);
}

}  // namespace

RunRecord read_run(const std::string& folder) {
  return RecordReader(folder).read();
}

RunCurves read_curves(const std::string& folder, const std::string& metric) {
  RunCurves out;
  double epoch = 0;
  for (const Line& line : read_lines(RunFolder::open(folder).metrics())) {
    ++epoch;
    if (const auto value = line.value("valid_" + metric)) out.valid.emplace_back(epoch, *value);
    if (const auto value = line.value("train_" + metric)) out.train.emplace_back(epoch, *value);
  }
  return out;
}

std::vector<std::string> run_folders(const std::string& root) {
  std::error_code error;
  std::vector<std::string> out;
  const fs::file_status status = fs::status(root, error);
  if (status.type() == fs::file_type::not_found)
    throw UserError(Message{.what = str(root, ": there is no such folder"), .expected = "a folder of runs"});
  if (!error && !fs::is_directory(status))
    throw UserError(Message{.what = str(root, ": this is no folder"), .expected = "a folder of runs"});
  if (!error) add_run_folders(root, out, error);
  if (error) throw file_error(root, "the folder cannot be read", {}, system_error_text(error.value()));
  return out;
}

bool is_better(const MetricName& metric, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return metric.larger_is_better ? a > b : a < b;
}

}  // namespace thtrain
