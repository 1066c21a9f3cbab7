// Training, evaluating and using a model: what the command line and programs call.
//
// The loop is that of the Deep Learning Tutorials (LISA lab, University of Montreal, "Classifying MNIST digits using
// Logistic Regression"): minibatches, a validation error from time to time, early stopping with patience
// (trainers/monitor.h). A run owns a folder (trainers/run_folder.h) and can be resumed to the same bits.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"
#include "datasets/data_array.h"
#include "reports/history.h"  // EpochReport
#include "trainers/experiment.h"
#include "trainers/run_folder.h"

namespace thtrain {

struct Dataset;

enum class Part { kTrain, kValid, kTest };
/// "train", "valid", "test"
const char* name_of(Part part);

// ---- what a run tells while it goes --------------------------------------------------------------------------------

struct LayerSummary {
  std::string name;        // "hidden"
  std::string type;        // "dense"
  std::string output;      // what one minibatch becomes: "float32[100, 500]"
  int64_t parameters = 0;  // numbers in its weights and biases
};

/// What was built, before the first step.
struct ModelSummary {
  std::string input;  // "float32[100, 784]"
  std::vector<LayerSummary> layers;
  int64_t classes = 0;         // 0 where examples have values
  MetricNames metrics = {{}};  // first the one that the run goes by
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t data_bytes = 0;         // of the examples that stay in memory; 0 where they are read while training
  int64_t arena_bytes = 0;        // temporaries of the training step; -1 where a call decides it
  int64_t arena_lower_bound = 0;  // bytes alive at its worst step
  int64_t train_examples = 0, valid_examples = 0, test_examples = 0;
  /// Those in full minibatches, of which the rest is left out (trainer.full_batches_only); else the same numbers. In an
  /// epoch with trainer.shuffle, others are left out than in the one before.
  int64_t train_used = 0, valid_used = 0, test_used = 0;
  int64_t batch_size = 0;
  int64_t batches = 0;                       // minibatches of an epoch
  int64_t kernels_compiled = 0;              // compiled now and not found in the cache
  double seconds_compile = 0;                // passes and compiler
  bool is_compiling = false;                 // in the background
  std::vector<std::string> reference_steps;  // ops that run through their reference
  int threads = 1;
};

/// After a minibatch; at most about twenty times a second.
struct BatchProgress {
  int64_t epoch = 1;      // from 1
  int64_t batch = 0;      // finished in this epoch
  int64_t batches = 0;    // of an epoch
  double train_loss = 0;  // mean over the finished ones
  double examples_per_second = 0;
  /// Of sequences that differ in length: how many of their steps are finished, of how many; else 0.
  int64_t steps = 0, steps_of_epoch = 0;
  double steps_per_second = 0;
};

/// Where a resumed run goes on.
struct ResumePoint {
  std::string phase = {};  // "" without phases
  int64_t epoch = 1;       // from 1
  int64_t batch = 1;       // the next one in that epoch, from 1
  int64_t batches = 0;     // of an epoch
  int64_t step = 0;        // minibatches done
  bool is_over = false;
};

struct TrainSummary;

/// A phase that begins, or goes on after a resumption.
struct PhaseReport {
  size_t index = 0, count = 1;   // from 0
  bool goes_on = false;          // after its first checkpoint
  const Experiment& experiment;  // of the phase
};

struct TrainHooks {
  std::function<void(const PhaseReport&)> on_phase = {};       // before its first function is compiled
  std::function<void(const TrainSummary&)> on_phase_end = {};  // of those before the last one
  std::function<void(const ModelSummary&)> on_start = {};      // of each phase
  std::function<void(const ResumePoint&)> on_resume = {};      // before on_start
  std::function<void(const BatchProgress&)> on_batch = {};
  std::function<void(const EpochReport&)> on_epoch = {};
  std::function<void(const std::string&)> on_message = {};  // a line for people
};

struct TrainOptions {
  /// Not 0: the run ends after the step that is being done, with a checkpoint. A signal handler may set it.
  const std::atomic<int>* stop = nullptr;
  /// Resume although something that decides bits differs from what the run began with.
  bool allow_different_bits = false;
  /// Resume although the experiment was edited since the last checkpoint.
  bool accept_edits = false;
  /// Times the training step, step of its program by step: TrainSummary::profile.
  bool profile = false;
  /// What `seconds_to_first_step` counts from.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// What a run came to, as the tutorials report it. Errors are values of the metric that the run goes by.
struct TrainSummary {
  MetricName metric = {};
  int64_t epochs = 0;                      // finished, those before a resumption included
  int64_t best_epoch = 0;                  // of the best validation error; 0 where none was measured
  int64_t stop_epoch = 0;                  // the last one, finished or not
  int64_t steps = 0;                       // minibatches
  std::optional<double> valid_error = {};  // the best
  std::optional<double> test_error =
      {};                            // of the model with the best validation error; of the last one for test_at "end"
  double train_loss = 0;             // of the last finished epoch
  double seconds = 0;                // of training, in all phases and processes: training_seconds()
  double phase_seconds = 0;          // of the phase alone
  double seconds_to_first_step = 0;  // from TrainOptions::started until the first minibatch is done
  int64_t kernels_compiled = 0;
  /// The step from which on native code ran, where compiler.background began with the reference; counted from 1.
  std::optional<int64_t> native_from_step = {};
  std::string phase = {};      // the last one that was begun; "" without phases. Counts and values are of it
  bool interrupted = false;    // by TrainOptions::stop
  bool out_of_time = false;    // trainer.max_seconds were spent
  bool stopped_early = false;  // the patience was spent
  /// At its end the validation loss is not finite, or the training loss more than ten times that of a model that knows
  /// nothing (of the first epoch, where that is not known). Not of contrastive divergence, whose cost says little.
  bool diverged = false;
  std::optional<int64_t> evaluations = {};  // of the loss of all training examples, by a batch method
  std::string converged;                    // why a batch method ended by itself; empty where it did not
  /// Evaluation::confusion of best.npz on the test examples, or where there are none on the validation examples: of a
  /// run that is over, where the metric confusion_matrix is asked for.
  std::optional<Tensor> confusion = {};
  Part confusion_part = Part::kTest;
  bool confusion_of_steps = false;            // does it count steps of sequences?
  std::vector<std::string> class_names = {};  // of its rows, where the data has names
  std::string run_dir;
  std::string plot;                             // of the learning curves; empty where none was drawn
  std::optional<Profile> profile = {};          // where TrainOptions::profile wanted one
  std::optional<Explanation> explanation = {};  // of the profiled step: its passes and the rules that fired
};

/// The loss, or a weight, became infinite or NaN. The command line ends with exit code 3. The text names layer,
/// expression, step and index of the first value that went bad, and the checkpoint that is kept.
class NonFiniteLoss : public Error {
 public:
  NonFiniteLoss(Message message, int64_t epoch, int64_t step)
      : Error({std::move(message)}), epoch_(epoch), step_(step) {}
  int64_t epoch() const { return epoch_; }
  int64_t step() const { return step_; }  // minibatches before it, from the beginning of the run

