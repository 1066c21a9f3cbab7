// `thtrain show`: pictures of what a run has learned.
#include "trainers/show/show.h"

#include <cstdio>

#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/font.h"
#include "reports/learning_curves.h"
#include "trainers/checkpoint.h"
#include "trainers/metrics_file.h"

namespace thtrain {

static std::optional<Part> part_named(const std::string& name) {
  if (name.empty()) return {};
  return name == "train" ? Part::kTrain : name == "valid" ? Part::kValid : Part::kTest;
}

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

int run_show(const ShowArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  if (!loaded.run)
    throw UserError(Message{.what = "thtrain show: an experiment file has learned nothing",
                            .expected = "the folder of a run",
                            .got = arguments.experiment.config});
  const std::vector<PhaseHistory> history = history_of(*loaded.run, loaded.experiment);
  take_phase(loaded, arguments.phase);
  const std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  std::string missing;
  const std::optional<Dataset> data = load_run_data_if_there(loaded, missing);
  const std::string folder = arguments.output.empty() ? loaded.run->file("plots") : arguments.output;
  const ShowReport report = show({.experiment = loaded.experiment,
                                  .data = data ? &*data : nullptr,
                                  .missing = missing,
                                  .weights = weights,
                                  .history = history,
                                  .title = run_title(loaded.run->path()),
                                  .phase = loaded.earlier_phase},
                                 {.part = part_named(arguments.part),
                                  .layer = arguments.layer,
                                  .example = arguments.example,
                                  .square = {arguments.occlusion, arguments.stride}},
                                 folder);
  std::vector<std::vector<std::string>> files;
  for (const ShowReport::File& file : report.files) files.push_back({printable(file.name), printable(file.what)});
  std::string text = str("pictures in ", printable(folder), "\n", table_text(files));
  if (!report.left_out.empty()) text += "not drawn\n";
  for (const std::string& line : report.left_out) text += str("  ", printable(line), "\n");
  for (const ShowReport::Table& table : report.mistakes) {
    std::vector<std::vector<std::string>> rows = table.rows;
    for (std::vector<std::string>& row : rows)
      for (std::string& cell : row) cell = printable(cell);
    text += str(printable(table.title), "\n", table_text(rows));
  }
  print_text(str(text, "weights ", printable(weights), "\n"));
  if (!Font::find()) std::fprintf(stderr, "warning: %s\n", without_font().c_str());
  return kDone;
}

}  // namespace thtrain
