// `thtrain sweep`: a run for each point of a product of lists of values, several at once.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <sstream>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/sweep/check_points.h"
#include "cli/sweep/folder.h"
#include "cli/sweep/leader.h"
#include "cli/sweep/lr_range.h"
#include "cli/sweep/plan.h"
#include "cli/sweep/seeds.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/threads.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

struct SweepArguments {
  ExperimentArguments experiment;    // `overrides` may be lists; `config` is "" with `resume`
  std::string run_dir = {};          // "": the last one of this command that is not over, or a new one in output.root
  std::string resume = {};           // the folder of a sweep to go on with
  std::optional<int64_t> jobs = {};  // not given: as many as fit the cores
  std::optional<int64_t> threads = {};                                 // of a run; not given: OMP_NUM_THREADS, else 1
  std::string launch = {};                                             // words before the command of each run
  std::optional<int64_t> random = {}, random_seed = {}, halving = {};  // SweepSearch
  bool dry_run = false, json = false, quiet = false;
  LrRangeArguments lr_range = {};
  std::vector<std::string> command_line = {};  // for sweep.json
};

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const fs::path out = fs::absolute(path, error);
  if (error)
    throw UserError(Message{.what = "the working folder is gone", .hint = "go to a folder that exists, and try again"});
  return out.lexically_normal().string();
}

// Divided at spaces.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

SweepSearch search_of(const SweepArguments& arguments) {
  if (arguments.random_seed && !arguments.random)
    throw UserError(Message{.what = "thtrain sweep: --random-seed has no use without --random",
                            .expected = "--random N, for N runs whose values are drawn"});
  return {.random = arguments.random.value_or(0),
          .random_seed = arguments.random_seed.value_or(1),
          .halving = arguments.halving.value_or(0)};
}

// What --threads says, else OMP_NUM_THREADS, else one.
int threads_of_a_run(const SweepArguments& arguments) {
  if (arguments.threads) return static_cast<int>(*arguments.threads);
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text && *text ? thread_count() : 1;
}

/// What is asked for: by the command line, or by the folder to go on with.
struct Asked {
  SweepFacts facts;                   // without `hash` and `runs`
  std::optional<SweepFolder> folder;  // that was named, and is there
  std::string config;                 // as runs are given it
};

// The folder of a run or of a sweep where an experiment file is wanted.
void refuse_run_folder(const std::string& path) {
  const bool is_sweep = SweepFolder::is_at(path);
  std::error_code error;
  if (!is_sweep && !fs::exists(path + "/run.json", error)) return;
  const std::string text = printable(path);
  throw UserError(Message{
      .what = str(path, ": this is the folder of a ", is_sweep ? "sweep" : "run", ", and no experiment file"),
      .expected = "a TOML file",
      .hint = is_sweep
                  ? str("`thtrain sweep --resume ", text, "` goes on with that sweep")
                  : str("`thtrain sweep ", text, "/config.toml key=value,value` begins a sweep of its experiment")});
}

Asked asked_of(const SweepArguments& arguments) {
  if (arguments.resume.empty()) {
    if (arguments.experiment.config.empty())
      throw UserError(Message{.what = "thtrain sweep: CONFIG is missing",
                              .hint = "give the experiment file, or --resume with the folder of a sweep"});
    const std::string& config = arguments.experiment.config;
    refuse_run_folder(config);
    Asked out{{.command_line = arguments.command_line,
               .config_file = config,
               .config_path = absolute_path(config),
               .words = arguments.experiment.overrides,
               .threads = threads_of_a_run(arguments),
               .search = search_of(arguments)},
              {},
              config};
    if (!arguments.run_dir.empty() && SweepFolder::is_at(arguments.run_dir))
      out.folder = SweepFolder::open(arguments.run_dir);
    return out;
  }
  if (!arguments.experiment.config.empty() || !arguments.run_dir.empty())
    throw UserError(
        Message{.what = str("thtrain sweep: --resume and ",
                            arguments.run_dir.empty() ? "an experiment file" : "--run-dir", " are both given"),
                .expected = "one of them",
                .hint = "the folder of the sweep holds what its command line said"});
  if (search_of(arguments) != SweepSearch())
    throw UserError(Message{
        .what = str("thtrain sweep: --resume and", arguments.random ? " --random" : " --halving", " are both given"),
        .expected = "one of them",
        .hint = "the folder of the sweep holds what its command line said"});
  SweepFolder folder = SweepFolder::open(arguments.resume);
  const SweepFacts& facts = folder.facts();
  const bool is_here = absolute_path(facts.config_file) == facts.config_path;
  return {facts, folder, is_here ? facts.config_file : facts.config_path};
}

