// `thtrain train --folds K`: a run for each part of the training examples. The same command over the same folder goes
// on.
#include <filesystem>

#include "cli/commands/train.h"
#include "cli/load_experiment.h"
#include "cli/spread.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "trainers/checkpoint.h"
#include "trainers/run_folder.h"

namespace thtrain {

namespace {

// The result of the run in this folder, as its monitor saw it, and by which metric.
struct BestValue {
  double value;
  MetricName metric;
};
BestValue best_value(const std::string& folder) {
  Checkpoint checkpoint = read_checkpoint((std::filesystem::path(folder) / "checkpoint.npz").string());
  return {checkpoint.state.monitor.best_error, checkpoint.metrics.at(0)};
}

// Is there a run to go on with? One that was killed before its first checkpoint gives way to a new one.
bool has_run(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(folder + "/run.json", error) && RunFolder::open(folder).had_checkpoint();
}

}  // namespace

int train_folds(const TrainArguments& arguments) {
  if (arguments.resume)
    throw UserError(Message{.what = "--folds and --resume are both given",
                            .expected = "--folds without --resume",
                            .got = str("--folds ", arguments.folds, " --resume"),
                            .hint = "--folds K --run-dir DIR goes on with the runs that are in DIR already"});
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
    one.resume = has_run(one.run_dir);
    if (const int code = run_train(one); code != kDone) {
      if (!arguments.json)
        print_text(str("the same command with --run-dir ", printable(root), " goes on with the folds\n"));
      return code;
    }
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
