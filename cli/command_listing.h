// The commands and what they take, as the parser declares them: for completion and the manual page.
#pragma once

#include <string>
#include <vector>

#include "cli/help.h"

namespace CLI {
class App;
}

namespace thtrain {

/// An option, or an argument that has a position.
struct ListedOption {
  std::string name;                       // "--jobs"; of an argument "CONFIG", "DIR", "key=value"
  std::string type = {};                  // what follows it: "N", "DIR", "FILE"; "" for a flag
  std::string about = {};                 // from its declaration
  std::vector<std::string> choices = {};  // the values that it takes, where they are words
  bool is_list = false;                   // several values, with commas between them
  bool required = false;
  bool is_repeated = false;  // an argument that takes every position from its own on
};

struct ListedCommand {
  std::string name;
  std::string about;
  std::vector<HelpRow> examples = {};
  std::vector<ListedOption> arguments = {};
  std::vector<ListedOption> options = {};
};

/// In the order of their declarations. `--help` is left out, and so are hidden options.
std::vector<ListedCommand> listed_commands(const CLI::App& app);

/// The name of the validator that allows these words: what listed_commands() finds the choices by.
std::string choices_name(const std::vector<std::string>& words);

/// A key of an experiment, from its declaration.
struct ListedKey {
  std::string path;  // "trainer.learning_rate"; "model.layers.N.units", where N stands for a number from 0
  std::string help;
  std::vector<std::string> choices = {};  // words that it may be
  bool independent = false;               // no other key can contradict it
};

/// Every key that may be given as key=value, each path once, in the order of docs/config.md.
std::vector<ListedKey> listed_keys();

}  // namespace thtrain