constexpr const char* kFirstWeights = ": first weights: ";

// "x.csv: training data: 100 examples of ..." -> "x.csv"
std::string files_of(const std::string& data) {
  for (const char* part : {": training data: ", ": validation data: ", ": test data: ", kFirstWeights})
    if (const size_t at = data.find(part); at != std::string::npos) return data.substr(0, at);
  return data;
}

UserError other_data(const std::string& folder, const std::string& then, const std::string& now) {
  const std::string files = files_of(then);
  const size_t behind = files.size() + 2;
  const bool is_data = then.find(kFirstWeights) == std::string::npos;
  const char* what = is_data ? "the data is not what it was" : "the first weights are not what they were";
  return UserError(Message{
      .what = str(folder, ": ", files, ": ", what, " when the sweep began"),
      .expected = then.substr(std::min(behind, then.size())),
      .got = files_of(now) == files ? now.substr(std::min(behind, now.size())) : now,
      .hint = str("put the ", is_data ? "data" : "file", " back as it was, or begin a sweep in another folder")});
}

// The sweep in `folder` must be the one that is asked for.
void require_same(const SweepFolder& folder, const SweepFacts& asked, const SweepArguments& arguments) {
  const SweepFacts& there = folder.facts();
  if (there.words != asked.words || there.config_path != asked.config_path || there.search != asked.search)
    throw UserError(Message{.what = str(folder.path(), ": the sweep in this folder is another one"),
                            .expected = str(there.config_path, ' ', join(there.words, " "), there.search.options()),
                            .got = str(asked.config_path, ' ', join(asked.words, " "), asked.search.options()),
                            .hint = str("`thtrain sweep --resume ", printable(folder.path()),
                                        "` goes on with it; --run-dir names another folder")});
  if (there.hash != asked.hash)
    throw UserError(
        Message{.what = str(folder.path(), ": the experiments are no longer those that the sweep began with"),
                .expected = str("what ", there.config_path, " said then"),
                .hint = "put the file back as it was, or begin a sweep in another folder"});
  for (size_t i = 0; i < std::min(there.data.size(), asked.data.size()); ++i)
    if (there.data[i] != asked.data[i]) throw other_data(folder.path(), there.data[i], asked.data[i]);
  if (arguments.threads && *arguments.threads != there.threads)
    throw UserError(Message{.what = str(folder.path(), ": --threads differs from what the sweep began with"),
                            .expected = std::to_string(there.threads),
                            .got = std::to_string(*arguments.threads),
                            .hint = "the number of threads decides the last bits of results"});
}

std::vector<SweepRun> runs_in(const SweepFolder& folder, const SweepPoints& points,
                              const std::optional<Halving>& halving) {
  std::vector<SweepRun> out;
  for (int64_t i = 0; i < points.count(); ++i) {
    const std::string name = points.name(i);
    out.push_back({.point = i, .name = name, .folder = folder.run(name)});
    read_record(out.back(), points);
  }
  if (halving) halving->advance(out);
  return out;
}

bool has_waiting(const std::vector<SweepRun>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const SweepRun& run) { return run.state == SweepRun::State::kWaiting; });
}

// The folder that was named, or the last one of the same command that has something left to do; none: a new one.
std::optional<SweepFolder> folder_there(const Asked& asked, const SweepPoints& points, const CheckedSweep& checked,
                                        const std::optional<Halving>& halving, const SweepArguments& arguments) {
  if (asked.folder) {
    require_same(*asked.folder, asked.facts, arguments);
    return asked.folder;
  }
  if (!arguments.run_dir.empty()) return {};
  const std::optional<std::string> last = last_sweep(sweep_path_start(checked.root, asked.config));
  if (!last) return {};
  std::optional<SweepFolder> there;
  try {
    there = SweepFolder::open(*last);
  } catch (const UserError&) {  // damaged, or of a newer thtrain: nobody asked for it
    return {};
  }
  const SweepFacts& facts = there->facts();
  const bool is_same = facts.words == asked.facts.words && facts.hash == asked.facts.hash &&
                       facts.config_path == asked.facts.config_path && facts.threads == asked.facts.threads &&
                       facts.search == asked.facts.search && (facts.data.empty() || facts.data == asked.facts.data);
  return is_same && has_waiting(runs_in(*there, points, halving)) ? there : std::nullopt;
}

