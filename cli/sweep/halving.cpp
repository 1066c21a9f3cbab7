#include "cli/sweep/halving.h"

#include <algorithm>

#include "cli/text.h"
#include "compiler/base/str.h"
#include "trainers/metrics_file.h"
#include "trainers/run_folder.h"

namespace thtrain {

using State = SweepRun::State;

Halving::Halving(int64_t first_epochs, int64_t most_epochs) : first_epochs_(first_epochs), most_epochs_(most_epochs) {
  if (first_epochs < most_epochs) return;
  throw UserError(Message{.what = "thtrain sweep: the first round of --halving is as long as the training",
                          .expected = str("fewer epochs than trainer.epochs = ", most_epochs),
                          .got = str("--halving ", first_epochs)});
}

static bool has_ended(const SweepRun& run, int64_t epochs) {
  if (run.state == State::kFailed || (run.record && is_over(run.record->end))) return true;
  return run.state != State::kRunning && epochs > 0 && run.record && run.record->epochs >= epochs;
}

// The best validation value of its first epochs; none of a run that failed in them.
static std::optional<double> value_after(const SweepRun& run, int64_t epochs) {
  std::optional<double> out;
  if (!run.record || (run.state == State::kFailed && run.record->epochs < epochs)) return out;
  if (!run.record->trouble.empty())
    throw UserError(Message{.what = str(run.folder, ": ", run.record->trouble),
                            .expected = "what the run wrote: it says which runs of the round go on",
                            .hint = "put the file back from a copy"});
  const MetricName& metric = run.record->metric;
  for_each_line(RunFolder::open(run.folder).metrics(), [&](const MetricsLine& line) {
    const std::optional<double> value = line.value("valid_" + metric.name);
    if (line.epoch <= epochs && value && (!out || is_better(metric, *value, *out))) out = value;
  });
  return out;
}

// The first half is the better one. UserError where the values do not say which.
static void sort_by_value(std::vector<SweepRun*>& round, int64_t epochs) {
  struct Ranked {
    SweepRun* run;
    std::optional<double> value;
  };
  std::ranges::sort(round, {}, &SweepRun::point);
  std::vector<Ranked> ranked;
  for (SweepRun* run : round) {
    ranked.push_back({run, value_after(*run, epochs)});
    if (run->state != State::kFailed && !ranked.back().value)
      throw UserError(
          Message{.what = str("thtrain sweep: --halving has nothing to go by: ", run->folder,
                              " has no validation value after ", count_text(epochs, "epoch")),
                  .expected = "a validation in the first round",
                  .hint = "give it validation examples, a smaller trainer.validation_frequency, or longer rounds"});
    if (run->record && !(run->record->metric == round.front()->record->metric))
      throw UserError(Message{.what = "thtrain sweep: --halving cannot compare values of different metrics",
                              .expected = "one trainer.monitor for all runs",
                              .got = str(round.front()->record->metric.name, ", ", run->record->metric.name)});
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    if (!a.value || !b.value) return a.value && !b.value;
    return is_better(a.run->record->metric, *a.value, *b.value);
  });
  std::ranges::transform(ranked, round.begin(), &Ranked::run);
}

void Halving::advance(std::vector<SweepRun>& runs) const {
  std::vector<SweepRun*> round;
  for (SweepRun& run : runs) round.push_back(&run);
  for (int64_t epochs = first_epochs_;; epochs *= 2) {
    const bool is_last = epochs >= most_epochs_ || round.size() == 1;
    bool is_done = true;
    for (SweepRun* run : round) {
      run->until = is_last ? 0 : epochs;
      if (run->state == State::kRunning || has_ended(*run, run->until)) continue;
      run->state = State::kWaiting;
      is_done = false;
    }
    if (is_last) return;
    for (SweepRun* run : round)
      if (run->state == State::kWaiting && has_ended(*run, epochs)) run->state = State::kPaused;
    if (!is_done || std::ranges::any_of(round, [](const SweepRun* run) { return run->state == State::kRunning; }))
      return;
    sort_by_value(round, epochs);
    const size_t kept = (round.size() + 1) / 2;
    for (size_t i = kept; i < round.size(); ++i)
      if (round[i]->state == State::kPaused) round[i]->state = State::kDropped;
    round.resize(kept);
  }
}

}  // namespace thtrain
