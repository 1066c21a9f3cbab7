// What `--help` says besides the options: examples, environment variables, exit codes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thtrain {

/// A name and its meaning: a line of help, a row of docs/cli.md.
using HelpRow = std::pair<std::string, std::string>;

const std::vector<HelpRow>& environment_variables();
const std::vector<HelpRow>& exit_codes();

/// Of the program: a command line and what it does. Those of a command are in its file.
const std::vector<HelpRow>& program_examples();

/// What is below the options of `thtrain --help`.
std::string general_footer();
/// The same of a command: its examples, and what is documented elsewhere.
std::string command_footer(const std::vector<HelpRow>& examples);

}  // namespace thtrain
