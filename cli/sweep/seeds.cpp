#include "cli/sweep/seeds.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/json.h"

namespace thtrain {

using State = SweepRun::State;

// Which of the lists is that of the seeds.
static std::optional<size_t> seed_key(const SweepPoints& points) {
  for (size_t k = 0; k < points.keys().size(); ++k)
    if (points.keys()[k].key == "seed" && points.keys()[k].values.size() > 1) return k;
  return {};
}

bool has_seeds(const SweepPoints& points) {
  return seed_key(points).has_value();
}

static bool is_counted(const SweepRun& run) {
  return run.state == State::kDone && run.record && run.record->best && std::isfinite(*run.record->best);
}

static SeedGroup group_of(const std::vector<const SweepRun*>& runs) {
  SeedGroup out;
  std::vector<double> best, test;
  for (const SweepRun* run : runs) {
    if (is_counted(*run)) {
      out.metric = run->record->metric;
      best.push_back(*run->record->best);
      if (run->record->test && std::isfinite(*run->record->test)) test.push_back(*run->record->test);
    } else if (run->state != State::kWaiting && run->state != State::kRunning && run->state != State::kPaused) {
      out.left_out.push_back(run);
    }
  }
  out.best = spread_of(best);
  out.test = spread_of(test);
  return out;
}

std::vector<SeedGroup> seed_groups(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  const size_t seed = seed_key(points).value();
  std::map<std::vector<size_t>, std::vector<const SweepRun*>> of_point;  // which values of the other lists
  for (const SweepRun& run : runs) {
    std::vector<size_t> at = points.indices(run.point);
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(seed));
    of_point[at].push_back(&run);
  }
  std::vector<SeedGroup> out;
  for (const auto& [at, group] : of_point) {
    out.push_back(group_of(group));
    out.back().values = points.values(group.front()->point);
    out.back().values.erase(out.back().values.begin() + static_cast<std::ptrdiff_t>(seed));
  }
  std::stable_sort(out.begin(), out.end(), [](const SeedGroup& a, const SeedGroup& b) {
    if (!a.metric || !b.metric) return a.metric && !b.metric;
    if (!(*a.metric == *b.metric)) return a.metric->name < b.metric->name;
    return is_better(*a.metric, a.best.mean, b.best.mean);
  });
  return out;
}

// Why a run that has ended does not count.
static std::string left_out_text(const SweepRun& run) {
  return run.state == State::kDone ? "no value" : end_text(run);
}

namespace {

std::string number_cell(const MetricName& metric, double value) {
  return metric.unit == "%" ? error_text(value) : loss_text(value);
}

// The mean, with the number of values where it is not that of the runs; and the deviation.
std::vector<std::string> spread_cells(const SeedGroup& group, const Spread& spread) {
  if (spread.count == 0) return {"", ""};
  std::string mean = number_cell(*group.metric, spread.mean);
  if (spread.count != group.best.count) mean += str(" (of ", spread.count, ')');
  return {mean, spread.deviation ? number_cell(*group.metric, *spread.deviation) : "-"};
}

// "2: seed=3 not finite, seed=4 failed", of more than five the first ones.
std::string left_out_cell(const SweepPoints& points, const SeedGroup& group) {
  constexpr size_t kMost = 5;
  const size_t seed = seed_key(points).value();
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(group.left_out.size(), kMost); ++i) {
    const SweepRun& run = *group.left_out[i];
    out.push_back(printable(str("seed=", points.values(run.point)[seed], ' ', left_out_text(run))));
  }
  if (group.left_out.size() > kMost) out.push_back(str("and ", group.left_out.size() - kMost, " more"));
  return out.empty() ? "" : str(group.left_out.size(), ": ", join(out, ", "));
}

}  // namespace

