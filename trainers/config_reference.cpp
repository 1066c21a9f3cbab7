// docs/config.md.
#include "trainers/experiment.h"

namespace thtrain {

std::string config_reference() {
  return str(
      "# Experiment files\n\n",
      "An experiment is a TOML file. Every key can also be given on the command line, as "
      "`trainer.learning_rate=0.1` or `model.layers.0.units=100`.\nThis page is made from the declarations in "
      "`trainers/experiment.cpp`, `datasets/data_config.cpp` and, beside each layer, objective, metric, "
      "optimizer and schedule, in "
      "`nn`.\n\n",
      "## `_base_`\n\nA file may go over another one: `_base_ = \"other.toml\"` at its top. The base is read first, "
      "and what this file says is put over it: tables merge key by key, and anything else replaces what the base "
      "has, lists such as `[[model.layers]]` as a whole. `_base_` is relative to the file that names it; it may be "
      "an array of files, each over those before it; and bases may have bases, but not in a circle. Where a file "
      "names another source, optimizer or objective than its base, the keys of the base that go with the old one "
      "go. Paths of data and weights, in a base too, are looked for from the folder of the file that is named on "
      "the command line, as if all keys stood in it. Values of the command line come last. A run's `config.toml` "
      "has all keys and no `_base_`: an edit of a base changes no run that there is.\n\n",
      reference_page<Experiment>());
}

}  // namespace thtrain
