// From the words of the command line to a command and its arguments. command_line.h and what includes it,
// command_words.cpp, command_listing.cpp and validators.h are the only files that know CLI11.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace thtrain {

/// What is to be done: calling it runs the command and gives the exit code.
using Command = std::function<int()>;

/// `words` without the program's name. UserError for what is no command, with what may have been meant. For --help and
/// --version the command prints the text.
Command parse_arguments(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started);

}  // namespace thtrain
