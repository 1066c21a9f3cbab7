#include "cli/command.h"

namespace thtrain {

#define TH_COMMAND(name) CommandSpec name##_command();
#include "cli/command_list.inc"
#undef TH_COMMAND

const std::vector<CommandSpec>& command_specs() {
  static const std::vector<CommandSpec> specs = {
#define TH_COMMAND(name) name##_command(),
#include "cli/command_list.inc"
#undef TH_COMMAND
  };
  return specs;
}

std::string argument_name(const CLI::Option& argument) {
  const std::string name = argument.get_name(true);
  return name == kOverridesName ? "key=value" : name;
}

void add_overrides(CLI::App& command, std::vector<std::string>& into, const std::string& about) {
  command.add_option(kOverridesName, into, about)->expected(0, -1);
}

void add_experiment(CLI::App& command, ExperimentArguments& into, const std::string& name, const std::string& about) {
  command.add_option(name, into.config, about)->required();
  add_overrides(command, into.overrides, "values to use instead of those in the file: trainer.learning_rate=0.1");
}

void add_phase(CLI::App& command, std::string& into) {
  command.add_option("--phase", into, "a phase of the experiment; without it the last one")->type_name("NAME");
}

void add_weights(CLI::App& command, std::string& into) {
  command.add_option("--weights", into, "weights in an .npz file; without it the best weights of the run")
      ->type_name("FILE");
}

}  // namespace thtrain
