#include "trainers/run_record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "nn/metric.h"
#include "trainers/checkpoint.h"
#include "trainers/config_edits.h"
#include "trainers/metrics_file.h"
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
    take_metric();
    take_checkpoint();
    known_ = known_epochs();
    for_each_line(folder_.metrics(), [this](const MetricsLine& line) { take(line); });
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
    out_.seconds = training_seconds(checkpoint_->before, state);
    phase_at_ = checkpoint_->before.size();
    if (checkpoint_->phase)
      out_.phase = config_value(checkpoint_->config, str("phase.", phase_at_, ".name")).value_or("");
    if (out_.phase.size() > 2) out_.phase = out_.phase.substr(1, out_.phase.size() - 2);  // without its quotes
  }

  void take(const MetricsLine& line) {
    ++lines_;
    if (out_of_order_.empty() && line.phase == last_phase_ && line.epoch <= last_epoch_)
      out_of_order_ = str("metrics.jsonl, line ", lines_, ": epoch ", line.epoch, " behind epoch ", last_epoch_);
    last_phase_ = line.phase;
    last_epoch_ = line.epoch;
    if (lines_ > known_) take_behind_checkpoint(line);
  }

  void take_behind_checkpoint(const MetricsLine& line) {
    out_.seconds += line.value("seconds").value_or(0);
    if (lines_ == known_ + 1 && checkpoint_) out_.seconds -= unfinished_seconds();
    if (line.phase != out_.phase) begin_phase(line.phase);
    out_.epochs = line.epoch;
    out_.train_loss = line.value("train_loss");
    take_value(line);
  }

  // That the checkpoint has, in all phases.
  int64_t known_epochs() const {
    int64_t out = checkpoint_ ? checkpoint_->state.reported() : 0;
    if (checkpoint_)
      for (const PhaseHistory& phase : checkpoint_->before) out += phase.earlier.count + std::ssize(phase.epochs);
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
    if (!out_of_order_.empty()) return out_of_order_;
    const bool has_none = lines_ == 0 && !checkpoint_ && out_.end == RunEnd::kFinished;
    if (!is_over(out_.end) || (lines_ >= known_ && !has_none)) return "";
    std::error_code error;
    if (!fs::exists(folder_.metrics(), error)) return "metrics.jsonl is missing";
    if (lines_ == 0) return "metrics.jsonl is empty";
    return str("metrics.jsonl has ", lines_, " of ", known_, " epochs");
  }

  // Of the epoch that the checkpoint was written in: its line has them, too.
  double unfinished_seconds() const {
    const RunState& state = checkpoint_->state;
    return state.reported() <= state.epochs ? state.report.seconds : 0;
  }

  void begin_phase(const std::string& phase) {
    out_.phase = phase;
    out_.best.reset();
    out_.test.reset();
    out_.best_epoch = 0;
  }

  void take_value(const MetricsLine& line) {
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
  int64_t lines_ = 0, known_ = 0;  // of metrics.jsonl; of them those that the checkpoint knows
  std::string last_phase_ = {}, out_of_order_ = {};
  int64_t last_epoch_ = 0;
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

std::vector<std::string> run_folders(const std::string& root) {
  std::error_code error;
  std::vector<std::string> out;
  const fs::file_status status = fs::status(root, error);
  if (status.type() == fs::file_type::not_found)
    throw UserError(Message{.what = str(root, ": there is no such folder"), .expected = "a folder of runs"});
  if (!error && !fs::is_directory(status))
    throw UserError(Message{.what = str(root, ": this is no folder"), .expected = "a folder of runs"});
  if (!error) add_run_folders(root, out, error);
  if (error)
    throw file_error(root, "the folder cannot be read", "a folder that this user may read",
                     system_error_text(error.value()));
  return out;
}

bool is_better(const MetricName& metric, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return metric.larger_is_better ? a > b : a < b;
}

}  // namespace thtrain