std::vector<std::vector<std::string>> seeds_rows(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  if (!has_seeds(points)) return {};
  const std::vector<SeedGroup> groups = seed_groups(points, runs);
  std::optional<MetricName> common;
  bool has_one_metric = true, has_test = false, has_left_out = false;
  for (const SeedGroup& group : groups) {
    if (common && group.metric && !(*common == *group.metric)) has_one_metric = false;
    if (group.metric) common = group.metric;
    has_test |= group.test.count > 0;
    has_left_out |= !group.left_out.empty();
  }
  const bool has_failed =
      std::any_of(runs.begin(), runs.end(), [](const SweepRun& run) { return run.state == State::kFailed; });
  if (!common && !has_failed) return {};
  const std::string label = common && has_one_metric ? metric_label(common->name) : "value";
  std::vector<std::vector<std::string>> rows(1);
  for (const SweptKey& key : points.keys())
    if (key.key != "seed") rows[0].push_back(key.name);
  if (!has_one_metric) rows[0].push_back("metric");
  for (const std::string& title : {std::string("runs"), str("validation ", label), std::string("deviation")})
    rows[0].push_back(title);
  if (has_test) rows[0].insert(rows[0].end(), {str("test ", label), "deviation"});
  if (has_left_out) rows[0].push_back("left out");
  for (const SeedGroup& group : groups) {
    std::vector<std::string> row;
    for (const std::string& value : group.values) row.push_back(printable(value));
    if (!has_one_metric) row.push_back(group.metric ? metric_label(group.metric->name) : "");
    row.push_back(std::to_string(group.best.count));
    for (std::string& cell : spread_cells(group, group.best)) row.push_back(std::move(cell));
    if (has_test)
      for (std::string& cell : spread_cells(group, group.test)) row.push_back(std::move(cell));
    if (has_left_out) row.push_back(left_out_cell(points, group));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string seeds_table(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  const std::vector<std::vector<std::string>> rows = seeds_rows(points, runs);
  return rows.empty() ? "" : "over the seeds, mean and standard deviation (n - 1)\n" + table_text(rows);
}

std::string seeds_csv(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  std::vector<std::string> title;
  for (const SweptKey& key : points.keys())
    if (key.key != "seed") title.push_back(key.key);
  title.insert(title.end(), {"metric", "runs", "mean", "deviation", "test_runs", "test_mean", "test_deviation",
                             "left_out", "left_out_runs"});
  std::string out = join(title, ",", [](const std::string& cell) { return csv_cell(cell); }) + '\n';
  for (const SeedGroup& group : seed_groups(points, runs)) {
    std::vector<std::string> row = group.values;
    row.push_back(group.metric ? group.metric->name : "");
    for (const Spread* spread : {&group.best, &group.test}) {
      row.push_back(std::to_string(spread->count));
      row.push_back(spread->count > 0 ? json_number(spread->mean) : "");
      row.push_back(spread->deviation ? json_number(*spread->deviation) : "");
    }
    row.push_back(std::to_string(group.left_out.size()));
    row.push_back(
        join(group.left_out, "; ", [](const SweepRun* run) { return str(run->name, ' ', left_out_text(*run)); }));
    out += join(row, ",", [](const std::string& cell) { return csv_cell(cell); }) + '\n';
  }
  return out;
}

std::string seeds_json(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  std::vector<std::string> keys, out;
  for (const SweptKey& key : points.keys())
    if (key.key != "seed") keys.push_back(key.key);
  for (const SeedGroup& group : seed_groups(points, runs)) {
    JsonObject values, one;
    for (size_t k = 0; k < keys.size(); ++k) values.add(keys[k], group.values[k]);
    one.add_raw("values", values.line());
    if (group.metric) one.add("metric", group.metric->name);
    one.add("runs", group.best.count);
    if (group.best.count > 0) one.add("mean", group.best.mean);
    if (group.best.deviation) one.add("deviation", *group.best.deviation);
    one.add("test_runs", group.test.count);
    if (group.test.count > 0) one.add("test_mean", group.test.mean);
    if (group.test.deviation) one.add("test_deviation", *group.test.deviation);
    one.add_raw("left_out",
                str('[',
                    join(group.left_out, ", ",
                         [](const SweepRun* run) {
                           return JsonObject().add("run_dir", run->folder).add("end", left_out_text(*run)).line();
                         }),
                    ']'));
    out.push_back(one.line());
  }
  return str('[', join(out, ", "), ']');
}

}  // namespace thtrain
