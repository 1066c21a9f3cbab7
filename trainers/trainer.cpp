#include "trainers/trainer.h"

#include "compiler/runtime/machine.h"
#include "trainers/run/restore.h"
#include "trainers/run/run.h"
#include "trainers/run/wrap_up.h"

namespace thtrain {

TrainSummary train(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                   const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  folder.lock();
  folder.require_new("train");
  if (!experiment.phases.empty())
    throw UserError(Message{.what = "train: the experiment has several phases", .hint = "train_phases() trains them"});
  keep_table_facts(folder, data);
  return with_noted_end(folder, [&] {
    TrainSummary summary = Run(experiment, data, folder, hooks, options).go();
    keep_table_facts(folder, data);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

TrainSummary resume(const Experiment& given, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
                    const TrainOptions& options) {
  const Experiment experiment = checked_experiment(given);
  RunUnlock after{folder};
  folder.lock();
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(experiment, folder, hooks, options);
  use_limits_of(folder.facts().target);
  return with_noted_end(folder, [&] {
    Run run(experiment, data, folder, hooks, options);
    if (checkpoint) run.restore(*checkpoint);
    TrainSummary summary = run.go();
    keep_table_facts(folder, data);
    add_confusion(summary, experiment, data, folder, options);
    return summary;
  });
}

}  // namespace thtrain
