// Completion of the command line in shells, and the manual page: texts made from what is declared.
#pragma once

#include <string>
#include <vector>

#include "cli/command_listing.h"

namespace thtrain {

/// What these texts are made from.
struct Listing {
  std::vector<ListedCommand> commands;
  std::vector<ListedKey> keys;
};

/// The shells that a script can be written for: "bash", "zsh", "fish".
const std::vector<std::string>& completed_shells();

/// A script for bash 4 or newer, to be sourced or to lie in share/bash-completion/completions.
std::string bash_completion(const Listing& listing);
/// The file _thtrain in a folder of zsh's fpath.
std::string zsh_completion(const Listing& listing);
/// The file thtrain.fish in a folder of fish's completions.
std::string fish_completion(const Listing& listing);

/// thtrain.1 in roff, by the macros of man(7).
std::string manual_page(const Listing& listing);

// ---- what the scripts share ----

/// What a position of the command line takes.
enum class Takes {
  kNothing,      // of a flag
  kConfig,       // an experiment file
  kRun,          // the folder of a run
  kConfigOrRun,  // either
  kFolder,
  kFile,
  kWords,  // the choices
  kPairs,  // key=value
  kOther,  // what no shell can know
};
Takes takes(const ListedOption& option);

/// The text between single quotes, as the POSIX shell, zsh and bash read it.
std::string single_quoted(const std::string& text);

}  // namespace thtrain
