// `thtrain train` and `thtrain resume`.
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "cli/commands/check.h"
#include "cli/commands/train.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/load_experiment.h"
#include "cli/machine_rates.h"
#include "cli/progress.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "cli/tuning_progress.h"
#include "compiler/base/build_info.h"
#include "compiler/base/content_hash.h"
#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "compiler/libraries/threads.h"
#include "reports/exchange_profile.h"
#include "reports/profile_report.h"
#include "trainers/config_edits.h"
#include "trainers/folder_guard.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/run/alike.h"
#include "trainers/run/restore.h"
#include "trainers/shards.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void report_profile(const TrainSummary& summary, const Experiment& experiment, bool print) {
  const Profile& profile = *summary.profile;
  const MachineRates rates =
      profile.clock.empty() ? machine_rates(experiment.compiler, profile.threads) : device_rates(experiment.compiler);
  std::string folder = summary.run_dir + "/profile";
  std::error_code error;
  fs::create_directory(folder, error);  // not the run's, where that was removed
  if (error) throw folder_error(folder, error.value());
  write_text(folder + "/profile.json", profile_json(profile, *summary.explanation, rates));
  write_text(folder + "/trace.json", profile_trace(profile));
  if (summary.exchange) write_text(folder + "/exchange.json", exchange_json(*summary.exchange));
  if (print)
    print_text(str(profile_table(profile, *summary.explanation, rates),
                   summary.exchange ? exchange_text(*summary.exchange) : "", "profile ", folder, "\n"));
}

// Lines that cannot be written end the run as a signal does: with a checkpoint.
TrainHooks watched(TrainHooks hooks, const Progress& progress, InterruptWatch& interrupt) {
  auto then_look = [&progress, &interrupt](auto hook) {
    return [hook, &progress, &interrupt](const auto& what) {
      hook(what);
      if (progress.output_error() != 0) interrupt.ask();
    };
  };
  hooks.on_start = then_look(hooks.on_start);
  hooks.on_resume = then_look(hooks.on_resume);
  hooks.on_epoch = then_look(hooks.on_epoch);
  hooks.on_phase = then_look(hooks.on_phase);
  hooks.on_phase_end = then_look(hooks.on_phase_end);
  return hooks;
}

int result(const TrainSummary& summary, Progress& progress, const InterruptWatch& interrupt,
           const Experiment& experiment, bool json) {
  progress.finish(summary);
  if (summary.profile) report_profile(summary, experiment, !json);
  if (summary.interrupted && interrupt.exit_code() != 0) return interrupt.exit_code();
  if (progress.output_error() == 0) return kDone;
  if (progress.output_error() == EPIPE) return kBrokenPipe;
  throw UserError(Message{.what = str("standard ", json ? "error" : "output", " cannot be written"),
                          .got = system_error_text(progress.output_error()),
                          .hint = summary.interrupted
                                      ? str("the checkpoint of step ", summary.steps, " is kept: `thtrain resume ",
                                            summary.run_dir, "` goes on from it")
                                      : str("the run is over: ", summary.run_dir)});
}

// Values that are typed are meant; edits of the folder's config.toml besides them are still asked about.
void extend(LoadedExperiment& loaded, const TrainArguments& arguments, TrainOptions& options) {
  const std::vector<std::string>& overrides = arguments.experiment.overrides;
  if (overrides.empty() || !arguments.experiment.config.empty()) return;
  if (loaded.run->has_checkpoint())
    refuse_edits(read_checkpoint(loaded.run->checkpoint()), loaded.experiment, *loaded.run, options);
  loaded.experiment = load_run(arguments.run_dir, overrides).experiment;
  options.accept_edits = true;
}

// Of a rank that prints nothing.
int quiet_result(const TrainSummary& summary, const InterruptWatch& interrupt) {
  return summary.interrupted ? interrupt.exit_code() : kDone;
}

// Before anything is written: of all phases.
void check_job(const Experiment& experiment, Ranks& ranks, int64_t until_epoch) {
  if (until_epoch > 0 && phase_count(experiment) > 1)
    throw UserError(Message{.what = "--until-epoch has no use in an experiment of several phases",
                            .expected = "no [[phase]]",
                            .hint = "a phase ends after its own trainer.epochs"});
  for (size_t i = 0; i < phase_count(experiment); ++i) check_ranks(phase_of(experiment, i), ranks);
  require_alike(ranks, {{"thtrain", std::string(build_id)},
                        {"experiment", content_hash({resolved_toml(experiment)})},
                        {"threads", str(thread_count(static_cast<int>(experiment.compiler.threads)))}});
}

// What tells the folder of a run from another one; "" where there is none.
std::string identity_of(const std::string& path) {
  const fs::path folder = path, checkpoint = folder / "checkpoint.npz";
  std::error_code error;
  if (!fs::exists(folder / "run.json", error)) return "";
  return content_hash(
      {read_file((folder / "run.json").string()), fs::exists(checkpoint, error) ? read_file(checkpoint.string()) : ""});
}

