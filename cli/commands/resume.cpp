// `thtrain resume`: `thtrain train --resume --run-dir DIR` in fewer words.
#include "cli/commands/train.h"

namespace thtrain {

static Command declare_resume(CLI::App& command, const Invocation& invocation) {
  auto arguments = std::make_shared<TrainArguments>();
  arguments->started = invocation.started;
  arguments->command_line = invocation.words;
  command.add_option("DIR", arguments->run_dir, "the run's folder")->required();
  add_overrides(command, arguments->experiment.overrides, "what is another from now on: trainer.epochs=60");
  arguments->resume = true;
  add_run_flags(command, *arguments);
  return [arguments] { return run_train(*arguments); };
}

CommandSpec resume_command() {
  return {
      "resume",
      "continue a run that was stopped, or extend one that is over",
      {{"thtrain resume runs/lab-1", "continue the run in that folder"},
       {"thtrain resume runs/lab-1 trainer.epochs=60", "the same, up to 60 epochs; config.toml says so from then on"}},
      declare_resume};
}

}  // namespace thtrain
