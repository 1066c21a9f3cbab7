#include "trainers/run/events.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "compiler/base/file.h"
#include "trainers/run/plots.h"

namespace thtrain {

namespace fs = std::filesystem;

// Epochs of all phases in a row, from 1: the lines of metrics.jsonl.
int64_t RunEvents::step() const {
  int64_t out = training_.state.reported();
  for (const PhaseHistory& phase : training_.start.before) out += phase.earlier.count + std::ssize(phase.epochs);
  return out;
}

// "pretrain/loss/train" in a phase.
std::string RunEvents::tag(const std::string& name) const {
  return training_.phase.empty() ? name : str(training_.phase, '/', name);
}

void RunEvents::begin(bool was_resumed) {
  if (!training_.experiment.output.tensorboard) return;
  const int64_t next = step() + 1;
  events_ = std::make_unique<EventFile>(context_.folder.path(), next);
  if (training_.start.before.empty() || was_resumed)
    events_->text("config", next, str("```toml\n", context_.config, "```\n"));
}

void RunEvents::write_epoch_events() {
  if (!events_) return;
  write_values(training_.state.history.back());
  write_weights();
}

void RunEvents::write_values(const EpochReport& report) {
  const MetricNames& names = training_.program.metric_names();
  std::set<std::string> written;
  auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value && written.insert(name).second) events_->scalar(tag(name), step(), *value);
  };
  add("loss/train", report.train_loss);
  add("loss/valid", report.valid_loss);
  auto add_metric = [&](const MetricName& metric, const std::optional<double>& train,
                        const std::optional<double>& valid, const std::optional<double>& test) {
    add(metric.name + "/train", train);
    add(metric.name + "/valid", valid);
    add(metric.name + "/test", test);
  };
  add_metric(names.at(0), report.train_error, report.valid_error, report.test_error);
  for (size_t i = 0; i < report.others.size(); ++i)
    add_metric(names.at(i + 1), report.others[i].train, report.others[i].valid, report.others[i].test);
  add("learning_rate", report.learning_rate);
  if (report.evaluations) add("evaluations", static_cast<double>(*report.evaluations));
  add("seconds", report.seconds);
}

void RunEvents::write_weights() {
  for (const auto& [name, array] : training_.weight_arrays()) {
    if (!is_float(array.dtype()) || array.size() == 0) continue;
    std::vector<double> values(static_cast<size_t>(array.size()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = array.as_double(static_cast<int64_t>(i));
    const bool are_finite = std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
    if (are_finite) events_->histogram(tag(name), step(), histogram_of(values));
  }
}

// Of the filters, which are drawn after each epoch, the last ones.
void RunEvents::write_picture_events() {
  if (!events_) return;
  const std::vector<EpochReport>& history = training_.state.history;
  std::vector<fs::path> pictures;
  std::error_code error;
  const std::string filters = "filters_at_epoch_", last = history.empty() ? "" : filters_name(history.back().epoch);
  for (fs::directory_iterator at(context_.folder.file("plots"), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().stem().string();
    const size_t mark = name.find(filters);
    const bool is_last = mark == std::string::npos || history.empty() || name.substr(mark) == last;
    if (at->path().extension() == ".png" && is_last) pictures.push_back(at->path());
  }
  std::sort(pictures.begin(), pictures.end());
  for (const fs::path& path : pictures) {
    std::string name = path.stem().string();
    if (const size_t mark = name.find(filters); mark != std::string::npos) name = name.substr(0, mark) + "filters";
    events_->picture("plots/" + name, step() + 1, read_file(path.string()));
  }
}

}  // namespace thtrain
