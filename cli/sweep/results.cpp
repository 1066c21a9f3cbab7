#include "cli/sweep/results.h"

#include <algorithm>
#include <filesystem>

#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/json.h"
#include "trainers/run_folder.h"
#include "trainers/run_lock.h"

namespace thtrain {

using State = SweepRun::State;

// Each word of a list is on the command line of the run as the sweep gave it. Nothing is known of a run whose
// run.json has no command line.
static void require_values(const SweepRun& run, const SweepPoints& points) {
  const std::vector<std::string>& given = run.record->command_line;
  const std::vector<std::string> overrides = points.overrides(run.point);
  std::vector<std::string> wanted, got;
  for (const SweptKey& key : points.keys()) {
    const std::string& word = overrides[key.word];
    if (std::find(given.begin(), given.end(), word) != given.end()) continue;
    wanted.push_back(word);
    const std::string begin = word.substr(0, word.find('=') + 1);
    const auto other =
        std::find_if(given.begin(), given.end(), [&](const std::string& w) { return w.starts_with(begin); });
    got.push_back(other != given.end() ? *other : "no " + key.key);
  }
  if (given.empty() || wanted.empty()) return;
  throw UserError(Message{.what = str(run.folder, ": the run in this folder is another one"),
                          .expected = join(wanted, " "),
                          .got = join(got, " ")});
}

// Can `thtrain resume`, or `thtrain train`, go on with what is in the folder?
static void require_usable(const SweepRun& run) {
  if (run.record && RunFolder::open(run.folder).had_checkpoint())
    RunFolder::open(run.folder).require_checkpoint();
  else if (const std::optional<UserError> why = RunFolder::why_none_begins(run.folder))
    throw *why;
}

void read_record(SweepRun& run, const SweepPoints& points) {
  std::error_code error;
  run.record.reset();
  try {
    // run.json alone is of a process that was killed at its start.
    const bool has_facts = std::filesystem::exists(run.folder + "/run.json", error);
    const bool has_config = std::filesystem::exists(run.folder + "/config.toml", error);
    if (has_facts && (has_config || RunFolder::why_none_begins(run.folder))) {
      run.record = read_run(run.folder);
      require_values(run, points);
    }
    const bool is_done = run.record && (is_over(run.record->end) || run.record->end == RunEnd::kNonFinite);
    if (!is_done && !is_locked(run.folder)) require_usable(run);
  } catch (const UserError& failed) {
    run.record.reset();
    fail(run, failed);
    return;
  }
  if (!run.record) return;
  const RunEnd end = run.record->end;
  if (is_over(end)) run.state = State::kDone;
  if (end != RunEnd::kNonFinite) return;
  run.state = State::kFailed;
  run.code = 3;
  if (run.message.empty()) run.message = run.record->why;
}

void fail(SweepRun& run, const UserError& error) {
  const Message& message = error.messages().at(0);
  run.state = State::kFailed;
  run.code = 2;
  if (run.message.empty()) run.message = str(message.what, message.got.empty() ? "" : ": ", message.got);
}

std::string end_text(const SweepRun& run) {
  if (run.state == State::kDropped) return "dropped";
  if (run.state == State::kFailed && run.code > 128) return str("ended by signal ", run.code - 128);
  if (run.state == State::kFailed && !(run.record && run.record->end == RunEnd::kNonFinite)) return "failed";
  return run.record ? text_of(run.record->end) : "not begun";
}

static std::string metric_value_text(const MetricName& metric, const std::optional<double>& value) {
  return value ? metric_text(metric, *value) : "";
}

std::string best_text(const SweepRun& run) {
  if (!run.record || !run.record->best) return "";
  const RunRecord& record = *run.record;
  return str("validation ", metric_label(record.metric.name), ' ', metric_value_text(record.metric, record.best),
             " (epoch ", record.best_epoch, ')');
}

std::vector<const SweepRun*> sorted_runs(const std::vector<SweepRun>& runs) {
  std::vector<const SweepRun*> out;
  for (const SweepRun& run : runs) out.push_back(&run);
  std::stable_sort(out.begin(), out.end(), [](const SweepRun* a, const SweepRun* b) {
    const bool a_has = a->record && a->record->best, b_has = b->record && b->record->best;
    if (!a_has || !b_has) return a_has && !b_has;
    if (!(a->record->metric == b->record->metric)) return a->record->metric.name < b->record->metric.name;
    return is_better(a->record->metric, *a->record->best, *b->record->best);
  });
  return out;
}

std::optional<MetricName> common_metric(const std::vector<SweepRun>& runs) {
  std::optional<MetricName> out;
  for (const SweepRun& run : runs) {
    if (!run.record) continue;
    if (out && !(*out == run.record->metric)) return {};
    out = run.record->metric;
  }
  return out;
}

std::vector<std::vector<std::string>> results_rows(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  const std::optional<MetricName> common = common_metric(runs);
  std::vector<std::vector<std::string>> rows(1);
  for (const SweptKey& key : points.keys()) rows[0].push_back(key.name);
  const std::string label = common ? metric_label(common->name) : "value";
  if (!common) rows[0].push_back("metric");
  for (const std::string& title : {str("validation ", label), std::string("epoch"), str("test ", label),
                                   std::string("epochs"), std::string("seconds"), std::string("end")})
    rows[0].push_back(title);
  for (const SweepRun* run : sorted_runs(runs)) {
    std::vector<std::string> row;
    for (const std::string& value : points.values(run->point)) row.push_back(printable(value));
    const RunRecord record = run->record ? *run->record : RunRecord{};
    if (!common) row.push_back(run->record ? metric_label(record.metric.name) : "");
    row.push_back(metric_value_text(record.metric, record.best));
    row.push_back(record.best ? std::to_string(record.best_epoch) : "");
    row.push_back(metric_value_text(record.metric, record.test));
    row.push_back(run->record ? std::to_string(record.epochs) : "");
    row.push_back(run->record ? json_fixed(record.seconds, 1) : "");
    // The message of a run that is not finite says that again.
    const bool has_message =
        run->state == State::kFailed && !run->message.empty() && end_text(*run) != text_of(RunEnd::kNonFinite);
    row.push_back(has_message ? str(end_text(*run), ": ", printable(run->message)) : end_text(*run));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string results_table(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  return table_text(results_rows(points, runs));
}

std::string results_csv(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  std::string out = "run,";
  for (const SweptKey& key : points.keys()) out += csv_cell(key.key) + ',';
  out += "metric,best,best_epoch,test,epochs,seconds,end,message\n";
  for (const SweepRun& run : runs) {
    std::vector<std::string> row = points.values(run.point);
    row.insert(row.begin(), run.name);
    auto number = [](const std::optional<double>& value) { return value ? json_number(*value) : ""; };
    const RunRecord record = run.record ? *run.record : RunRecord{};
    if (run.record)
      row.insert(row.end(),
                 {record.metric.name, number(record.best), record.best ? std::to_string(record.best_epoch) : "",
                  number(record.test), std::to_string(record.epochs), json_fixed(record.seconds, 3)});
    else
      row.resize(row.size() + 6);
    row.push_back(end_text(run));
    row.push_back(run.state == State::kFailed ? run.message : "");
    out += join(row, ",", [](const std::string& cell) { return csv_cell(cell); }) + '\n';
  }
  return out;
}

std::string results_json(const SweepPoints& points, const std::vector<SweepRun>& runs) {
  return str('[',
             join(sorted_runs(runs), ", ",
                  [&](const SweepRun* run) {
                    JsonObject values, out;
                    const std::vector<std::string> texts = points.values(run->point);
                    for (size_t i = 0; i < texts.size(); ++i) values.add(points.keys()[i].key, texts[i]);
                    out.add("run_dir", run->folder).add_raw("values", values.line());
                    if (run->record) {
                      out.add("metric", run->record->metric.name);
                      if (run->record->best)
                        out.add("best", *run->record->best).add("best_epoch", run->record->best_epoch);
                      if (run->record->test) out.add("test", *run->record->test);
                      out.add("epochs", run->record->epochs).add("seconds", run->record->seconds);
                    }
                    out.add("end", end_text(*run));
                    if (run->state == State::kFailed) out.add("message", run->message).add("exit_code", run->code);
                    return out.line();
                  }),
             ']');
}

}  // namespace thtrain