// All ranks read the folder that the first one has. They wait as long as it needs for that, and for its data.
std::string shared_folder(Ranks& ranks, const std::string& of_first) {
  if (ranks.size() == 1) return of_first;
  const Ranks::Patience prepares(ranks);
  std::string path = ranks.from_first(of_first);
  const std::vector<std::string> all = ranks.gather(identity_of(path));
  for (int rank = 1; rank < ranks.size(); ++rank) {
    const std::string& one = all[static_cast<size_t>(rank)];
    if (one == all[0]) continue;
    throw UserError(Message{.what = str(ranks.name_of(rank),
                                        one.empty() ? " does not see the folder of the run: "
                                                    : " sees another folder of a run than rank 0: ",
                                        path),
                            .expected = "a file system that all ranks share",
                            .hint = "--run-dir names a folder on one"});
  }
  return path;
}

int resume_run(const TrainArguments& arguments, Progress::Options options, TrainOptions train_options) {
  Ranks& ranks = *train_options.ranks;
  auto load = [&](const std::string& path) {
    LoadedExperiment out = load_run(path, {});
    if (ranks.is_first()) out.run->lock();
    return out;
  };
  std::optional<LoadedExperiment> first;
  if (ranks.is_first()) first = load(arguments.run_dir);
  const std::string shared = shared_folder(ranks, fs::absolute(arguments.run_dir).string());
  LoadedExperiment loaded = first ? std::move(*first) : load(shared);
  extend(loaded, arguments, train_options);
  if (!arguments.experiment.config.empty())
    require_same(load_experiment(arguments.experiment.config, arguments.experiment.overrides), loaded);
  check_job(loaded.experiment, ranks, arguments.until_epoch);
  PhaseData data(loaded.experiment, [&](const Experiment& phase) {
    LoadedExperiment one = loaded;
    one.experiment = phase;
    return load_run_data(one, ranks.is_first());
  });
  options.epochs = loaded.experiment.trainer.epochs;
  const TuningProgress tuning(0, options.quiet);
  Progress progress(options);
  InterruptWatch interrupt(ranks.size() > 1);
  train_options.stop = interrupt.flag();
  if (!ranks.is_first()) return quiet_result(resume_phases(data, *loaded.run, {}, train_options), interrupt);
  TrainHooks hooks = watched(progress.hooks(), progress, interrupt);
  if (!arguments.experiment.overrides.empty() && arguments.experiment.config.empty())
    hooks.on_start = [&, report = hooks.on_start](const ModelSummary& model) {  // nothing refused it
      write_text(loaded.run->config(), resolved_toml(loaded.experiment));
      report(model);
    };
  return result(resume_phases(data, *loaded.run, hooks, train_options), progress, interrupt, loaded.experiment,
                arguments.json);
}

// Where two runs choose the same number at once, one of them takes the next.
RunFolder make_folder(const TrainArguments& arguments, const LoadedExperiment& loaded,
                      std::optional<FolderGuard>& location) {
  RunFacts facts{arguments.command_line, loaded.config_file, loaded.config_folder};
  for (int attempt = 0;; ++attempt) {
    std::string path = arguments.run_dir;
    if (path.empty()) path = new_run_path(loaded.experiment.output.root, loaded.config_file);
    location.emplace(path);
    try {
      RunFolder folder = RunFolder::create(path, loaded.experiment, facts);
      location->made();
      return folder;
    } catch (const UserError&) {
      std::error_code error;
      if (!arguments.run_dir.empty() || attempt == 20 || !fs::exists(path, error)) throw;
    }
  }
}

// A run folder where an experiment file is wanted.
void refuse_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || !fs::exists(fs::path(path) / "config.toml", error)) return;
  const std::string folder = fs::path(path).has_filename() ? path : fs::path(path).parent_path().string();
  throw UserError(Message{.what = str(folder, ": this is the folder of a run, and no experiment file"),
                          .expected = "a TOML file",
                          .hint = str("`thtrain resume ", folder, "` goes on with that run;\n`thtrain train ", folder,
                                      "/config.toml` begins a new run of its experiment")});
}

