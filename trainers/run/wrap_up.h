// What is done around a run: the lock of its folder, the facts of a table, and the confusion matrix of a run that is
// over.
#pragma once

#include "trainers/trainer.h"

namespace thtrain {

/// Gives the lock back: who trained once may read, or resume with another RunFolder.
struct RunUnlock {
  RunFolder& folder;
  ~RunUnlock() { folder.unlock(); }
};

/// The folder's table.json, where it is not there and the data is a table.
void keep_table_facts(const RunFolder& folder, const Dataset& data, const TrainOptions& options);
/// TrainSummary::confusion of a run that is over; the summary is interrupted where the user asks to stop meanwhile.
void add_confusion(TrainSummary& summary, const Experiment& experiment, const Dataset& data, const RunFolder& folder,
                   const TrainOptions& options);

}  // namespace thtrain
