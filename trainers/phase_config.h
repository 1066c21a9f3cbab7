// The keys of [[phase]], and how a phase's tables go over those of the experiment.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"

namespace thtrain {

/// What a phase has besides the tables that replace keys of the experiment.
struct PhaseConfig : Section {
  enum class PassOn { kLast, kBest };
  std::string name;                  // "": "phase1", ... after read_experiment
  std::vector<std::string> trained;  // layers; none: all that are trainable
  PassOn pass_on = PassOn::kLast;    // the weights that the next phase begins with
  static void describe(Fields<PhaseConfig>& f);
};

/// Has this configuration phases, each a table?
bool has_phases(const ConfigNode& root);

/// The configurations of the phases of one configuration, one at a time: there may be thousands.
class PhaseTrees {
 public:
  /// Reads what the phases have besides their tables. Requires has_phases(root), which stays alive. To `findings`: keys
  /// that a phase cannot have, and names that are none.
  PhaseTrees(const ConfigNode& root, Findings& findings);

  /// In their order, each with a name.
  const std::vector<PhaseConfig>& phases() const { return own_; }
  /// `root` without its phases, whose [data], [model], [loss] and [trainer] have the keys of the phase's own tables in
  /// position of theirs. Where a phase names another source, optimizer or objective, the keys of the replaced one are
  /// gone; of a phase behind the first one, so is `model.weights`.
  ConfigNode tree(size_t phase);
  /// After all of them: to `findings` the keys of `root` that every phase replaces.
  void refuse_unused();

 private:
  ConfigNode own_table(size_t phase);
  void check_key(size_t phase, const ConfigNode& entry);
  void check_name(size_t phase, const std::string& name, const ConfigPosition& position);
  void note_used(const ConfigNode& tree);

  ConfigNode root_;  // without phases
  const ConfigNode& tables_;
  std::vector<PhaseConfig> own_;
  std::map<std::string, size_t> names_;
  std::set<std::string> used_;  // keys of the experiment's own that a phase has
  Findings& findings_;
};

}  // namespace thtrain
