// The parser of the command line: every command with its options (command_options.cpp), and how words are taken
// (arguments.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands/commands.h"

namespace thtrain {

/// The parser, and the arguments of every command that it fills in.
struct CommandLine {
  explicit CommandLine(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started);
  Command parse(std::vector<std::string> words);

  CLI::App* add(const std::string& name, const std::string& about, Command command);
  CLI::App* add_train();
  CLI::App* add_resume();
  void add_sweep();
  void add_eval();
  void add_show();
  void add_predict();
  void add_sample();
  void add_runs();
  void add_compare();
  void add_check();
  void add_explain();
  void add_tune();
  void add_info();
  void add_data();
  void add_bench();
  void add_texts();
  std::vector<std::string> names() const;
  [[noreturn]] void refuse_command(const std::string& word) const;
  std::string help_of(const std::string& name) const;
  Command without_command(const std::string& word) const;

  CLI::App app{"Trains neural networks that experiment files describe.", "thtrain"};
  std::vector<std::pair<CLI::App*, Command>> commands;
  bool wants_version = false;  // only listed: the words before the command are looked at by hand
  TrainArguments train, resume;
  SweepArguments sweep;
  EvalArguments eval;
  ShowArguments show;
  PredictArguments predict;
  SampleArguments sample;
  RunsArguments runs;
  CompareArguments compare;
  CheckArguments check;
  ExplainArguments explain;
  TuneArguments tune;
  InfoArguments info;
  DataArguments data;
  BenchArguments bench;
  CompletionArguments completion;
  std::vector<std::string> only;  // of `bench`
  std::string plot_scale;         // of `compare`
  std::string helped;             // only listed: `help` is looked at by hand
};

}  // namespace thtrain
