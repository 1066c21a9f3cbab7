// A checkpoint may come from somebody else: nothing in it is taken before all of it was looked at.
#pragma once

#include <string>

#include "nn/param.h"
#include "trainers/checkpoint.h"

namespace thtrain {

/// run.history, or that of a phase that is over.
struct HistoryArray {
  const Tensor& array;
  int64_t earlier = 0;  // epochs before its first row
};

/// The numbers of a checkpoint as its file holds them, run.position, run.monitor, run.epoch and run.history, which have
/// the dtypes and lengths that checkpoint.h names (but for run.history). UserError, which names the array, where one of
/// them cannot be what a run has written, or where two of them contradict each other.
void check_checkpoint_numbers(const std::string& path, const Tensor& position, const Tensor& monitor,
                              const Tensor& epoch, const HistoryArray& history, const MetricNames& metrics = {{}});

/// The history of a phase that is over, in the array `name`.
void check_history_numbers(const std::string& path, const std::string& name, const HistoryArray& history,
                           const MetricNames& metrics);
/// run.earlier, or that of a phase that is over: four numbers, in the array `name`.
void check_earlier_numbers(const std::string& path, const std::string& name, const Tensor& earlier);

/// The arrays: every weight of the model, and its best value if the run has measured one, of the shapes of `weights`
/// (the model's own), of the run's dtype, and finite; and no others. Those of `weights` that are Model::state() have
/// dtypes of their own. What steps and schedules keep is as in `kept`, and finite but for a schedule's NaN; what is not
/// in `kept` (of another optimizer, before an edit) is of a weight's type, as "velocity/hidden/W", or a number.
/// UserError, which names the array.
void check_checkpoint(const std::string& path, const Checkpoint& checkpoint, const NamedArrays& weights,
                      const std::vector<Param>& state = {}, const NamedState& kept = {});

/// The best weights of a checkpoint that was checked, in the order of `weights` and of their dtypes; none before the
/// first validation.
NamedArrays best_of(const Checkpoint& checkpoint, const NamedArrays& weights);

}  // namespace thtrain
