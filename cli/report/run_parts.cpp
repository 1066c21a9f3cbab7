#include "cli/report/run_parts.h"

#include <algorithm>
#include <filesystem>

#include "cli/runs_table.h"
#include "cli/text.h"
#include "compiler/base/file.h"
#include "trainers/experiment.h"
#include "trainers/metrics_file.h"

namespace thtrain {

namespace {

std::string number_or_zero(const std::map<std::string, std::string>& values, const std::string& key) {
  auto found = values.find(key);
  return found == values.end() ? "0" : found->second;
}

double real(const std::map<std::string, std::string>& values, const std::string& key) {
  return std::atof(number_or_zero(values, key).c_str());
}

// profile/profile.json (reports/profile_report.h) as a table.
std::optional<ReportTable> profile_of(const std::string& folder) {
  const std::string path = folder + "/profile/profile.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const std::map<std::string, std::string> values = read_json(read_file(path), path);
  const double calls = std::max(1.0, real(values, "calls")), all = real(values, "seconds_in_steps");
  ReportTable out{.title = str("the profile of the training step: ", json_fixed(1e6 * all / calls, 1),
                               " microseconds a call, ", number_or_zero(values, "threads"), " threads"),
                  .rows = {{"step", "layer", "role", "code", "microseconds", "share (%)", "GFLOP/s", "GB/s",
                            "of the ceiling (%)"}}};
  for (size_t i = 0; values.contains(str("steps.", i, ".code")); ++i) {
    auto key = [&](const char* name) { return str("steps.", i, ".", name); };
    auto text = [&](const char* name) { return values.contains(key(name)) ? values.at(key(name)) : std::string("-"); };
    const double seconds = real(values, key("seconds")), each = seconds / std::max(1.0, real(values, key("calls")));
    auto rate = [&](const char* name) { return each > 0 ? json_fixed(real(values, key(name)) / each / 1e9, 2) : "-"; };
    out.rows.push_back(
        {text("step"), text("layer"), text("role"), text("code"), json_fixed(1e6 * each, 2),
         json_fixed(all > 0 ? 100 * seconds / all : 0, 1), rate("flops"), rate("bytes"),
         values.contains(key("of_ceiling")) ? json_fixed(100 * real(values, key("of_ceiling")), 0) : "-"});
  }
  return out;
}

}  // namespace

ReportRun report_of_run(const NamedRun& run) {
  const RunRecord& record = run.record;
  ReportRun out{.name = run.name, .folder = record.folder};
  auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out.facts.emplace_back(name, value);
  };
  const std::string label = metric_label(record.metric.name);
  if (record.best)
    add(str("best validation ", label),
        str(metric_text(record.metric, *record.best), " (epoch ", record.best_epoch, ')'));
  if (record.test) add(str("test ", label), metric_text(record.metric, *record.test));
  if (record.train_loss) add("training loss", loss_text(*record.train_loss));
  add("epochs", std::to_string(record.epochs));
  add("phase", record.phase);
  add("time of training", seconds_text(record.seconds));
  add("how it ended", text_of(record.end));
  add("began", utc_text(record.started));
  add("experiment", record.config);
  out.note = record.end == RunEnd::kRunning ? "The run goes on." : record.why.empty() ? record.trouble : record.why;
  out.config = read_file(record.folder + "/config.toml");
  if (std::optional<ReportTable> profile = profile_of(record.folder)) out.tables.push_back(std::move(*profile));
  return out;
}

ReportCurves curves_of_run(const NamedRun& run) {
  RunSeries series = read_series(run.record.folder);
  ReportCurves out{.name = run.name, .values = std::move(series.values), .phases = std::move(series.phases)};
  if (!run.record.best) return out;
  const double before = out.phases.empty() ? 0 : out.phases.back().first - 0.5;
  out.best = {before + static_cast<double>(run.record.best_epoch), *run.record.best};
  return out;
}

std::vector<ReportMeasure> measures_of(const std::vector<NamedRun>& runs, const std::vector<ReportCurves>& curves) {
  std::vector<ReportMeasure> out;
  auto add = [&](const std::string& name, const std::string& unit, bool is_main) {
    for (const ReportMeasure& measure : out)
      if (measure.name == name) return;
    out.push_back({str(metric_label(name), unit.empty() ? "" : str(" (", unit, ")")), name, is_main});
  };
  if (!runs.empty()) add(runs[0].record.metric.name, runs[0].record.metric.unit, true);
  add("loss", "", false);
  for (const NamedRun& run : runs) add(run.record.metric.name, run.record.metric.unit, false);
  std::vector<std::string> last;
  for (const ReportCurves& of_run : curves)
    for (const auto& [key, values] : of_run.values) {
      const size_t end = key.find('_');
      const std::string set = key.substr(0, end);
      if (set == "train" || set == "valid" || set == "test")
        add(key.substr(end + 1), "", false);
      else
        last.push_back(key);
    }
  for (const std::string& key : last) add(key, "", false);
  std::erase_if(out, [&](const ReportMeasure& measure) {
    return std::none_of(curves.begin(), curves.end(), [&](const ReportCurves& of_run) {
      for (const char* set : {"", "train_", "valid_", "test_"})
        if (auto found = of_run.values.find(set + measure.name); found != of_run.values.end() && !found->second.empty())
          return true;
      return false;
    });
  });
  return out;
}

}  // namespace thtrain