SweepFolder new_folder(const Asked& asked, const CheckedSweep& checked, const SweepArguments& arguments) {
  if (!arguments.run_dir.empty()) return SweepFolder::create(arguments.run_dir, asked.facts);
  const std::string start = sweep_path_start(checked.root, asked.config);
  for (int attempt = 0;; ++attempt) {
    const std::string path = new_sweep_path(start);
    try {
      return SweepFolder::create(path, asked.facts);
    } catch (const UserError&) {  // another process may have taken the number
      std::error_code error;
      if (attempt == 20 || !fs::exists(path, error)) throw;
    }
  }
}

// Of each run: compiler.threads where the experiment says so.
std::vector<int> threads_of(const CheckedSweep& checked, int threads, const SweepArguments& arguments) {
  std::vector<int> out;
  for (int64_t own : checked.threads) {
    if (own > 0 && arguments.threads && own != threads)
      throw UserError(Message{.what = "thtrain sweep: --threads has no effect on a run that has threads of its own",
                              .expected = str("no --threads, or ", own),
                              .got = std::to_string(threads),
                              .hint = "compiler.threads = 0 leaves the number to --threads"});
    out.push_back(own > 0 ? static_cast<int>(own) : threads);
  }
  return out;
}

std::optional<Halving> halving_of(const SweepSearch& search, const CheckedSweep& checked) {
  if (search.halving == 0) return {};
  if (checked.has_phases)
    throw UserError(Message{.what = "thtrain sweep: --halving has no use in an experiment of several phases",
                            .expected = "no [[phase]]"});
  return Halving(search.halving, *std::ranges::max_element(checked.epochs));
}

// The exit code of the first run that failed.
int code_of(const std::vector<SweepRun>& runs) {
  for (const SweepRun& run : runs)
    if (run.state == SweepRun::State::kFailed) return run.code;
  return kDone;
}

// For who is told no lines of the runs.
void tell_failures(const SweepFolder& folder, const std::vector<SweepRun>& runs) {
  std::vector<std::string> failed;
  for (const SweepRun& run : runs)
    if (run.state == SweepRun::State::kFailed)
      failed.push_back(str(run.name, ": ", end_text(run), run.message.empty() ? "" : ": ", run.message));
  if (failed.empty()) return;
  const Message message{.what = str(failed.size(), " of ", count_text(std::ssize(runs), "run"), " of the sweep failed"),
                        .expected = "runs that end by themselves",
                        .got = join(failed, "\n"),
                        .hint = str("what they printed is in ", folder.path(), "/logs")};
  std::fprintf(stderr, "%s\n", message.text().c_str());
}

int report(const SweepFolder& folder, const SweepPoints& points, const std::vector<SweepRun>& runs, int interrupted,
           bool has_csv, bool json) {
  using State = SweepRun::State;
  const auto count = [&](State state) {
    return std::count_if(runs.begin(), runs.end(), [&](const SweepRun& run) { return run.state == state; });
  };
  const int code = interrupted != 0 ? interrupted : code_of(runs);
  const int64_t finished = count(State::kDone), failed = count(State::kFailed), dropped = count(State::kDropped);
  if (json) {
    JsonObject out;
    out.add("sweep_dir", folder.path());
    if (has_csv) out.add("csv", folder.csv());
    if (has_csv && has_seeds(points)) out.add("seeds_csv", folder.seeds_csv());
    out.add("finished", finished).add("failed", failed);
    if (dropped > 0) out.add("dropped", dropped);
    out.add("interrupted", interrupted != 0).add_raw("runs", results_json(points, runs));
    if (has_seeds(points)) out.add_raw("seeds", seeds_json(points, runs));
    print_text(out.line() + '\n');
    return code;
  }
  std::string text = interrupted != 0 ? "" : results_table(points, runs) + seeds_table(points, runs);
  text += str(finished, " of ", count_text(points.count(), "run"), " finished");
  if (failed > 0) text += str(", ", failed, " failed");
  if (dropped > 0) text += str(", ", dropped, " dropped");
  text += str("\nsweep folder ", printable(folder.path()), '\n');
  if (has_csv) text += str("table ", printable(folder.csv()), '\n');
  if (has_csv && has_seeds(points)) text += str("means ", printable(folder.seeds_csv()), '\n');
  if (interrupted != 0) text += str("`thtrain sweep --resume ", printable(folder.path()), "` goes on with it\n");
  print_text(text);
  return code;
}

