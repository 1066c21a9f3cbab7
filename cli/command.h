// A command of `thtrain`: one file in cli/commands/ says what it takes and runs it, one line in cli/command_list.inc
// enters it. docs/cli.md is the page of all.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_listing.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/validators.h"

namespace thtrain {

/// What is to be done: calling it runs the command and gives the exit code.
using Command = std::function<int()>;

/// How the program was called.
struct Invocation {
  std::vector<std::string> words = {};            // with "thtrain" before them
  std::chrono::steady_clock::time_point started;  // of the process
};

struct CommandSpec {
  std::string name;
  std::string about;  // for the list of commands
  std::vector<HelpRow> examples;
  /// Declares arguments and options of `command`, which lives as long as what it returns: that runs the command with
  /// the values which they were given.
  Command (*declare)(CLI::App& command, const Invocation& invocation);
};

/// Every command but `help`, in the order of the help.
const std::vector<CommandSpec>& command_specs();

// ---- what several commands take ----

/// An experiment file, or where a command says so a run folder, and "key=value" texts that go over it.
struct ExperimentArguments {
  std::string config;
  std::vector<std::string> overrides = {};
};

/// The name of key=value for CLI11, which takes no "=" in names since 2.4.
inline constexpr const char* kOverridesName = "key_value";
/// What users call a positional argument: "CONFIG", or "key=value".
std::string argument_name(const CLI::Option& argument);

/// The argument key=value, any number of times.
void add_overrides(CLI::App& command, std::vector<std::string>& into, const std::string& about);
/// The argument `name` for the experiment, and key=value behind it.
void add_experiment(CLI::App& command, ExperimentArguments& into, const std::string& name, const std::string& about);
/// `--phase`; "" is the last one.
void add_phase(CLI::App& command, std::string& into);
/// `--weights`; "" are the best ones of the run.
void add_weights(CLI::App& command, std::string& into);

}  // namespace thtrain
