#include "trainers/metrics_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "compiler/base/file.h"
#include "datasets/text_lines.h"
#include "reports/json.h"
#include "reports/thinned_epochs.h"
#include "trainers/run_folder.h"

namespace thtrain {

std::optional<double> MetricsLine::value(const std::string& key) const {
  auto found = values.find(key);
  if (found == values.end()) return {};
  const std::string& text = found->second;
  double out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

static MetricsLine parsed(std::string_view text, const std::string& source) {
  MetricsLine out;
  out.values = read_json(text, source);
  const std::optional<double> epoch = out.value("epoch");
  if (!epoch || !out.value("seconds") || !out.values.contains("train_loss") || !(*epoch >= 1 && *epoch < 1e15))
    throw UserError(Message{.what = str(source, ": this is not what a run writes"),
                            .expected = "an object with epoch, train_loss and seconds",
                            .got = std::string(text.substr(0, 80))});
  out.epoch = static_cast<int64_t>(*epoch);
  out.phase = out.values["phase"];
  return out;
}

void for_each_line(const std::string& path, const std::function<void(const MetricsLine&)>& take) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const InputFile file(path);
  TextLines lines(file);
  for (std::string_view line; lines.next(line);)
    if (lines.begin() + line.size() < file.size()) take(parsed(line, str(path, ", line ", lines.number())));
}

static EpochReport report_of(const MetricsLine& line, const MetricName& metric) {
  return {.epoch = line.epoch,
          .train_loss = line.value("train_loss").value_or(std::numeric_limits<double>::quiet_NaN()),
          .valid_error = line.value("valid_" + metric.name),
          .test_error = line.value("test_" + metric.name),
          .train_error = metric.name == "loss" ? std::nullopt : line.value("train_" + metric.name),
          .valid_loss = line.value("valid_loss"),
          .learning_rate = line.value("learning_rate")};
}

std::vector<PhaseHistory> histories_to_draw(const std::string& path, std::vector<PhaseHistory> phases,
                                            int64_t best_epoch) {
  std::map<std::string, ThinnedEpochs> thinned;
  std::map<std::string, const PhaseHistory*> long_ones;
  for (const PhaseHistory& phase : phases)
    if (phase.earlier.count > 0) long_ones[phase.phase] = &phase;
  if (long_ones.empty()) return phases;
  for_each_line(path, [&](const MetricsLine& line) {
    auto found = long_ones.find(line.phase);
    if (found == long_ones.end()) return;
    EpochReport report = report_of(line, found->second->metrics.at(0));
    report.best = line.phase == phases.back().phase && line.epoch == best_epoch;
    thinned[line.phase].add(std::move(report));
  });
  for (PhaseHistory& phase : phases)
    if (std::vector<EpochReport> epochs = thinned[phase.phase].take(); !epochs.empty())
      phase.epochs = std::move(epochs);
  return phases;
}

RunSeries read_series(const std::string& folder) {
  RunSeries out;
  std::vector<std::string> keys;  // a value of each is in EpochReport::others
  ThinnedEpochs thinned;
  int64_t epoch = 0;
  for_each_line(RunFolder::open(folder).metrics(), [&](const MetricsLine& line) {
    if (!line.phase.empty() && (out.phases.empty() || out.phases.back().second != line.phase))
      out.phases.emplace_back(static_cast<double>(epoch) + 0.5, line.phase);
    EpochReport report{.epoch = ++epoch};
    for (const auto& [key, text] : line.values) {
      const std::optional<double> value = line.value(key);
      if (!value || key == "epoch" || key == "seconds") continue;
      const auto at = static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (at == keys.size()) keys.push_back(key);
      report.others.resize(std::max(report.others.size(), at + 1));
      report.others[at].valid = value;
    }
    thinned.add(std::move(report));
  });
  for (const EpochReport& report : thinned.take())
    for (size_t k = 0; k < report.others.size(); ++k)
      if (report.others[k].valid)
        out.values[keys[k]].emplace_back(static_cast<double>(report.epoch), *report.others[k].valid);
  return out;
}

RunCurves read_curves(const std::string& folder, const std::string& metric) {
  RunSeries series = read_series(folder);
  return {.valid = std::move(series.values["valid_" + metric]), .train = std::move(series.values["train_" + metric])};
}

}  // namespace thtrain
