// How a run ended, as run.json keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace thtrain {

class RunFolder;
struct TrainSummary;

enum class RunEnd {
  kRunning,      // not yet: a process has the lock of its folder
  kFinished,     // all epochs are done
  kConverged,    // a batch method ended by itself
  kPatience,     // trainer.patience was spent
  kMaxSeconds,   // trainer.max_seconds were spent
  kDiverged,     // training ended, but its loss is far above that of the beginning or not finite
  kInterrupted,  // by a signal; a checkpoint was written
  kPaused,       // after the epochs that were asked for; a checkpoint was written
  kNonFinite,    // the loss or a weight was not finite
  kFailed,       // another error
  kKilled,       // the process went without a word
  kUnfinished,   // it was interrupted or killed: a run of an earlier version, which did not say
};
/// "running", "finished", "converged", "patience", "max_seconds", "diverged", "interrupted", "paused", "not finite",
/// "failed", "killed", "not finished"
const char* text_of(RunEnd end);
std::optional<RunEnd> run_end_of(std::string_view text);
/// Did training end by itself?
bool is_over(RunEnd end);

/// Of the result of train() and the like.
RunEnd end_of(const TrainSummary& summary);
/// Calls `train`, and writes how it ended into the folder's run.json (RunFolder::write_end). Throws what `train`
/// throws; UserError where `train` ended and that cannot be written.
TrainSummary with_noted_end(RunFolder& folder, const std::function<TrainSummary()>& train);

/// "2026-11-23T11:16:11Z": seconds since 1970 as UTC (ISO 8601), and back.
std::string utc_text(int64_t seconds);
std::optional<int64_t> utc_seconds(const std::string& text);
/// The clock of this machine.
int64_t utc_now();

}  // namespace thtrain
