// What a run measures, and when: validation from time to time, test and training examples as trainer.test_at says.
#pragma once

#include <functional>
#include <optional>

#include "trainers/run/compilation.h"

namespace thtrain {

/// Where data cannot be read, the run ends with a checkpoint. Nothing of the training's state is changed before all is
/// measured: the user may ask to stop in between, and then it is still to be done.
class RunEvaluation {
 public:
  RunEvaluation(Training& training, const EpochClock& clock, RunCheckpoints& checkpoints, RunCompilation& compilation)
      : training_(training), clock_(clock), checkpoints_(checkpoints), compilation_(compilation) {}

  /// What is measured after a minibatch, and whether training ends with it: patience and trainer.max_seconds. False
  /// where the user asked to stop.
  bool after_step();
  /// What is measured at the end of an epoch. False as above.
  bool after_epoch();
  /// The test value of the best weights, where it was not measured yet. False as above.
  bool at_end();
  /// Before the first minibatch of a process, where those before it took all the time: what is measured then, or that
  /// it is over.
  void end_where_time_is_spent();

 private:
  bool measuring(const std::function<void()>& measure);
  void validate(int64_t step);
  void take_test(const std::optional<MetricValues>& found, int64_t step);
  bool ends_by_time() const;

  Training& training_;
  const EpochClock& clock_;
  RunCheckpoints& checkpoints_;
  RunCompilation& compilation_;
  int64_t last_test_step_ = -1;
};

}  // namespace thtrain
