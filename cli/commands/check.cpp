// `thtrain check`: builds, compiles and runs one step of an experiment, and writes nothing.
#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "trainers/load_data.h"
#include "trainers/trainer.h"

namespace thtrain {

int run_check(const CheckArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  print_warnings(loaded.experiment, data);
  CheckReport report = check_experiment(loaded.experiment, data, loaded.config_folder);
  if (arguments.json) {
    JsonObject out;
    out.add("config", loaded.config_file).add("loss", report.loss);
    add_summary(out, report.model);
    print_text(out.line() + "\n");
  } else {
    print_text(str(loaded.config_file, ": built, compiled, and one step done\n", summary_text(report.model),
                   "  loss of the first minibatch: ", json_fixed(report.loss, 6), "\n"));
  }
  return kDone;
}

}  // namespace thtrain
