// The commands of `thtrain`: what each one takes, and the functions that run them. docs/cli.md is their page.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.h"
#include "cli/command_listing.h"
#include "reports/axis.h"

namespace thtrain {

/// How the process ends.
enum ExitCode : int {
  kDone = 0,
  kOurFault = 1,
  kBadInput = 2,
  kNotFinite = 3,      // the loss or a weight
  kInterrupted = 130,  // by SIGINT; SIGTERM gives 143, SIGHUP 129
  kBrokenPipe = 141,   // nobody reads standard output any more
};

/// An experiment file, or where a command says so a run folder, and "key=value" texts that go over it.
struct ExperimentArguments {
  std::string config;
  std::vector<std::string> overrides = {};
};

struct TrainArguments {
  ExperimentArguments experiment;  // of `resume` `config` is not set
  std::string run_dir = {};        // "": a new one in output.root
  bool resume = false;
  int64_t folds = 0;     // 0: one run
  bool dry_run = false;  // run_check() in its place
  bool json = false, quiet = false, verbose = false, profile = false;
  bool allow_different_bits = false, accept_edits = false;
  std::vector<std::string> command_line = {};     // for run.json
  std::chrono::steady_clock::time_point started;  // of the process
};
/// Without `config` the experiment is the run folder's.
int run_train(const TrainArguments& arguments);
/// A run in a subfolder for each of `folds` parts of the training examples (data.folds, data.fold), and the mean and
/// the standard deviation of their best validation errors.
int train_folds(const TrainArguments& arguments);

struct SweepArguments {
  ExperimentArguments experiment;    // `overrides` may be lists; `config` is "" with `resume`
  std::string run_dir = {};          // "": the last one of this command that is not over, or a new one in output.root
  std::string resume = {};           // the folder of a sweep to go on with
  std::optional<int64_t> jobs = {};  // not given: as many as fit the cores
  std::optional<int64_t> threads = {};  // of a run; not given: OMP_NUM_THREADS, else 1
  bool dry_run = false, json = false, quiet = false;
  std::vector<std::string> command_line = {};  // for sweep.json
};
/// A run for each point of the product of the lists, each in a process of its own. The exit code is that of the first
/// run that failed (128 + the number of a signal that ended it), or kDone.
int run_sweep(const SweepArguments& arguments);

struct EvalArguments {
  ExperimentArguments experiment;  // `config` may be a run folder
  std::string phase = {};          // "": the last one
  std::string weights = {};        // "": the run folder's
  std::string part = "test";       // "train", "valid", "test"
  bool json = false;
};
int run_eval(const EvalArguments& arguments);

struct PredictArguments {
  ExperimentArguments experiment;  // `config` may be a run folder
  std::string phase = {};          // "": the last one
  std::string weights = {};        // "": the run folder's
  std::string input, output;
  std::string lengths = {};    // file of the steps of each sequence; "": each has all
  bool probabilities = false;  // into an .npy; an .npz gets both
};
int run_predict(const PredictArguments& arguments);

struct ShowArguments {
  ExperimentArguments experiment;     // `config` is a run folder
  std::string output = {};            // "": plots/ in the run folder
  std::string phase = {};             // "": the last one
  std::string weights = {};           // "": the run folder's
  std::string part = {};              // "train", "valid", "test"; "": the test examples, else those that there are
  std::string layer = {};             // whose weights are drawn; "": the first one
  int64_t example = 0;                // that feature maps and saliency are drawn of
  int64_t occlusion = 0, stride = 0;  // of the square, in pixels; 0: chosen by the size of the pictures
};
/// Draws what a run has learned, and lists the files (trainers/show/show.h).
int run_show(const ShowArguments& arguments);

struct SampleArguments {
  std::string run_dir;
  std::string phase = {};              // "": the last one
  std::string weights = {};            // "": the run folder's
  std::string start = {};              // the text that is gone on with; "": a symbol that is drawn
  std::optional<int64_t> length = {};  // symbols that are written behind it, or steps; not given: 500 or 200
  std::optional<int64_t> gibbs = {};   // steps of Gibbs sampling for each step of an rnn_rbm; not given: 25
  int64_t seed = 1;
  double temperature = 1;
};
/// Writes text by a model that tells the next symbol of a sequence: standard output gets `start` and what the model
/// goes on with. Of a model of piano rolls it gets one. UserError where the run's model tells no
/// such thing.
int run_sample(const SampleArguments& arguments);

struct RunsArguments {
  std::string root = "runs";  // the default of output.root
  std::string sort = {};      // "best", "time", "name"; "": by when they began
  bool json = false;
};
/// A table of the runs below a folder. A folder that cannot be read is a row that says so.
int run_runs(const RunsArguments& arguments);

struct CompareArguments {
  std::vector<std::string> runs;
  std::optional<std::string> output = {};  // a .png, and beside it an .svg; not given: compare.png, where it is free
  ValueScale plot_scale = ValueScale::kAuto;
  bool json = false;
};
/// The keys in which the experiments of runs differ, what they came to, and their curves in one picture.
int run_compare(const CompareArguments& arguments);

struct CheckArguments {
  ExperimentArguments experiment;
  bool json = false;
};
int run_check(const CheckArguments& arguments);

/// What `--stage` and `--function` may be.
const std::vector<std::string>& explain_stages();
const std::vector<std::string>& explain_functions();
struct ExplainArguments {
  ExperimentArguments experiment;
  std::string phase = {};  // "": the last one
  std::string stage = "graph";
  std::string function = "train";
  std::string html = {};  // a file for the page; "": the stage is printed
};
int run_explain(const ExplainArguments& arguments);

struct TuneArguments {
  ExperimentArguments experiment;
  std::vector<std::string> only = {}, include = {}, exclude = {};  // beside those of the experiment
  bool json = false;
};
/// Times the candidates for each matrix product of the experiment, and remembers the fastest.
int run_tune(const TuneArguments& arguments);

struct InfoArguments {
  bool ops = false;
  bool json = false;
};
int run_info(const InfoArguments& arguments);

struct DataArguments {
  ExperimentArguments experiment;
  std::string phase = {};  // "": the last one
  bool check = false;
  bool json = false;
};
int run_data(const DataArguments& arguments);

/// The script that makes a shell complete command lines; `shell` is one of completed_shells().
struct CompletionArguments {
  std::string shell;
  std::vector<ListedCommand> commands = {};
};
int run_completion(const CompletionArguments& arguments);
/// The manual page.
int run_man(const std::vector<ListedCommand>& commands);

struct BenchArguments {
  std::string name;  // of the benchmark, or "maths" or "paper"
  BenchOptions options;
  std::vector<std::string> configs = {};  // of "conv"; empty: its own
  std::string figures = {};               // the folder for those of "paper"; "": the current one
  std::string markdown = {};              // the page whose section is written anew; "": none
  std::vector<int> vector_bytes = {};     // of "maths"; empty: all that the processor has
  std::optional<int64_t> samples = {};    // of "maths"
  bool all = false;                       // every measurement, beside the ratios
  bool json = false;
  std::string worker = {};          // "thtrain" or "ceiling": be that worker (bench/worker.h)
  std::string output = "borrowed";  // of the worker's function
};
int run_bench_command(const BenchArguments& arguments);

}  // namespace thtrain
