#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/text.h"
#include "compiler/base/build_info.h"
#include "compiler/base/config_node.h"

namespace thtrain {

namespace {

/// The parser, and the arguments of every command that it fills in.
struct CommandLine {
  explicit CommandLine(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started);
  Command parse(std::vector<std::string> words);

  CLI::App* add(const std::string& name, const std::string& about, Command command);
  CLI::App* add_train();
  CLI::App* add_resume();
  void add_eval();
  void add_predict();
  void add_check();
  void add_explain();
  void add_tune();
  void add_info();
  void add_data();
  void add_bench();
  std::vector<std::string> names() const;
  [[noreturn]] void refuse_command(const std::string& word) const;
  [[noreturn]] void refuse_extra(const CLI::App& command, const std::string& word) const;

  CLI::App app{"Trains neural networks from experiment files; a toolkit with its own graph compiler.", "thtrain"};
  std::vector<std::pair<CLI::App*, Command>> commands;
  bool wants_version = false;
  TrainArguments train, resume;
  EvalArguments eval;
  PredictArguments predict;
  CheckArguments check;
  ExplainArguments explain;
  TuneArguments tune;
  InfoArguments info;
  DataArguments data;
  BenchArguments bench;
  std::vector<std::string> only;  // of `bench`
};

// CLI::IsMember, with a better message.
CLI::Validator one_of(const std::vector<std::string>& names) {
  auto check = [names](std::string& word) -> std::string {
    if (std::find(names.begin(), names.end(), word) != names.end()) return "";
    std::string near = nearest_name(word, names);
    return str('"', word, "\" is none of ", join(names, ", "), near.empty() ? "" : str("; did you mean ", near, '?'));
  };
  return {check, "", "one_of"};
}

void add_experiment(CLI::App& command, ExperimentArguments& into, const std::string& name, const std::string& about) {
  command.add_option(name, into.config, about)->required();
  command.add_option("key=value", into.overrides, "values that go over those of the file: trainer.learning_rate=0.1")
      ->expected(0, -1);
}

void add_run_flags(CLI::App& command, TrainArguments& into) {
  command.add_flag("--json", into.json, "print the summary as one JSON object, and nothing else on standard output");
  command.add_flag("--quiet", into.quiet, "no progress bar and no lines for epochs");
  command.add_flag("--verbose", into.verbose, "layers, memory, what was compiled, and the time to the first step");
  command.add_flag("--profile", into.profile,
                   "time each step of the training program: a table, and profile/ in the run folder");
  command.add_flag("--allow-different-bits", into.allow_different_bits,
                   "resume although the machine or thtrain differs from what the run began with");
  command.add_flag("--accept-edits", into.accept_edits,
                   "resume with what the folder's config.toml says now, although it was edited");
}

CommandLine::CommandLine(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  app.add_flag("--version", wants_version, "print the version");
  add_train();
  add_resume();
  add_eval();
  add_predict();
  add_check();
  add_explain();
  add_tune();
  add_info();
  add_data();
  add_bench();
  train.started = resume.started = started;
  train.command_line = words;
  train.command_line.insert(train.command_line.begin(), "thtrain");
}

CLI::App* CommandLine::add(const std::string& name, const std::string& about, Command command) {
  CLI::App* out = app.add_subcommand(name, about);
  out->allow_extras();  // refuse_extra has a better message
  commands.emplace_back(out, std::move(command));
  return out;
}

CLI::App* CommandLine::add_train() {
  CLI::App* c = add("train", "train an experiment", [this] { return run_train(train); });
  add_experiment(*c, train.experiment, "CONFIG", "the experiment file");
  c->add_option("--run-dir", train.run_dir, "the run's folder; else a new one in output.root")->type_name("DIR");
  c->add_flag("--resume", train.resume, "go on with the run in --run-dir");
  add_run_flags(*c, train);
  return c;
}

CLI::App* CommandLine::add_resume() {
  CLI::App* c =
      add("resume", "go on with a run that was stopped, to the same bits", [this] { return run_train(resume); });
  c->add_option("DIR", resume.run_dir, "the run's folder")->required();
  resume.resume = true;
  add_run_flags(*c, resume);
  return c;
}

void CommandLine::add_eval() {
  CLI::App* c = add("eval", "measure a model's error", [this] { return run_eval(eval); });
  add_experiment(*c, eval.experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  c->add_option("--weights", eval.weights, "an .npz; else the run's best weights")->type_name("FILE");
  c->add_option("--part", eval.part, "train, valid or test")->check(one_of({"train", "valid", "test"}));
  c->add_flag("--json", eval.json, "print one JSON object");
}

void CommandLine::add_predict() {
  CLI::App* c = add("predict", "write a model's answers for examples", [this] { return run_predict(predict); });
  add_experiment(*c, predict.experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  c->add_option("--input", predict.input, "examples, as the data files have them")->required()->type_name("X.npy");
  c->add_option("--output", predict.output, "classes; an .npz gets classes and probabilities")
      ->required()
      ->type_name("P.npy");
  c->add_option("--weights", predict.weights, "an .npz; else the run's best weights")->type_name("FILE");
  c->add_flag("--probabilities", predict.probabilities, "write probabilities into an .npy");
}

void CommandLine::add_check() {
  CLI::App* c = add("check", "build, compile and run one step; write nothing", [this] { return run_check(check); });
  add_experiment(*c, check.experiment, "CONFIG", "the experiment file");
  c->add_flag("--json", check.json, "print one JSON object");
}

void CommandLine::add_explain() {
  CLI::App* c = add("explain", "print a stage of compiling a function", [this] { return run_explain(explain); });
  add_experiment(*c, explain.experiment, "CONFIG", "the experiment file");
  CLI::Option* stage =
      c->add_option("--stage", explain.stage, join(explain_stages(), ", "))->check(one_of(explain_stages()));
  c->add_option("--html", explain.html, "write all stages, with pictures, as one page for a browser")
      ->type_name("FILE")
      ->excludes(stage);
  c->add_option("--function", explain.function, join(explain_functions(), ", "))->check(one_of(explain_functions()));
}

void CommandLine::add_tune() {
  CLI::App* c = add("tune", "measure who computes the matrix products fastest", [this] { return run_tune(tune); });
  add_experiment(*c, tune.experiment, "CONFIG", "the experiment file");
  c->add_flag("--json", tune.json, "print one JSON object");
}

void CommandLine::add_info() {
  CLI::App* c = add("info", "what this machine and this build offer", [this] { return run_info(info); });
  c->add_flag("--ops", info.ops, "list the ops");
  c->add_flag("--json", info.json, "print one JSON object");
}

void CommandLine::add_data() {
  CLI::App* c = add("data", "look into an experiment's data", [this] { return run_data(data); });
  add_experiment(*c, data.experiment, "CONFIG", "the experiment file, or a run's folder");
  c->add_flag("--check", data.check, "read all of it, also what does not fit in memory");
  c->add_flag("--json", data.json, "print one JSON object");
}

void CommandLine::add_bench() {
  CLI::App* c = add("bench", "measure thtrain beside its peers", [this] {
    bench.options.only = {only.begin(), only.end()};
    return run_bench_command(bench);
  });
  BenchOptions& o = bench.options;
  c->add_option("BENCH", bench.name, join(benches(), ", ", [](const Bench& b) { return b.name; }) + ", maths, paper")
      ->required();
  c->add_option("--case", o.cases, "cases; else all of the benchmark")->delimiter(',');
  c->add_option("--dtype", o.dtypes, "float32, float64; else both")
      ->delimiter(',')
      ->check(one_of({"float32", "float64"}));
  c->add_option("--threads", o.threads, "numbers of threads; else 1 and 2")->delimiter(',')->check(CLI::Range(1, 256));
  c->add_option("--only", only, "implementations; else thtrain, the ceiling and every peer")->delimiter(',');
  c->add_option("--turns", o.turns, "how often everybody is measured anew")->check(CLI::Range(1, 1000));
  c->add_option("--rounds", o.rounds, "how often they alternate in a turn")->check(CLI::Range(1, 1000));
  c->add_option("--seconds", o.seconds, "for each case, implementation and round")->check(CLI::Range(0.001, 1000.0));
  c->add_option("--vector-bytes", bench.vector_bytes, "`maths`: widths of vectors; else all that the processor has")
      ->delimiter(',')
      ->check(CLI::IsMember({16, 32, 64}));
  c->add_option("--samples", bench.samples,
                "`maths`: how many inputs; else every float32, and 10^8 where there are more")
      ->check(CLI::Range(1.0, 1e12));
  c->add_flag("--quick", o.quick, "small cases, and little time for each");
  c->add_option("--python", o.pythons, "where the peers are; may be given again")->type_name("PATH");
  c->add_option("--peers", o.peers_folder, "the peers' scripts")->type_name("DIR");
  c->add_option("--mkl", o.mkl, "a libmkl_rt that NumPy and SciPy take besides their own BLAS")->type_name("FILE");
  c->add_option("--figures", bench.figures, "where `paper` puts fig5.png and fig7.png; else here")->type_name("DIR");
  c->add_flag("--all", bench.all, "print every measurement too");
  c->add_flag("--json", bench.json, "print one JSON object for each measurement");
  c->add_option("--worker", bench.worker, "be the worker of that name: bench/worker.h")->group("");
  c->add_option("--output", bench.output, "of a worker's function: owned, borrowed or none")->group("");
}

std::vector<std::string> CommandLine::names() const {
  std::vector<std::string> out;
  for (const auto& [command, run] : commands) out.push_back(command->get_name());
  return out;
}

void CommandLine::refuse_command(const std::string& word) const {
  std::string near = nearest_name(word, names());
  throw UserError(
      Message{.what = str("unknown command ", word),
              .expected = join(names(), ", "),
              .hint = near.empty() ? "`thtrain --help` says what they do" : str("did you mean ", near, '?')});
}

void CommandLine::refuse_extra(const CLI::App& command, const std::string& word) const {
  std::string name = command.get_name(), help = str("`thtrain ", name, " --help` lists what it takes");
  if (!word.starts_with('-'))
    throw UserError(Message{.what = str("thtrain ", name, ": one word too many: ", word), .hint = help});
  std::string given = word.substr(0, word.find('='));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& long_name : option->get_lnames()) options.push_back("--" + long_name);
  std::string near = nearest_name(given, options);
  throw UserError(Message{.what = str("thtrain ", name, ": unknown option ", given),
                          .hint = near.empty() ? help : str("did you mean ", near, '?')});
}

Command CommandLine::parse(std::vector<std::string> words) {
  auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  auto first = std::find_if_not(words.begin(), words.end(), is_option);
  if (words.empty()) return [text = app.help()] { return print_text(text), kBadInput; };
  if (first != words.end()) {
    std::vector<std::string> known = names();
    if (std::find(known.begin(), known.end(), *first) == known.end()) refuse_command(*first);
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    for (const auto& [command, run] : commands)
      if (command->parsed()) asked = command;
    return [text = asked == &app ? app.help() : asked->help("thtrain")] { return print_text(text), kDone; };
  } catch (const CLI::ParseError& error) {
    std::string name = "thtrain";
    for (const auto& [command, run] : commands)
      if (command->parsed()) name = str("thtrain ", command->get_name());
    throw UserError(
        Message{.what = str(name, ": ", error.what()), .hint = str('`', name, " --help` lists what it takes")});
  }
  if (wants_version) return [] { return print_text(str("thtrain ", version, "\n")), kDone; };
  for (const auto& [command, run] : commands) {
    if (!command->parsed()) continue;
    if (std::vector<std::string> extras = command->remaining(); !extras.empty()) refuse_extra(*command, extras.front());
    return run;
  }
  return [text = app.help()] { return print_text(text), kBadInput; };
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  auto line = std::make_shared<CommandLine>(words, started);
  Command command = line->parse(words);
  return [line, command] { return command(); };
}

}  // namespace thtrain