 private:
  int64_t epoch_, step_;
};

// ---- what can be done ----------------------------------------------------------------------------------------------

/// Trains from the beginning. `folder` is new (RunFolder::create); its lock is given back at the end. UserError: the
/// data does not fit the model, a weights file does not fit it, a streamed batch holds a value that is not finite, a
/// file cannot be written (the hint says where the run can go on from); NonFiniteLoss.
TrainSummary train(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks = {},
                   const TrainOptions& options = {});

/// Goes on from the folder's last checkpoint (from the beginning where none was written yet) and ends with the bits of
/// an uninterrupted run. `experiment` is what the folder's config.toml says. The folder is locked meanwhile. UserError,
/// besides those of train(): another process writes to the folder; the checkpoint is gone or damaged; the experiment
/// was edited since the checkpoint, or what decides bits differs from what the run began with, each difference named
/// (unless allowed).
TrainSummary resume(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks = {},
                    const TrainOptions& options = {});

/// A model's errors on one part of the data, counted as training counts them: over full minibatches only where
/// trainer.full_batches_only says so.
struct Evaluation {
  /// One of trainer.metrics.
  struct Value {
    std::string name;
    std::string text;                   // as people read it
    std::optional<double> number = {};  // none of a matrix
  };
  int64_t examples = 0;
  int64_t errors = 0;  // where the metric "error" counts examples or steps, which have no weights
  int64_t steps = 0;   // of those examples, where each step has a target; else 0
  double error = 0;    // of the metric that the run goes by
  double loss = 0;     // of the objective over the examples, without penalties
  MetricName metric = {};
  bool has_errors = false;         // is `errors` their number?
  std::vector<Value> others = {};  // the other metrics
  /// float64 [classes, classes]: how many examples (steps, where each has a target) of each class (rows; or the sum of
  /// their weights) were taken for each class (columns).
  std::optional<Tensor> confusion = {};
};
/// `weights` is an .npz: a run's best.npz or checkpoint.npz, or any with the model's names. UserError where it does not
/// fit the model, or the part has no examples. The confusion matrix is of the output with this number, where it decides
/// between classes.
Evaluation evaluate(const Experiment& experiment, const Dataset& data, Part part, const std::string& weights,
                    size_t confusion_of = 0);

struct Prediction {
  bool has_classes = true;  // does the model decide between classes, or give values?
  Tensor classes;           // int64 [n]: the most probable one; of values int64 [0]; by step of sequences [n, steps]
  Tensor probabilities;     // floatX [n, classes]; what the model gives, [n, ...], of values: in the units of the data;
                            // by step of sequences [n, steps, ...]
  std::string output = {};  // the layer that gives it
};
/// Of each output, in the order of loss.outputs. `x` [n, ...] holds examples as the model takes them (scaled), of any
/// real dtype; the number of classes comes from the weights. `origin` says where they come from, for messages. Values
/// that were standardized come back in the units of the data. `lengths`: int64 [n], the steps of each sequence, from 1
/// to those of x, and finite numbers stand behind them; empty: each has all. Behind the end of a sequence the class of
/// a step is -1, and its probabilities and values are 0. UserError as evaluate(), for examples of another size than the
/// weights take, weights that are not finite, and the first example whose probabilities are not.
std::vector<Prediction> predict_outputs(const Experiment& experiment, const Tensor& x, const std::string& weights,
                                        const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}},
                                        const Tensor& lengths = {});
