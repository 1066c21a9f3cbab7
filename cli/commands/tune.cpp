// `thtrain tune`: which implementations are the fastest on this machine, of what has several in an experiment.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <tuple>

#include "bench/device.h"
#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "cli/tuning_progress.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/libraries/threads.h"
#include "compiler/store/tuning_store.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/exchanged_times.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

struct TuneArguments {
  ExperimentArguments experiment;
  std::vector<std::string> only = {}, include = {}, exclude = {};  // besides those of the experiment
  std::string export_to = {}, import_from = {};                    // files of times
  std::string device = {};                                         // whose times these are; empty: the processor's
  bool json = false;
};

struct Tuned {
  kernel::ChoiceKey key;
  std::vector<CandidateTrial> trials;  // the fastest first
  std::vector<CandidateTrial> refused;
};

double gflops(const CandidateTrial& trial) {
  return 1e-9 * trial.flops / trial.seconds;
}

// Four digits without an exponent: "0.00003502".
std::string time_text(double seconds) {
  const int before = static_cast<int>(std::floor(std::log10(seconds)));
  return json_fixed(seconds, std::max(0, 3 - before));
}

std::string head_text(const kernel::ChoiceKey& key, size_t choices) {
  return str(key.text(), " (", count_text(static_cast<int64_t>(choices), "choice"), "):\n");
}

// A line for each candidate, the fastest first.
std::string trials_text(const Tuned& tuned, const std::vector<std::string>& absent) {
  std::string out;
  for (const CandidateTrial& trial : tuned.trials)
    out += str("* ", trial.candidate, ": ", time_text(trial.seconds), " sec",
               trial.flops > 0 ? str(", ", json_fixed(gflops(trial), 1), " GFLOP/s") : std::string(), "\n");
  for (const CandidateTrial& trial : tuned.refused)
    out += str("* ", trial.candidate, ": not taken: ", printable(trial.refusal), "\n");
  for (const std::string& name : absent) out += str("* ", name, ": not installed\n");
  const char* none = tuned.refused.empty() ? "none: no program ran" : "none: each was refused";
  return str(out, "= ", tuned.trials.empty() ? none : tuned.trials.front().candidate, "\n\n");
}

// Candidates whose libraries are not here.
std::vector<std::string> absent_candidates(const kernel::ChoiceKey& key, const CandidateLists& lists,
                                           const kernel::Target& target) {
  std::vector<std::string> out;
  for (const Candidate& candidate : listed_candidates(lists, key, target))
    if (!version_of(candidate)) out.push_back(candidate.name);
  return out;
}

// Not terminated: what other programs took.
std::string busy_text(const std::vector<Tuned>& all) {
  double load = 0;
  for (const Tuned& tuned : all)
    for (const CandidateTrial& trial : tuned.trials) load = std::max(load, trial.load);
  if (load == 0) return "";
  return str(
      "the machine was busy: ", json_fixed(load, 1),
      " programs wanted each core; with compiler.tune = \"always\", a run that finds it less busy times again\n");
}

std::string tuned_json(const Tuned& tuned) {
  auto trial_json = [&](const CandidateTrial& trial) {
    return JsonObject()
        .add("candidate", trial.candidate)
        .add("version", trial.version)
        .add("gflops", gflops(trial))
        .add("seconds", trial.seconds)
        .line();
  };
  auto refused_json = [&](const CandidateTrial& trial) {
    return JsonObject()
        .add("candidate", trial.candidate)
        .add("version", trial.version)
        .add("reason", trial.refusal)
        .line();
  };
  return JsonObject()
      .add("computation", tuned.key.computation)
      .add("properties", tuned.key.properties)
      .add("choice", tuned.trials.empty() ? "" : tuned.trials.front().candidate)
      .add_raw("trials", str('[', join(tuned.trials, ", ", trial_json), ']'))
      .add_raw("refused", str('[', join(tuned.refused, ", ", refused_json), ']'))
      .line();
}

// Of patterns that are on the command line as an option.
ListLocation option_location(const TuneArguments& arguments, const std::string& list, const std::string& pattern) {
  for (const auto& [key, option, patterns] : {std::tuple("only_candidates", "--only", &arguments.only),
                                              {"include_candidates", "--include", &arguments.include},
                                              {"exclude_candidates", "--exclude", &arguments.exclude}})
    if (list == key && std::find(patterns->begin(), patterns->end(), pattern) != patterns->end()) return {option};
  return {};
}

void add_options(const TuneArguments& arguments, CompilerConfig& config) {
  auto add = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(arguments.only, config.only_candidates);
  add(arguments.include, config.include_candidates);
  add(arguments.exclude, config.exclude_candidates);
}

