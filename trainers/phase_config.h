// The keys of [[phase]], and how a phase's tables go over those of the experiment.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/config.h"

namespace thtrain {

/// What a phase has beside the tables that replace keys of the experiment.
struct PhaseConfig : Section {
  enum class PassOn { kLast, kBest };
  std::string name;                  // "": "phase1", ... after read_experiment
  std::vector<std::string> trained;  // layers; none: all that are trainable
  PassOn pass_on = PassOn::kLast;    // the weights that the next phase begins with
  static void describe(Fields<PhaseConfig>& f);
};

/// Has this configuration phases, each a table?
bool has_phases(const ConfigNode& root);

/// The configuration of each phase: `root`, whose [data], [model], [loss] and [trainer] have the keys of the phase's
/// own tables in place of theirs. Where a phase names another source, optimizer or objective, the keys of the replaced
/// one are gone; of a phase behind the first one, so is `model.weights`. Its `phase` are the phases up to it, without
/// those tables. Requires has_phases(). To `findings`: keys that a phase cannot have, names that are none, and keys of
/// `root` that every phase replaces.
std::vector<ConfigNode> phase_trees(const ConfigNode& root, Findings& findings);

}  // namespace thtrain