// `--dry-run`: the result of each run so far, and what is done with it.
int tell_plan(const std::optional<SweepFolder>& folder, const SweepPoints& points,
              const std::optional<Halving>& halving, SweepPlan plan, bool json) {
  std::vector<SweepRun> runs;
  if (folder) {
    runs = runs_in(*folder, points, halving);
    if (has_waiting(runs)) folder->check_logs();
    plan.head = str("sweep ", folder->path());
  } else {
    for (int64_t i = 0; i < points.count(); ++i) runs.push_back({.point = i, .name = points.name(i), .folder = ""});
  }
  if (json) {
    JsonObject out;
    if (folder) out.add("sweep_dir", folder->path());
    out.add("jobs", plan.jobs).add_raw("runs", plan_json(plan, points, runs));
    print_text(out.line() + '\n');
  } else {
    print_text(folder ? plan_text(plan, points, runs) : list_text(plan, points, runs));
  }
  return kDone;
}

}  // namespace

// The options that only runs have.
static void refuse_with_lr_range(const SweepArguments& arguments) {
  const char* given = !arguments.run_dir.empty()  ? "--run-dir"
                      : !arguments.resume.empty() ? "--resume"
                      : arguments.jobs            ? "--jobs"
                      : arguments.threads         ? "--threads"
                      : !arguments.launch.empty() ? "--launch"
                      : arguments.random          ? "--random"
                      : arguments.halving         ? "--halving"
                      : arguments.dry_run         ? "--dry-run"
                                                  : nullptr;
  if (!given) return;
  throw UserError(Message{.what = str("thtrain sweep: ", given, " has no use with --lr-range"),
                          .expected = str("no ", given),
                          .hint = "a range test is no run: it writes a table and a picture"});
}

// A run for each point of the product of the lists, each in a process of its own. The exit code is that of the first
// run that failed (128 + the number of a signal that ended it), or kDone.
static int run_sweep(const SweepArguments& arguments) {
  if (arguments.lr_range.wanted) {
    refuse_with_lr_range(arguments);
    LrRangeArguments test = arguments.lr_range;
    test.json = arguments.json;
    return run_lr_range(test, arguments.experiment);
  }
  require_lr_range(arguments.lr_range);
  require_one_process("thtrain sweep starts the processes of its runs by itself");
  Asked asked = asked_of(arguments);
  const SweepPoints points(asked.facts.words, asked.facts.search);
  const CheckedSweep checked = check_points(asked.config, points, arguments.quiet);
  asked.facts.hash = checked.hash;
  asked.facts.data = checked.files;
  for (int64_t i = 0; i < points.count(); ++i) asked.facts.runs.push_back(points.name(i));
  const std::optional<Halving> halving = halving_of(asked.facts.search, checked);
  const int of_a_run = asked.folder ? asked.folder->facts().threads : asked.facts.threads;
  const std::vector<int> threads = threads_of(checked, of_a_run, arguments);
  const int most_threads = *std::max_element(threads.begin(), threads.end());
  const int jobs = static_cast<int>(arguments.jobs.value_or(std::max(1, cpu().cores / most_threads)));
  const std::optional<SweepFolder> there = folder_there(asked, points, checked, halving, arguments);
  SweepPlan plan{.head = str("sweep of ", asked.config), .jobs = jobs, .threads = threads, .epochs = checked.epochs};
  if (arguments.dry_run) return tell_plan(there, points, halving, std::move(plan), arguments.json);
  SweepFolder folder = there ? *there : new_folder(asked, checked, arguments);
  folder.lock();
  std::vector<SweepRun> runs = runs_in(folder, points, halving);
  if (has_waiting(runs)) folder.check_logs();
  plan.head = str("sweep ", folder.path());
  if (!arguments.json && !arguments.quiet) print_text(list_text(plan, points, runs));
  const std::vector<std::string> launch = words_of(arguments.launch);
  int interrupted = 0;
  bool has_csv = false;
  {
    SweepLeader leader(folder, points, runs,
                       {.config = launch.empty() ? asked.config : asked.facts.config_path,
                        .jobs = jobs,
                        .threads = threads,
                        .epochs = checked.epochs,
                        .launch = launch,
                        .halving = halving,
                        .quiet = arguments.quiet,
                        .lines = !arguments.json});
    interrupted = leader.lead();
    has_csv = leader.has_csv();
  }
  const int code = report(folder, points, runs, interrupted, has_csv, arguments.json);
  if (arguments.quiet || arguments.json) tell_failures(folder, runs);
  return code;
}