// Times one choice and remembers it at once: what is measured is not lost where a later one is interrupted.
Tuned tune(const kernel::ChoiceKey& key, const std::vector<Candidate>& usable, int threads,
           const kernel::Target& target) {
  Tuned out{key, {}, {}};
  std::vector<CandidateTrial> trials = time_candidates(key, usable, threads, target);
  remember(tuning_of(key, trials), threads, target);
  std::stable_sort(trials.begin(), trials.end(),
                   [](const CandidateTrial& a, const CandidateTrial& b) { return a.seconds < b.seconds; });
  for (CandidateTrial& trial : trials) (trial.refusal.empty() ? out.trials : out.refused).push_back(std::move(trial));
  return out;
}

// Where times are of.
std::string where_text(const kernel::Target& target, int threads) {
  return target.is_device() ? " on " + device_facts(target)[0].second : " for " + count_text(threads, "thread");
}

// `--export FILE` or `--import FILE`, instead of measuring.
int exchange_times(const TuneArguments& arguments) {
  const bool is_export = !arguments.export_to.empty();
  const std::string option = is_export ? "--export" : "--import";
  if ((is_export && !arguments.import_from.empty()) || !arguments.experiment.config.empty())
    throw UserError(
        Message{.what = str("thtrain tune: ", option, " and ",
                            arguments.experiment.config.empty() ? "--import" : "an experiment file", " are both given"),
                .expected = "one of them",
                .hint = "the files hold the times of all experiments"});
  if (!arguments.only.empty() || !arguments.include.empty() || !arguments.exclude.empty() || arguments.json)
    throw UserError(Message{.what = str("thtrain tune: ", option, " takes no other option"),
                            .expected = str("thtrain tune ", option, " FILE")});
  const int threads = thread_count(0);
  const kernel::Target target = arguments.device.empty() ? machine() : device_named(arguments.device, "thtrain tune");
  if (!is_export) {
    const TuningTable table = imported_times(read_file(arguments.import_from), arguments.import_from, threads, target);
    if (tuning_store().is_replaced())
      throw UserError(Message{.what = "thtrain tune: the cache cannot keep what is imported",
                              .expected = "a cache folder that can be written",
                              .hint = "THTRAIN_CACHE_DIR names another one"});
    remember(table, threads, target);
    print_text(str("times of ", count_text(std::ssize(table.times()), "choice"), where_text(target, threads),
                   " taken over from ", printable(arguments.import_from), "\n"));
    return kDone;
  }
  const std::string times = exported_times(threads, target);
  const int64_t count = std::ssize(TuningTable::parse(times).times());
  if (count == 0)
    throw UserError(
        Message{.what = str("thtrain tune: nothing is remembered of this machine", where_text(target, threads)),
                .expected = "times to export",
                .hint = target.is_device()
                            ? str("`thtrain tune lab.toml compiler.device=", arguments.device, "` measures them")
                            : "`thtrain tune lab.toml` measures them; OMP_NUM_THREADS is the number of threads"});
  std::error_code error;
  if (std::filesystem::exists(arguments.export_to, error))
    if (const std::string& path = arguments.export_to; !is_file_of_times(InputFile(path).beginning(1000)))
      throw UserError(Message{
          .what = str("thtrain tune: --export would write over ", printable(path), ", which is no file of times"),
          .expected = "a new name, or that of a file of times",
          .hint = "the times of all experiments are exported: no experiment file is named"});
  AtomicFile file(arguments.export_to);
  file.write(times);
  file.commit();
  print_text(str("times of ", count_text(count, "choice"), where_text(target, threads), " written to ",
                 printable(arguments.export_to), "\n"));
  return kDone;
}

}  // namespace

