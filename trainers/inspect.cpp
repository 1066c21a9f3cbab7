#include "trainers/inspect.h"

#include <algorithm>
#include <chrono>

#include "compiler/tuning/machine.h"
#include "compiler/tuning/refusals.h"
#include "trainers/pictures.h"
#include "trainers/program.h"

namespace thtrain {

CheckReport check_experiment(const Experiment& given, const Dataset& data, const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  TrainingProgram program(experiment, data, config_folder);
  const Pictures pictures(experiment, data, program.model());  // says which cannot be drawn
  RandomState random = program.model().random();
  program.begin_epoch(random);
  const double loss = program.try_step();
  return {program.summary(), loss};
}

ProfiledSteps profile_steps(const Experiment& given, const Dataset& data, const std::string& config_folder,
                            double seconds) {
  const Experiment experiment = checked_experiment(given);
  if (experiment.trainer.shards > 0)
    throw UserError(Message{.what = "a step in shards is not profiled",
                            .expected = "trainer.shards = 0",
                            .hint = "`thtrain bench scale` predicts the steps of several processes"});
  TrainingProgram program(experiment, data, config_folder);
  RandomState random = program.model().random();
  program.begin_epoch(random);
  // A graph that calls of libraries belong to is made at the second step.
  for (int step = 0; step < 2; ++step) program.try_step();
  ProfiledSteps out;
  for (const GraphInfo& graph : program.step_info().graphs) out.launches += static_cast<int64_t>(graph.nodes);
  program.start_profile();
  const auto began = std::chrono::steady_clock::now();
  do {
    program.try_step();
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() < seconds);
  out.profile = program.profile();
  return out;
}

std::vector<kernel::ChoiceKey> choices_of(const Experiment& given, const Dataset& data,
                                          const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  const RefusalScope refusals;
  TrainingProgram program(experiment, data, config_folder);
  std::vector<kernel::ChoiceKey> out;
  for (const kernel::Choice& choice : program.all_choices())
    if (std::find(out.begin(), out.end(), choice.key) == out.end()) out.push_back(choice.key);
  return out;
}

std::vector<kernel::ChoiceKey> choices_of_phases(const Experiment& experiment,
                                                 const std::function<const Dataset&(size_t phase)>& data,
                                                 const std::string& config_folder) {
  std::vector<kernel::ChoiceKey> out;
  for (size_t i = 0; i < phase_count(experiment); ++i)
    for (const kernel::ChoiceKey& key : choices_of(phase_of(experiment, i), data(i), config_folder))
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
  return out;
}

void check_candidate_lists(const Experiment& experiment, const std::function<const Dataset&(size_t phase)>& data,
                           const std::string& config_folder) {
  const CandidateLists lists = candidate_lists(experiment.compiler);
  if (lists.only.empty() && lists.include.empty() && lists.exclude.empty()) return;
  auto at = [&](const std::string& list, const std::string&) {
    return ListLocation{str("compiler.", list), experiment.compiler.at(list)};
  };
  check_lists(lists, choices_of_phases(experiment, data, config_folder),
              device_target(experiment.compiler).value_or(machine()), at);
}

Explanation explain_training(const Experiment& given, const Dataset& data, const std::string& config_folder,
                             std::vector<Tensor>* minibatch) {
  const Experiment experiment = checked_experiment(given);
  TrainingProgram program(experiment, data, config_folder);
  if (minibatch) {
    RandomState random = program.model().random();
    program.begin_epoch(random);
    for (const Tensor& argument : program.arguments(0)) minibatch->push_back(argument.copy());
  }
  return program.explain();
}

Explanation explain_errors(const Experiment& given, const Dataset& data, const std::string& config_folder) {
  const Experiment experiment = checked_experiment(given);
  return TrainingProgram(experiment, data, config_folder).explain_errors();
}

}  // namespace thtrain
