// Finding where a run's first infinite or NaN value came from.
#pragma once

#include <string>

#include "trainers/checkpoint.h"
#include "trainers/program.h"

namespace thtrain {

/// A run that went bad, put back to its last checkpoint.
struct BadRun {
  const Experiment& experiment;
  TrainingProgram& program;       // its weights and optimizer state are the checkpoint's
  const std::string& checkpoint;  // the file
  const RunState& start;          // where the checkpoint is
  const std::vector<std::pair<int64_t, std::vector<double>>>& observed;  // Schedules::observed() from a step on
  int64_t last_step;                                                     // whose loss or weights were not finite
};

/// Repeats the steps since the checkpoint with the same program up to the first whose loss or new weights are not
/// finite, and that step with a look at every value. Throws NonFiniteLoss, which names layer, expression, step and the
/// first bad element.
[[noreturn]] void throw_non_finite(const BadRun& run);

/// What to try where a loss grows without bounds, the likely causes first: "try trainer.learning_rate = 0.01 (now 0.1),
/// then ...". Without the keys that the experiment has set, or that its optimizer has not.
std::string divergence_advice(const Experiment& experiment);

}  // namespace thtrain
