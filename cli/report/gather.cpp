#include "cli/report/gather.h"

#include <algorithm>
#include <set>

#include "cli/config_differences.h"
#include "cli/load_experiment.h"
#include "cli/report/run_parts.h"
#include "cli/runs_table.h"
#include "cli/sweep/results.h"
#include "cli/sweep/seeds.h"
#include "cli/text.h"
#include "reports/learning_curves.h"
#include "trainers/run_lock.h"

namespace thtrain {

namespace {

constexpr size_t kMostAxes = 8;

std::string number_text_of(const std::optional<double>& value) {
  return value ? json_number(*value) : "";
}

struct SweepPart {
  SweepFolder folder;
  SweepPoints points;
  std::vector<SweepRun> runs = {};
  size_t first = 0;                     // its first one among all runs
  std::vector<std::string> names = {};  // of sorted_runs(); "" of one that was not begun
};

SweepPart read_sweep(const SweepFolder& folder) {
  SweepPart out{.folder = folder, .points = SweepPoints(folder.facts().words, folder.facts().search)};
  const std::vector<std::string>& names = folder.facts().runs;
  for (size_t i = 0; i < names.size(); ++i) {
    SweepRun& run = out.runs.emplace_back(
        SweepRun{.point = static_cast<int64_t>(i), .name = names[i], .folder = folder.run(names[i])});
    read_record(run, out.points);
  }
  return out;
}

ReportGroup group_of(const SweepPart& sweep) {
  ReportGroup out{.title = "sweep " + run_title(sweep.folder.path())};
  const auto begun = std::count_if(sweep.runs.begin(), sweep.runs.end(), [](const SweepRun& r) { return r.record; });
  out.about =
      str(count_text(std::ssize(sweep.runs), "run"), ", ", begun, " begun; the details of the best one are below.");
  out.tables.push_back({"results", results_rows(sweep.points, sweep.runs), sweep.names});
  if (std::vector<std::vector<std::string>> seeds = seeds_rows(sweep.points, sweep.runs); !seeds.empty())
    out.tables.push_back({"over the seeds, mean and standard deviation (n - 1)", std::move(seeds)});
  const std::optional<MetricName> metric = common_metric(sweep.runs);
  if (!metric) return out;
  ReportPlot& plot = out.plot.emplace();
  for (const SweptKey& key : sweep.points.keys()) plot.axes.push_back(key.name);
  plot.axes.push_back("validation " + metric_label(metric->name));
  plot.larger_is_better = metric->larger_is_better;
  const std::vector<const SweepRun*> sorted = sorted_runs(sweep.runs);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (!sorted[i]->record) continue;
    plot.names.push_back(sweep.names[i]);
    plot.values.push_back(sweep.points.values(sorted[i]->point));
    plot.values.back().push_back(number_text_of(sorted[i]->record->best));
  }
  return out;
}

// A text without the quotes of TOML.
std::string plain(const std::string& value) {
  return value.size() > 1 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2)
         : value == "-"                                                  ? ""
                                                                         : value;
}

// Of runs that were named, not swept.
ReportGroup group_of(const std::vector<NamedRun>& runs) {
  ReportGroup out{.title = "comparison"};
  std::vector<RunRow> rows;
  std::vector<std::string> names;
  std::vector<ComparedConfig> configs;
  for (const NamedRun& run : runs) {
    rows.push_back({run.record});
    names.push_back(run.name);
    configs.push_back(compared_config(load_run(run.record.folder, {}).experiment));
  }
  out.tables.push_back({"results", runs_rows(rows), names});
  std::vector<std::vector<std::string>> differences = short_differences(configs);
  ReportPlot plot{.larger_is_better = runs[0].record.metric.larger_is_better, .names = names};
  plot.values.resize(runs.size());
  for (const std::vector<std::string>& row : differences) {
    // What all but one have no value of tells nothing there.
    if (plot.axes.size() == kMostAxes || std::count(row.begin() + 1, row.end(), "-") + 1 >= std::ssize(runs)) continue;
    plot.axes.push_back(row[0].substr(row[0].rfind('.') + 1));
    for (size_t i = 0; i < runs.size(); ++i) plot.values[i].push_back(plain(row[i + 1]));
  }
  plot.axes.push_back("validation " + metric_label(runs[0].record.metric.name));
  for (size_t i = 0; i < runs.size(); ++i)
    plot.values[i].push_back(runs[i].record.metric == runs[0].record.metric ? number_text_of(runs[i].record.best) : "");
  if (plot.axes.size() > 1) out.plot = std::move(plot);
  names.insert(names.begin(), "key");
  differences.insert(differences.begin(), names);
  out.tables.push_back({differences.size() > 1 ? "where their experiments differ" : "their experiments do not differ",
                        std::move(differences)});
  return out;
}

