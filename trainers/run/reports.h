// What a run tells and draws: to those who listen, into metrics.jsonl, for TensorBoard, and as pictures.
#pragma once

#include <string>

#include "trainers/run/events.h"
#include "trainers/run/plots.h"
#include "trainers/run/progress.h"

namespace thtrain {

class RunReports {
 public:
  RunReports(Training& training, const RunContext& context, const Dataset& data)
      : training_(training),
        context_(context),
        progress_(training, context),
        events_(training, context),
        plots_(training, context, data) {}

  /// Before the model is told: where a resumed run goes on.
  void begin(bool was_resumed);
  /// Before the first step.
  void begin_training();
  void begin_epoch() { progress_.begin_epoch(); }
  /// Will after_step() tell the loss so far?
  bool tells_loss(SteadyTime now) const { return progress_.is_due(now); }
  void after_step(SteadyTime now) { progress_.after_step(now); }
  /// The last epoch of the history.
  void after_epoch();
  /// Draws samples and learning curves. `plot` is then the path of these. False where the user asked to stop meanwhile.
  bool at_end(bool was_interrupted, std::string& plot);

 private:
  void report_resume_point() const;

  Training& training_;
  const RunContext& context_;
  RunProgress progress_;
  RunEvents events_;
  RunPlots plots_;
  bool warned_of_growth_ = false;
};

}  // namespace thtrain
