#include "cli/show_run.h"

#include "cli/run_hints.h"
#include "reports/learning_curves.h"
#include "trainers/checkpoint.h"
#include "trainers/metrics_file.h"

namespace thtrain {

// Of all phases that the run has begun; none without a checkpoint.
static std::vector<PhaseHistory> history_of(const RunFolder& run, const Experiment& experiment) {
  if (!run.has_checkpoint()) return {};
  const Checkpoint checkpoint = read_progress(run.checkpoint());
  const RunState& state = checkpoint.state;
  std::vector<PhaseHistory> out = checkpoint.before;
  const std::string phase = checkpoint.phase ? experiment.phase.at(static_cast<size_t>(*checkpoint.phase)).name : "";
  out.push_back({phase, state.history, checkpoint.metrics, state.earlier});
  return histories_to_draw(run.metrics(), std::move(out), state.monitor.best_epoch);
}

ShownFolder show_run(LoadedExperiment loaded, const std::string& phase, const std::string& weights,
                     const ShowOptions& options, const std::string& folder) {
  const std::vector<PhaseHistory> history = history_of(*loaded.run, loaded.experiment);
  take_phase(loaded, phase);
  ShownFolder out{.report = {}, .weights = weights_of(loaded, weights)};
  warn_of_first_weights(loaded, out.weights);
  std::string missing;
  const std::optional<Dataset> data = load_run_data_if_there(loaded, missing);
  out.report = show({.experiment = loaded.experiment,
                     .data = data ? &*data : nullptr,
                     .missing = missing,
                     .weights = out.weights,
                     .history = history,
                     .title = run_title(loaded.run->path()),
                     .phase = loaded.earlier_phase},
                    options, folder);
  return out;
}

}  // namespace thtrain
