// The commands of `thtrain`: what each one takes, and the functions that run them. docs/cli.md is their page.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.h"

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
  int64_t folds = 0;  // 0: one run
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
/// goes on with. Of a model of piano rolls it gets one: sample_piano_roll(). UserError where the run's model tells no
/// such thing.
int run_sample(const SampleArguments& arguments);

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
