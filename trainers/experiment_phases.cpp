// The experiments of a run in phases.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/base/nearest_name.h"
#include "trainers/experiment.h"

namespace thtrain {

size_t phase_count(const Experiment& experiment) {
  return std::max<size_t>(1, experiment.phases.size());
}

const Experiment& phase_of(const Experiment& experiment, size_t index) {
  if (index >= phase_count(experiment))
    throw UserError(Message{.what = str("the experiment has no phase ", index),
                            .expected = str("from 0 to ", phase_count(experiment) - 1)});
  return experiment.phases.empty() ? experiment : experiment.phases[index];
}

std::string phase_name(const Experiment& of_phase) {
  return of_phase.phase.empty() ? "" : of_phase.phase.back().name;
}

Experiment experiment_of(std::vector<Experiment> phases) {
  if (phases.empty()) throw UserError(Message{.what = "experiment_of: there are no phases", .expected = "one or more"});
  std::vector<PhaseConfig> all;
  for (Experiment& phase : phases) {
    if (phase.phase.empty() || !phase.phases.empty())
      throw UserError(Message{.what = "experiment_of: an experiment is not one phase",
                              .expected = "its PhaseConfig in `phase`, and no `phases`"});
    all.push_back(phase.phase.back());
    phase.phase.assign(all.end() - std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end());
    phase.phase_number = all.size();
  }
  Experiment out = phases.back();
  out.phase = std::move(all);
  out.phases = std::move(phases);
  return out;
}

bool is_trained(const Experiment& experiment, const LayerOptions& layer) {
  const std::vector<std::string> all, &only = experiment.phase.empty() ? all : experiment.phase.back().trained;
  return layer.trained && (only.empty() || std::find(only.begin(), only.end(), layer.name) != only.end());
}

// Each name is of a layer that has something to train.
void check_trained(const Experiment& experiment, Findings& findings) {
  const PhaseConfig& phase = experiment.phase.back();
  std::vector<std::string> names;
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) names.push_back(layer->name);
  std::set<std::string> seen;
  for (const std::string& name : phase.trained) {
    const size_t at = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    const std::string what = phase.name_of("trained");
    if (!seen.insert(name).second) {
      findings.add({.what = str(what, " names a layer twice"),
                    .expected = "each layer once",
                    .got = name,
                    .config = phase.at("trained")});
      continue;
    }
    if (at == names.size()) {
      const std::string near = nearest_name(name, names);
      findings.add({.what = str(what, " names a layer that is not there"),
                    .expected = join(names, ", "),
                    .got = name,
                    .config = phase.at("trained"),
                    .hint = near.empty() ? "" : str("did you mean ", near, '?')});
      continue;
    }
    const OneOf<LayerOptions>& layer = experiment.model.layers[at];
    const bool has_parameters = layer.kind_of().schema().find("trained") != nullptr;
    if (has_parameters && layer->trained) continue;
    findings.add({.what = str(what, " names a layer with nothing to train"),
                  .expected = "layers with parameters, and without trained = false",
                  .got = str(name, has_parameters ? ", with trained = false" : str(", of type ", layer.name())),
                  .config = phase.at("trained")});
  }
}

// Two with the same text are one.
static std::string text_of(const Message& message) {
  return str(message.text(), '\n', message.config.file, ':', message.config.line, ':', message.config.column);
}

Experiment read_phases(const ConfigNode& root, Findings& findings,
                       Experiment (*read_one)(const ConfigNode&, Findings&)) {
  const size_t findings_before = findings.size();
  PhaseTrees trees(root, findings);
  const bool are_read = findings.size() == findings_before;
  std::vector<Experiment> phases;
  std::vector<std::pair<Message, std::vector<std::string>>> found;  // and the phases that have it
  std::map<std::string, size_t> indices;
  for (size_t i = 0; i < trees.phases().size(); ++i) {
    Findings own;
    Experiment& phase = phases.emplace_back(read_one(trees.tree(i), own));
    phase.phase = {trees.phases()[i]};
    if (are_read && own.empty()) check_trained(phase, own);
    for (const Message& message : own.sorted()) {
      const auto [index, is_new] = indices.emplace(text_of(message), found.size());
      if (is_new) found.push_back({message, {}});
      found[index->second].second.push_back(phase_name(phase));
    }
  }
  trees.refuse_unused();
  for (auto& [message, names] : found) {
    if (names.size() < phases.size()) message.what = str("phase ", join(names, ", "), ": ", message.what);
    findings.add(std::move(message));
  }
  const PhaseConfig& last = phases.back().phase.back();
  if (last.pass_on == PhaseConfig::PassOn::kBest)
    findings.add({.what = str(last.name_of("pass_on"), " has no effect: no phase comes after ", last.name),
                  .expected = "pass_on = \"best\" in a phase before the last one",
                  .got = "pass_on = \"best\"",
                  .config = last.at("pass_on"),
                  .hint = "leave it out: the best weights of the last phase are those of the run, in best.npz"});
  return experiment_of(std::move(phases));
}

}  // namespace thtrain
