// docs/config.md.
#include "trainers/experiment.h"

namespace thtrain {

std::string config_reference() {
  return str(
      "# Experiment files\n\n",
      "An experiment is a TOML file. Every key can also be given on the command line, as "
      "`trainer.learning_rate=0.1` or `model.layers.0.units=100`.\n"
      "A test writes this page from the declarations of the keys in `trainers`, `datasets` and `nn`.\n"
      "Keys that several kinds share have a section of their own, to which each of these kinds links. A key that a "
      "kind "
      "lists itself all the same differs there, in its default for example.\n\n",
      "## `_base_`\n\nA file may extend another one: `_base_ = \"other.toml\"` at its top. The base is read first. "
      "Then "
      "the file's own tables are merged into those of the base, key by key; any other value, a list such as "
      "`[[model.layers]]` included, replaces the base's value as a whole. `_base_` is relative to the file that names "
      "it. "
      "It may be an array of files, each of which extends those before it, and bases may have bases, but not in a "
      "circle. "
      "Where a file names another source, optimizer or objective than its base, the base's keys of the old one are "
      "dropped. Paths of data and weights, in a base too, are relative to the folder of the file that is named on the "
      "command line. Values of the command line come last. A run's `config.toml` has all keys and no `_base_`, so a "
      "later "
      "edit of a base changes no existing run.\n\n",
      reference_page<Experiment>());
}

}  // namespace thtrain