// Times the candidates for each matrix product of the experiment, and remembers the fastest.
static int run_tune(const TuneArguments& arguments) {
  if (!machine().has_libraries() && !machine().is_device())
    throw UserError({.what = str("tune: ", machine().code_name(), " has one implementation of each computation"),
                     .expected = "the target of a processor",
                     .got = machine().text(),
                     .hint = "unset THTRAIN_TARGET to time the implementations of this machine"});
  if (!arguments.export_to.empty() || !arguments.import_from.empty()) return exchange_times(arguments);
  if (!arguments.device.empty())
    throw UserError(Message{.what = "thtrain tune: --device has no effect",
                            .expected = "--export or --import with a file",
                            .hint = "compiler.device=cuda behind the experiment file times its candidates there"});
  if (arguments.experiment.config.empty())
    throw UserError(
        Message{.what = "thtrain tune: CONFIG|DIR is missing",
                .hint = "give the experiment file or the run's folder, or --export or --import with a file"});
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  add_options(arguments, loaded.experiment.compiler);
  for (Experiment& phase : loaded.experiment.phases) add_options(arguments, phase.compiler);
  const CompilerConfig& compiler = loaded.experiment.compiler;
  const kernel::Target target = device_target(compiler).value_or(machine());
  const int threads = thread_count(static_cast<int>(compiler.threads));
  const double tolerance = compiler.optimizer == CompilerConfig::Optimizer::kStrict ? 0 : compiler.conv_tolerance;
  const CandidateLists lists = candidate_lists(compiler);
  PhaseData data(loaded.experiment, [&](const Experiment& phase) { return load_data(phase, loaded.config_folder); });
  auto data_of = [&](size_t i) -> const Dataset& { return data.of(i); };
  const std::vector<kernel::ChoiceKey> keys = choices_of_phases(loaded.experiment, data_of, loaded.config_folder);
  auto location = [&](const std::string& list, const std::string& pattern) {
    const ListLocation option = option_location(arguments, list, pattern);
    return option.name.empty() ? ListLocation{str("compiler.", list), compiler.at(list)} : option;
  };
  check_lists(lists, keys, target, location);
  std::vector<Tuned> tuned;
  const TuningProgress progress(keys.size());
  for (const kernel::ChoiceKey& key : keys) {
    const std::vector<Candidate> usable = usable_candidates(key, tolerance, lists, target);
    const std::vector<std::string> absent = absent_candidates(key, lists, target);
    if (!progress.is_shown())
      std::fprintf(stderr, "thtrain: choice %zu of %zu: timing %s for %s\n", tuned.size() + 1, keys.size(),
                   count_text(static_cast<int64_t>(usable.size()), "candidate").c_str(), key.text().c_str());
    tuned.push_back(tune(key, usable, threads, target));
    if (!arguments.json)
      print_text(str(head_text(key, usable.size() + absent.size()), trials_text(tuned.back(), absent)));
  }
  if (!target.is_device()) measure_machine_again();
  if (arguments.json) {
    print_text(
        JsonObject().add("threads", threads).add_raw("choices", str('[', join(tuned, ", ", tuned_json), ']')).line() +
        "\n");
    return kDone;
  }
  const bool is_reference = loaded.experiment.compiler.mode == CompilerConfig::Mode::kReference;
  const char* nothing = is_reference ? ": compiler.mode = \"reference\" computes without native code\n" : "\n";
  print_text(str(busy_text(tuned), count_text(static_cast<int64_t>(tuned.size()), "choice"),
                 where_text(target, threads),
                 tuned.empty()                  ? nothing
                 : tuning_store().is_replaced() ? ", forgotten when this program ends: see the warning\n"
                                                : str(", remembered in ", cache_folder_text(), "\n")));
  return kDone;
}

static Command declare_tune(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<TuneArguments>();
  command.add_option("CONFIG|DIR", arguments->experiment.config, "the experiment file, or a run's folder");
  add_overrides(command, arguments->experiment.overrides,
                "values to use instead of those in the file: trainer.learning_rate=0.1");
  auto patterns = [&](const char* option, std::vector<std::string>& into, const char* about) {
    command.add_option(option, into, about)->allow_extra_args(false)->type_name("PATTERN");
  };
  patterns("--only", arguments->only,
           "candidates by name or pattern, as compiler.only_candidates; may be given several times");
  patterns("--include", arguments->include,
           "names of candidates to time in addition to those worth it; may be given several times");
  patterns("--exclude", arguments->exclude, "candidates, by name or pattern, to leave out; may be given several times");
  command
      .add_option("--export", arguments->export_to,
                  "write the times of this machine, for OMP_NUM_THREADS threads, to a file; measure nothing")
      ->type_name("FILE");
  command
      .add_option("--import", arguments->import_from,
                  "take over the times of a machine with the same processor; measure nothing")
      ->type_name("FILE");
  command
      .add_option("--device", arguments->device,
                  "cuda, cuda:1 or emulated: whose times are written or taken over; without it the processor's")
      ->type_name("NAME");
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_tune(*arguments); };
}

CommandSpec tune_command() {
  return {"tune",
          "measure which implementation computes each matrix product and convolution fastest",
          {{"thtrain tune lab.toml", "measure, and remember the fastest"},
           {"thtrain tune lab.toml --exclude oneDNN", "without one of the candidates"},
           {"thtrain tune --export node.times", "for other machines with this processor"},
           {"thtrain tune --import node.times", "on each of them"}},
          declare_tune};
}

}  // namespace thtrain