/// Of the first output.
Prediction predict(const Experiment& experiment, const Tensor& x, const std::string& weights,
                   const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}});

struct CheckReport {
  ModelSummary model;
  double loss = 0;  // of the first minibatch, before any step
};
/// Builds, compiles, and runs one step on the first minibatch. Writes nothing. `config_folder` is where relative paths
/// start.
CheckReport check_experiment(const Experiment& experiment, const Dataset& data, const std::string& config_folder);

/// What has several implementations in the training step and in the function that counts errors, each once.
std::vector<kernel::ChoiceKey> choices_of(const Experiment& experiment, const Dataset& data,
                                          const std::string& config_folder);
/// UserError, with the key's place, where a pattern of compiler.only_candidates, include_candidates or
/// exclude_candidates names no candidate of any choice in any phase. Compiles the phases where there are patterns.
void check_candidate_lists(const Experiment& experiment, const std::function<const Dataset&(size_t phase)>& data,
                           const std::string& config_folder);
/// The choices of all phases, each once.
std::vector<kernel::ChoiceKey> choices_of_phases(const Experiment& experiment,
                                                 const std::function<const Dataset&(size_t phase)>& data,
                                                 const std::string& config_folder);
/// The function of one training step, explained (`thtrain explain`). Runs nothing.
Explanation explain_training(const Experiment& experiment, const Dataset& data, const std::string& config_folder);
/// The function that counts the errors on the validation examples. UserError where there are none.
Explanation explain_errors(const Experiment& experiment, const Dataset& data, const std::string& config_folder);

}  // namespace thtrain