static Command declare_sweep(CLI::App& command, const Invocation& invocation) {
  auto arguments = std::make_shared<SweepArguments>();
  arguments->command_line = invocation.words;
  command.add_option("CONFIG", arguments->experiment.config, "the experiment file, or --resume DIR");
  add_overrides(command, arguments->experiment.overrides,
                "values to use, or lists of them: trainer.learning_rate=0.1,0.03 seed=1..3");
  command.add_option("--run-dir", arguments->run_dir, "folder for the sweep; without it a new one in output.root")
      ->type_name("DIR");
  command.add_option("--resume", arguments->resume, "go on with the sweep in that folder")->type_name("DIR");
  command.add_option("--jobs", arguments->jobs, "runs at once; without it as many as fit the cores")
      ->type_name("N")
      ->check(number_in("sweep", "--jobs", int64_t{1}, int64_t{1000}));
  command.add_option("--threads", arguments->threads, "threads of each run; without it OMP_NUM_THREADS, or 1")
      ->type_name("N")
      ->check(number_in("sweep", "--threads", int64_t{1}, int64_t{kMaxThreads}));
  command.add_option("--launch", arguments->launch, "what the command of each run begins with, as in \"srun -n1 -c2\"")
      ->type_name("WORDS");
  command.add_option("--random", arguments->random, "N points with drawn values, instead of all combinations")
      ->type_name("N")
      ->check(number_in("sweep", "--random", int64_t{1}, kMaxSweepRuns));
  command.add_option("--random-seed", arguments->random_seed, "of what --random draws; 1 unless given")
      ->type_name("N")
      ->check(number_in("sweep", "--random-seed", int64_t{0}, std::numeric_limits<int64_t>::max()));
  command
      .add_option("--halving", arguments->halving,
                  "rounds: after so many epochs, then twice as many, ..., the better half of the runs goes on")
      ->type_name("EPOCHS")
      ->check(number_in("sweep", "--halving", int64_t{1}, int64_t{1'000'000'000}));
  command.add_flag("--dry-run", arguments->dry_run, "check all runs and list them; start none");
  command.add_flag("--json", arguments->json,
                   "print the results as one JSON object, and nothing else on standard output");
  command.add_flag("--quiet", arguments->quiet, "show no list, no progress and no line for each run");
  add_lr_range(command, arguments->lr_range);
  return [arguments] { return run_sweep(*arguments); };
}

CommandSpec sweep_command() {
  return {"sweep",
          "train an experiment with each combination of several values, several runs at once",
          {{"thtrain sweep lab.toml trainer.learning_rate=0.1,0.03 seed=1..3", "six runs"},
           {"thtrain sweep lab.toml model.layers.0.units=100,200 trainer.epochs=5", "two runs of 5 epochs each"},
           {"thtrain sweep lab.toml trainer.learning_rate=log:0.001..1 --random 20", "20 runs with drawn values"},
           {"thtrain sweep lab.toml trainer.learning_rate=log:0.001..1 --random 64 --halving 2",
            "64 for 2 epochs, the better 32 for 4, ..."},
           {"thtrain sweep lab.toml --lr-range", "the loss over rising learning rates, and a suggestion"},
           {"thtrain sweep lab.toml seed=1..64 --launch \"srun -n1\" --jobs 16", "16 at once, on other machines"},
           {"thtrain sweep --resume runs/lab-sweep-1", "go on with a sweep that was stopped"}},
          declare_sweep};
}

}  // namespace thtrain
