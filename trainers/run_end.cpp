#include "trainers/run_end.h"

#include <time.h>

#include <array>
#include <cstdio>
#include <utility>

#include "trainers/run_folder.h"
#include "trainers/trainer.h"

namespace thtrain {

static constexpr std::array<std::pair<RunEnd, const char*>, 12> kEnds = {{{RunEnd::kRunning, "running"},
                                                                          {RunEnd::kFinished, "finished"},
                                                                          {RunEnd::kConverged, "converged"},
                                                                          {RunEnd::kPatience, "patience"},
                                                                          {RunEnd::kMaxSeconds, "max_seconds"},
                                                                          {RunEnd::kDiverged, "diverged"},
                                                                          {RunEnd::kInterrupted, "interrupted"},
                                                                          {RunEnd::kPaused, "paused"},
                                                                          {RunEnd::kNonFinite, "not finite"},
                                                                          {RunEnd::kFailed, "failed"},
                                                                          {RunEnd::kKilled, "killed"},
                                                                          {RunEnd::kUnfinished, "not finished"}}};

const char* text_of(RunEnd end) {
  for (const auto& [one, text] : kEnds)
    if (one == end) return text;
  return "";
}

std::optional<RunEnd> run_end_of(std::string_view text) {
  for (const auto& [end, name] : kEnds)
    if (text == name) return end;
  return {};
}

bool is_over(RunEnd end) {
  return end == RunEnd::kFinished || end == RunEnd::kConverged || end == RunEnd::kPatience ||
         end == RunEnd::kMaxSeconds || end == RunEnd::kDiverged;
}

RunEnd end_of(const TrainSummary& summary) {
  if (summary.paused) return RunEnd::kPaused;
  if (summary.interrupted) return RunEnd::kInterrupted;
  if (summary.diverged) return RunEnd::kDiverged;
  if (summary.out_of_time) return RunEnd::kMaxSeconds;
  if (summary.stopped_early) return RunEnd::kPatience;
  return summary.converged.empty() ? RunEnd::kFinished : RunEnd::kConverged;
}

// Of a run that ends with an error: that one is told, and not another one of its note.
static void try_note(RunFolder& folder, RunEnd end, const Error& error) {
  try {
    folder.write_end(end, error.messages().empty() ? "" : error.messages().front().what);
  } catch (const UserError&) {
  }
}

TrainSummary with_noted_end(RunFolder& folder, const std::function<TrainSummary()>& train) {
  TrainSummary out;
  try {
    out = train();
  } catch (const Interrupted& error) {
    try_note(folder, RunEnd::kInterrupted, error);
    throw;
  } catch (const NonFiniteLoss& error) {
    try_note(folder, RunEnd::kNonFinite, error);
    throw;
  } catch (const Error& error) {
    try_note(folder, RunEnd::kFailed, error);
    throw;
  }
  try {
    folder.write_end(end_of(out));
  } catch (const UserError& error) {
    if (!folder.is_in_place()) throw;
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    hint += str(hint.empty() ? "" : ";\n", "training ended, and the checkpoint of step ", out.steps,
                " is kept: run.json does not say how it ended");
    throw UserError(messages);
  }
  return out;
}

std::string utc_text(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm parts {};
  char text[64];
  if (!::gmtime_r(&time, &parts) || std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) return "";
  return text;
}

std::optional<int64_t> utc_seconds(const std::string& text) {
  struct tm parts {};
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &parts.tm_year, &parts.tm_mon,
                               &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  if (read != 6 || end != static_cast<int>(text.size())) return {};
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const int64_t out = ::timegm(&parts);
  return utc_text(out) == text ? std::optional(out) : std::nullopt;
}

int64_t utc_now() {
  return ::time(nullptr);
}

}  // namespace thtrain
