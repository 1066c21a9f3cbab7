// The checkpoints that a run keeps besides its last one: checkpoints/step_120.npz, checkpoints/pretrain_step_120.npz.
#pragma once

#include <cstdint>
#include <string>

#include "trainers/run_folder.h"

namespace thtrain {

/// Where a run is at a checkpoint.
struct KeptCheckpoint {
  size_t phase = 0;             // from 0
  std::string phase_name = {};  // "" without phases
  int64_t step = 0;             // of the phase
  bool operator==(const KeptCheckpoint&) const = default;

  /// "step_120.npz", "2_pretrain_step_120.npz": with the phase's number, from 1.
  std::string file_name() const;
};

/// Before checkpoint.npz, which is at `last`, is replaced: it gets its name in checkpoints/ where more than one is
/// kept. UserError where that cannot be done.
void set_aside_checkpoint(const RunFolder& folder, const KeptCheckpoint& last, int64_t keep);

/// After checkpoint.npz was written at `now`: of those in checkpoints/, the keep - 1 last ones stay. Those that are not
/// before `now` are of a course that the run has left. Files that cannot be removed stay.
void remove_kept_checkpoints(const RunFolder& folder, const KeptCheckpoint& now, int64_t keep);

}  // namespace thtrain