int new_run(const TrainArguments& arguments, Progress::Options options, TrainOptions train_options) {
  Ranks& ranks = *train_options.ranks;
  refuse_folder(arguments.experiment.config);
  LoadedExperiment loaded = load_experiment(arguments.experiment.config, arguments.experiment.overrides);
  const Experiment& experiment = loaded.experiment;
  check_job(experiment, ranks, arguments.until_epoch);
  std::set<std::string> warned;
  PhaseData data(experiment, [&](const Experiment& phase) {
    Dataset out = load_data(phase, loaded.config_folder);
    if (ranks.is_first() && warned.insert(phase_name(phase)).second) print_warnings(phase, out);
    return out;
  });
  data.of(0);
  const TuningProgress tuning(0, options.quiet);
  check_candidate_lists(
      experiment, [&](size_t i) -> const Dataset& { return data.of(i); }, loaded.config_folder);
  options.epochs = experiment.trainer.epochs;
  Progress progress(options);
  InterruptWatch interrupt(ranks.size() > 1);
  train_options.stop = interrupt.flag();
  if (!ranks.is_first()) {
    RunFolder folder = RunFolder::open(shared_folder(ranks, ""));
    return quiet_result(train_phases(data, folder, {}, train_options), interrupt);
  }
  std::optional<FolderGuard> location;
  RunFolder folder = make_folder(arguments, loaded, location);
  shared_folder(ranks, fs::absolute(folder.path()).string());
  TrainHooks hooks = watched(progress.hooks(), progress, interrupt);
  hooks.on_start = [&, report = hooks.on_start](const ModelSummary& model) {
    location->keep();
    report(model);
  };
  return result(train_phases(data, folder, hooks, train_options), progress, interrupt, experiment, arguments.json);
}

}  // namespace

// `--dry-run`: what a run of the same words would meet before its first step.
static int try_train(const TrainArguments& arguments) {
  if (arguments.resume || arguments.folds != 0)
    throw UserError(Message{.what = str("--dry-run and ", arguments.resume ? "--resume" : "--folds", " are both given"),
                            .expected = "one of them",
                            .hint = "`thtrain check` takes an experiment file or the folder of a run"});
  return run_check({.experiment = arguments.experiment, .json = arguments.json});
}

int run_train(const TrainArguments& arguments) {
  if (arguments.dry_run) return try_train(arguments);
  if (arguments.folds != 0 && arguments.until_epoch != 0)
    throw UserError(Message{.what = "--folds and --until-epoch are both given", .expected = "one of them"});
  if (arguments.folds != 0) {
    require_one_process("--folds trains in one process after the other");
    return train_folds(arguments);
  }
  Progress::Options options{.json = arguments.json, .quiet = arguments.quiet, .verbose = arguments.verbose};
  TrainOptions train_options{.allow_different_bits = arguments.allow_different_bits,
                             .accept_edits = arguments.accept_edits,
                             .until_epoch = arguments.until_epoch,
                             .profile = arguments.profile,
                             .started = arguments.started};
  train_options.ranks = join_job();
  if (!train_options.ranks->is_first()) options.quiet = true;
  if (!arguments.resume) return new_run(arguments, options, train_options);
  if (arguments.run_dir.empty())
    throw UserError(Message{.what = "--resume needs the folder of the run to go on with",
                            .expected = "--run-dir DIR",
                            .hint = "`thtrain resume DIR` is the same"});
  return resume_run(arguments, options, train_options);
}

void add_run_flags(CLI::App& command, TrainArguments& into) {
  command
      .add_option("--until-epoch", into.until_epoch, "pause after so many epochs, with a checkpoint; `resume` goes on")
      ->type_name("N")
      ->check(number_in(command.get_name(), "--until-epoch", int64_t{1}, int64_t{1'000'000'000}));
  command.add_flag("--json", into.json, "print the summary as one JSON object, and nothing else on standard output");
  command.add_flag("--quiet", into.quiet, "show no progress bar and no line for each epoch");
  command.add_flag("--verbose", into.verbose, "show layers, memory, what was compiled, and the time to the first step");
  command.add_flag("--profile", into.profile,
                   "time each step of the training program; print a table and write profile/ in the run folder");
  command.add_flag("--allow-different-bits", into.allow_different_bits,
                   "resume although the machine or thtrain differs from those that the run started with");
  command.add_flag("--accept-edits", into.accept_edits,
                   "resume with what the folder's config.toml says now, although it was edited");
}

static Command declare_train(CLI::App& command, const Invocation& invocation) {
  auto arguments = std::make_shared<TrainArguments>();
  arguments->started = invocation.started;
  arguments->command_line = invocation.words;
  add_experiment(command, arguments->experiment, "CONFIG", "the experiment file");
  command.add_option("--run-dir", arguments->run_dir, "folder for the run; without it a new one in output.root")
      ->type_name("DIR");
  command
      .add_option("--folds", arguments->folds, "train once for each of so many parts, which validates; mean and spread")
      ->type_name("K")
      ->check(folds());
  command.add_flag("--resume", arguments->resume, "continue the run in --run-dir");
  command.add_flag("--dry-run", arguments->dry_run, "build, compile and run one step, write no files: `thtrain check`");
  add_run_flags(command, *arguments);
  return [arguments] { return run_train(*arguments); };
}

CommandSpec train_command() {
  return {"train",
          "train an experiment",
          {{"thtrain train lab.toml", "into a new folder, such as runs/lab-1"},
           {"thtrain train lab.toml --run-dir first", "into the folder first"},
           {"thtrain train lab.toml trainer.learning_rate=0.01 model.layers.0.units=300", "layers count from 0"}},
          declare_train};
}

}  // namespace thtrain
