// The way back to where a checkpoint was written.
#pragma once

#include <optional>
#include <string>

#include "trainers/run/context.h"
#include "trainers/run/training.h"

namespace thtrain {

/// The experiment as checkpoints keep it: resolved_toml with absolute paths.
std::string config_text(const Experiment& experiment, const RunFolder& folder);
/// UserError where the experiment was edited since the checkpoint and that is not accepted. Looks at nothing else, so
/// that it can be asked before the first function is compiled.
void refuse_edits(const Checkpoint& checkpoint, const Experiment& experiment, const RunFolder& folder,
                  const TrainOptions& options);
/// The folder's checkpoint; none where none was written yet, which is told. UserError where it is gone or damaged, and
/// as refuse_edits().
std::optional<Checkpoint> checkpoint_to_resume(const Experiment& experiment, const RunFolder& folder,
                                               const TrainHooks& hooks, const TrainOptions& options);

/// Goes to where the checkpoint was written, and puts metrics.jsonl there too. UserError where something that decides
/// bits differs and that is not allowed, or where the weights do not fit.
void restore(Training& training, const RunContext& context, const Checkpoint& checkpoint);
/// The weights, what steps keep and the counts alone. UserError where they do not fit.
void restore_arrays(Training& training, const RunFolder& folder, const Checkpoint& checkpoint);

}  // namespace thtrain
