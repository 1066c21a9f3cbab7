#include "trainers/monitor.h"

#include <algorithm>

namespace thtrain {

Monitor::Monitor(const TrainerConfig& config, int64_t batches)
    : has_patience_(config.patience > 0),
      increase_(config.patience_increase),
      threshold_(config.improvement_threshold),
      frequency_(
          config.validation_frequency.value_or(has_patience_ ? std::min(batches, config.patience / 2) : batches)) {
  TH_CHECK(batches > 0 && frequency_ > 0, "validation every ", frequency_, " of ", batches, " minibatches");
  state_.patience = static_cast<double>(config.patience);
}

bool Monitor::record(int64_t step, int64_t epoch, double error) {
  if (!(error < state_.best_error)) return false;
  if (error < state_.best_error * threshold_)
    state_.patience = std::max(state_.patience, static_cast<double>(step) * increase_);
  state_.best_error = error;
  state_.best_epoch = epoch;
  return true;
}

}  // namespace thtrain
