#include "trainers/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/refusals.h"
#include "nn/metrics/confusion_matrix.h"
#include "nn/metrics/decisions.h"
#include "nn/metrics/loss.h"
#include "nn/sequences.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/demands.h"
#include "trainers/evaluator.h"
#include "trainers/outputs.h"
#include "trainers/pictures.h"
#include "trainers/program.h"
#include "trainers/run/restore.h"
#include "trainers/run/run.h"
#include "trainers/run/wrap_up.h"
#include "trainers/table_facts.h"

namespace thtrain {

TrainSummary train(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                   const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  if (writes_folder(options)) {
    folder.lock();
    folder.require_new("train");
  }
  if (!experiment.phases.empty())
    throw UserError(Message{.what = "train: the experiment has several phases", .hint = "train_phases() trains them"});
  keep_table_facts(folder, data, options);
  return with_noted_end(folder, [&] {
    TrainSummary summary = Run(experiment, data, folder, hooks, options).go();
    keep_table_facts(folder, data, options);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

TrainSummary resume(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                    const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  if (writes_folder(options)) folder.lock();
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(experiment, folder, hooks, options);
  use_limits_of(folder.facts().target);
  return with_noted_end(folder, [&] {
    Run run(experiment, data, folder, hooks, options);
    if (checkpoint) run.restore(*checkpoint);
    TrainSummary summary = run.go();
    keep_table_facts(folder, data, options);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

}  // namespace thtrain
