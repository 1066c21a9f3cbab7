#include "trainers/monitor.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

Monitor::Monitor(const TrainerConfig& config, int64_t batches, bool larger_is_better)
    : has_patience_(config.patience > 0),
      larger_is_better_(larger_is_better),
      first_patience_(static_cast<double>(config.patience)),
      increase_(config.patience_increase),
      threshold_(config.improvement_threshold),
      frequency_(
          config.validation_frequency.value_or(has_patience_ ? std::min(batches, config.patience / 2) : batches)) {
  TH_CHECK(batches > 0 && frequency_ > 0, "validation every ", frequency_, " of ", batches, " minibatches");
  state_.patience = first_patience_;
}

bool Monitor::is_best(double error) const {
  return larger_is_better_ && has_best() ? error > state_.best_error : error < state_.best_error;
}

bool Monitor::record(int64_t step, int64_t epoch, double error) {
  const double best = state_.best_error;
  if (!is_best(error)) return false;
  const bool improves =
      larger_is_better_ ? !has_best() || error > best + (1 - threshold_) * std::abs(best) : error < best * threshold_;
  if (improves) state_.patience = std::max(state_.patience, static_cast<double>(step) * increase_);
  state_.best_error = error;
  state_.best_epoch = epoch;
  return true;
}

void Monitor::edit_patience(double patience_then, double increase_then) {
  if (patience_then == first_patience_ && increase_then == increase_) return;
  const double improved = state_.patience > patience_then ? state_.patience / increase_then : 0;
  state_.patience = std::max(first_patience_, improved * increase_);
}

}  // namespace thtrain
