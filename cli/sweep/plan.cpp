#include "cli/sweep/plan.h"

#include <algorithm>

#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/json.h"
#include "trainers/run_folder.h"
#include "trainers/run_lock.h"

namespace thtrain {

using State = SweepRun::State;

constexpr size_t kMostRows = 100;

std::string next_text(const SweepRun& run) {
  if (run.state == State::kDone || run.state == State::kDropped) return "nothing to do";
  if (run.state == State::kPaused) return "waits for the round";
  if (run.state == State::kFailed) return run.record ? "is not tried again" : "cannot go on";
  if (!run.folder.empty() && is_locked(run.folder)) return "is waited for";
  return run.record && RunFolder::open(run.folder).had_checkpoint() ? "goes on" : "begins";
}

// "goes on, 12 of 60 epochs done"
static std::string next_words(const SweepRun& run, int64_t epochs) {
  const std::string out = next_text(run);
  if (out != "goes on" || run.record->epochs == 0) return out;
  const RunRecord& record = *run.record;
  if (record.phase.empty()) return str(out, ", ", record.epochs, " of ", count_text(epochs, "epoch"), " done");
  return str(out, ", ", count_text(record.epochs, "epoch"), " of phase ", record.phase, " done");
}

static std::string head_text(const SweepPlan& plan, size_t count) {
  const auto [least, most] = std::minmax_element(plan.threads.begin(), plan.threads.end());
  const std::string of_each = *least == *most ? count_text(*most, "thread") : str(*least, " to ", *most, " threads");
  return str(printable(plan.head), ": ", count_text(static_cast<int64_t>(count), "run"), ", ", count_text(plan.jobs),
             " at once, ", of_each, " each\n");
}

static std::string rows_text(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs,
                             bool with_next) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(runs.size(), kMostRows); ++i) {
    const SweepRun& run = runs[i];
    std::vector<std::string> row = {std::to_string(i + 1), run.name};
    if (run.name.starts_with("run-")) {
      const std::vector<std::string> values = points.values(run.point);
      for (size_t k = 0; k < values.size(); ++k) row.push_back(printable(str(points.keys()[k].name, '=', values[k])));
    }
    std::string end = with_next || run.record || run.state == State::kFailed ? end_text(run) : "";
    const bool has_message = run.state == State::kFailed && !run.message.empty() && end != text_of(RunEnd::kNonFinite);
    row.push_back(std::move(end));
    if (with_next) row.push_back(next_words(run, plan.epochs[i]));
    if (has_message) row.back() += ": " + printable(run.message);  // behind the last column: it may be long
    rows.push_back(std::move(row));
  }
  std::string out = table_text(rows);
  if (runs.size() > kMostRows)
    out += str("  and ", count_text(static_cast<int64_t>(runs.size() - kMostRows)), " more\n");
  return out;
}

std::string list_text(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs) {
  return head_text(plan, runs.size()) + rows_text(plan, points, runs, false);
}

std::string plan_text(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs) {
  std::vector<std::string> counts;
  for (const char* next : {"nothing to do", "goes on", "begins", "waits for the round", "is waited for",
                           "is not tried again", "cannot go on"}) {
    const auto count =
        std::count_if(runs.begin(), runs.end(), [&](const SweepRun& run) { return next_text(run) == next; });
    if (count > 0) counts.push_back(str(next, ": ", count_text(count)));
  }
  return str(head_text(plan, runs.size()), rows_text(plan, points, runs, true), join(counts, ", "), '\n');
}

std::string plan_json(const SweepPlan& plan, const SweepPoints& points, const std::vector<SweepRun>& runs) {
  return str('[',
             join(runs, ", ",
                  [&](const SweepRun& run) {
                    JsonObject values, out;
                    const std::vector<std::string> texts = points.values(run.point);
                    for (size_t i = 0; i < texts.size(); ++i) values.add(points.keys()[i].key, texts[i]);
                    out.add("name", run.name);
                    if (!run.folder.empty()) out.add("run_dir", run.folder);
                    out.add_raw("values", values.line());
                    out.add("threads", plan.threads[static_cast<size_t>(run.point)]);
                    out.add("end", end_text(run)).add("next", next_text(run));
                    if (run.state == State::kFailed) out.add("message", run.message);
                    return out.line();
                  }),
             ']');
}

}  // namespace thtrain
