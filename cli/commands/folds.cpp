// `thtrain train --folds K`: a run for each part of the training examples.
#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/spread.h"
#include "cli/text.h"
#include "trainers/checkpoint.h"
#include "trainers/run_folder.h"

namespace thtrain {

namespace {

// What the run in this folder came to, as its monitor saw it, and by which metric.
struct BestValue {
  double value;
  MetricName metric;
};
BestValue best_value(const std::string& folder) {
  Checkpoint checkpoint = read_checkpoint((std::filesystem::path(folder) / "checkpoint.npz").string());
  return {checkpoint.state.monitor.best_error, checkpoint.metrics.at(0)};
}

}  // namespace

int train_folds(const TrainArguments& arguments) {
  if (arguments.resume)
    throw UserError(Message{.what = "--folds begins new runs",
                            .expected = "--folds without --resume",
                            .hint = "`thtrain resume DIR/fold-1` goes on with one of them"});
  std::string root = arguments.run_dir;
  auto overrides = [&](int64_t fold) {
    std::vector<std::string> out = arguments.experiment.overrides;
    out.push_back(str("data.folds=", arguments.folds));
    out.push_back(str("data.fold=", fold));
    return out;
  };
  if (root.empty()) {
    LoadedExperiment loaded = load_experiment(arguments.experiment.config, overrides(1));
    root = new_run_path(loaded.experiment.output.root, loaded.config_file);
  }
  std::vector<double> values;
  MetricName metric;
  for (int64_t fold = 1; fold <= arguments.folds; ++fold) {
    TrainArguments one = arguments;
    one.folds = 0;
    one.run_dir = (std::filesystem::path(root) / str("fold-", fold)).string();
    one.experiment.overrides = overrides(fold);
    if (!arguments.json && !arguments.quiet) print_text(str("fold ", fold, " of ", arguments.folds, "\n"));
    if (int code = run_train(one); code != kDone) return code;
    const BestValue best = best_value(one.run_dir);
    values.push_back(best.value);
    metric = best.metric;
  }
  const Spread spread = spread_of(values);
  const double deviation = spread.deviation.value_or(0);  // there are two folds at least
  auto text = [&](double v) { return metric.unit == "%" ? error_text(v) : loss_text(v); };  // as a run's own lines
  if (arguments.json)
    print_text(JsonObject()
                   .add("folds", arguments.folds)
                   .add("metric", metric.name)
                   .add("mean", spread.mean)
                   .add("deviation", deviation)
                   .add("run_dir", root)
                   .line() +
               "\n");
  else
    print_text(str(arguments.folds, " folds: best validation ", metric_label(metric.name), ' ', text(spread.mean),
                   " on average, standard deviation ", text(deviation), " (", join(values, ", ", text), ")\nruns ",
                   root, "/fold-1 to fold-", arguments.folds, "\n"));
  return kDone;
}

}  // namespace thtrain