void add_curves(Report& report, const std::vector<NamedRun>& runs) {
  const std::vector<NamedRun> shown(runs.begin(),
                                    runs.begin() + static_cast<ptrdiff_t>(std::min(runs.size(), kMostCurves)));
  std::vector<std::string> without;
  for (const NamedRun& run : shown) {
    ReportCurves curves = curves_of_run(run);
    if (curves.values.empty())
      without.push_back(run.name);
    else
      report.curves.push_back(std::move(curves));
  }
  report.measures = measures_of(shown, report.curves);
  if (runs.size() > shown.size())
    report.about_curves =
        str("The first ", shown.size(), " of ", runs.size(), " runs, those of sweeps by their results. ");
  if (!without.empty()) report.about_curves += str("No epoch is finished of ", join(without, ", "), ".");
}

}  // namespace

GatheredReport gather_report(const std::vector<std::string>& words, RunPictures& pictures, bool leaves_running) {
  GatheredReport out;
  std::vector<std::string> folders;
  std::vector<SweepPart> sweeps;
  for (const NamedFolder& named : named_folders(words)) {
    if (named.sweep)
      sweeps.push_back(read_sweep(*named.sweep));
    else
      folders.push_back(named.path);
  }
  std::vector<NamedRun> runs = read_runs("thtrain report", folders);
  const size_t named = runs.size();
  for (SweepPart& sweep : sweeps) {
    sweep.first = runs.size();
    for (const SweepRun* run : sorted_runs(sweep.runs))
      if (run->record) runs.emplace_back().record = *run->record;
    out.is_going_on |= is_locked(sweep.folder.path());
  }
  if (runs.empty())
    throw UserError(Message{.what = "thtrain report: there is no run to tell of",
                            .expected = "the folder of a run that was begun, or of a sweep"});
  name_runs(runs);
  for (SweepPart& sweep : sweeps) {
    size_t next = sweep.first;
    for (const SweepRun* run : sorted_runs(sweep.runs)) sweep.names.push_back(run->record ? runs[next++].name : "");
  }
  for (const NamedRun& run : runs) out.is_going_on |= run.record.end == RunEnd::kRunning;

  Report& report = out.report;
  report.title = runs.size() == 1 ? "report of " + runs[0].name : str("report of ", runs.size(), " runs");
  report.time = utc_text(utc_now());
  add_curves(report, runs);
  if (named > 1) report.groups.push_back(group_of({runs.begin(), runs.begin() + static_cast<ptrdiff_t>(named)}));
  for (const SweepPart& sweep : sweeps) report.groups.push_back(group_of(sweep));
  std::vector<size_t> detailed;
  for (size_t i = 0; i < named; ++i) detailed.push_back(i);
  for (const SweepPart& sweep : sweeps)
    if (sweep.first < runs.size()) detailed.push_back(sweep.first);
  for (size_t i : detailed) {
    ReportRun& part = report.runs.emplace_back(report_of_run(runs[i]));
    pictures.add_to(part, runs[i].record, leaves_running && runs[i].record.end == RunEnd::kRunning);
  }
  return out;
}

}  // namespace thtrain
