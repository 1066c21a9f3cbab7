#include "trainers/run/reports.h"

#include <algorithm>

#include "trainers/run/divergence.h"

namespace thtrain {

void RunReports::begin(bool was_resumed) {
  if (!context_.writes()) return;
  events_.begin(was_resumed);
  if (was_resumed) report_resume_point();
}

void RunReports::report_resume_point() const {
  if (!context_.hooks.on_resume) return;
  const RunState& state = training_.state;
  const int64_t batches = training_.program.batches();
  context_.hooks.on_resume({.phase = training_.phase,
                            .epoch = state.epochs + 1,
                            .batch = std::min(state.batch + 1, batches),
                            .batches = batches,
                            .step = state.step,
                            .is_over = training_.is_over()});
}

void RunReports::begin_training() {
  if (context_.writes()) plots_.draw_augmented();
  progress_.begin();
}

void RunReports::after_epoch() {
  if (!context_.writes()) return;
  const EpochReport& report = training_.state.history.back();
  plots_.draw_filters();
  events_.write_epoch_events();
  if (context_.hooks.on_epoch) context_.hooks.on_epoch(report);
  if (warned_of_growth_ || !context_.hooks.on_message) return;
  const std::string warning = growth_warning(training_);
  warned_of_growth_ = !warning.empty();
  if (warned_of_growth_) context_.tell(warning);
}

bool RunReports::at_end(bool was_interrupted, std::string& plot) {
  bool is_done = true;
  if (!training_.state.history.empty()) {
    is_done = was_interrupted || plots_.draw_samples();
    plot = plots_.draw_curves();
  }
  events_.write_picture_events();
  return is_done;
}

}  // namespace thtrain
