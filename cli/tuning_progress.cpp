#include "cli/tuning_progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/progress.h"
#include "cli/text.h"
#include "compiler/base/escape.h"

namespace thtrain {

std::string tuning_text(const TuningLocation& location, const TrialProgress& progress, int width) {
  constexpr int kBar = 16;
  constexpr double kLeastToGuess = 0.02;
  const bool knows_all = location.choices > 0;
  const double before = static_cast<double>(location.choice - 1),
               all = knows_all ? static_cast<double>(location.choices) : 1;
  const double part = std::clamp(((knows_all ? before : 0) + location.part) / all, 0.0, 1.0);
  const auto filled = static_cast<size_t>(part * kBar);
  std::string out =
      str("tuning ", location.choice, knows_all ? str('/', location.choices) : std::string(), " [",
          std::string(filled, '='), std::string(kBar - filled, ' '), "] ", std::lround(100 * part), " %  ");
  if (part > kLeastToGuess)
    out += str(seconds_text(location.seconds * (1 - part) / part), knows_all ? " left  " : " left for this one  ");
  out += str(progress.doing, " ", progress.candidate, " for ", progress.key.text());
  return out.substr(0, static_cast<size_t>(std::max(width - 1, 0)));
}

TuningProgress::TuningProgress(size_t choices, bool quiet) : is_shown_(!quiet && is_terminal(stderr)) {
  location_.choices = choices;
  if (is_shown_) observe_trials([this](const TrialProgress& progress) { draw(progress); });
}

TuningProgress::~TuningProgress() {
  if (is_shown_) observe_trials(nullptr);
}

void TuningProgress::draw(const TrialProgress& progress) {
  if (progress.doing.empty()) {
    std::fputs("\r\x1b[K", stderr);
    ++location_.choice;
    location_.part = 0;
    if (location_.choices == 0) begin_ = std::chrono::steady_clock::now();
    return;
  }
  location_.part = std::max(location_.part, progress.part);
  location_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  std::fprintf(stderr, "\r%s\x1b[K", printable(tuning_text(location_, progress, terminal_width(stderr))).c_str());
}

}  // namespace thtrain
