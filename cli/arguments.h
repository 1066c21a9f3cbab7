// From the words of the command line to a command and its arguments.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/command.h"

namespace thtrain {

/// `words` without the program's name. UserError for what is no command, with what may have been meant. For --help and
/// --version the command prints the text.
Command parse_arguments(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started);

}  // namespace thtrain
