// `thtrain check`: builds, compiles and runs one step of an experiment, and writes nothing.
#include "cli/commands/check.h"

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "cli/tuning_progress.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/trainer.h"

namespace thtrain {

static int check_phases(const CheckArguments& arguments, const LoadedExperiment& loaded) {
  const Experiment& experiment = loaded.experiment;
  PhaseData data(experiment, [&](const Experiment& phase) { return load_data(phase, loaded.config_folder); });
  data.check(0, loaded.config_folder);
  check_candidate_lists(
      experiment, [&](size_t i) -> const Dataset& { return data.of(i); }, loaded.config_folder);
  std::vector<std::string> objects;
  std::string text;
  for (size_t i = 0; i < phase_count(experiment); ++i) {
    const Experiment& phase = phase_of(experiment, i);
    print_warnings(phase, data.of(i));
    CheckReport report = check_experiment(phase, data.of(i), loaded.config_folder);
    JsonObject out;
    out.add("phase", phase_name(phase)).add("loss", report.loss);
    add_summary(out, report.model);
    objects.push_back(out.line());
    text += str("phase ", phase_name(phase), '\n', summary_text(report.model, targets_text(data.of(i))),
                "  loss of the first minibatch: ", loss_text(report.loss, 6), "\n");
  }
  if (arguments.json)
    print_text(
        JsonObject().add("config", loaded.config_file).add_raw("phases", str('[', join(objects, ", "), ']')).line() +
        "\n");
  else
    print_text(str(loaded.config_file, ": ", count_text(static_cast<int64_t>(objects.size()), "phase"),
                   " built, compiled, and one step of each done\n", text));
  return kDone;
}

int run_check(const CheckArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  if (!loaded.experiment.phases.empty()) return check_phases(arguments, loaded);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  print_warnings(loaded.experiment, data);
  const TuningProgress tuning(0);
  check_candidate_lists(
      loaded.experiment, [&](size_t) -> const Dataset& { return data; }, loaded.config_folder);
  CheckReport report = check_experiment(loaded.experiment, data, loaded.config_folder);
  if (arguments.json) {
    JsonObject out;
    out.add("config", loaded.config_file).add("loss", report.loss);
    add_summary(out, report.model);
    print_text(out.line() + "\n");
  } else {
    print_text(str(loaded.config_file, ": built, compiled, and one step done\n",
                   summary_text(report.model, targets_text(data)),
                   "  loss of the first minibatch: ", loss_text(report.loss, 6), "\n"));
  }
  return kDone;
}

static Command declare_check(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<CheckArguments>();
  add_experiment(command, arguments->experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_check(*arguments); };
}

CommandSpec check_command() {
  return {"check",
          "build, compile and run one step; write no files",
          {{"thtrain check lab.toml", "is the experiment right, and how large is the model?"},
           {"thtrain check runs/lab-1", "the experiment of a run"}},
          declare_check};
}

}  // namespace thtrain
