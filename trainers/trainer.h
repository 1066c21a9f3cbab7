// Training a model: what the command line and programs call. Trained models are used by trainers/evaluate.h, predict.h
// and sample.h.
//
// The loop is that of the Deep Learning Tutorials (LISA lab, University of Montreal, "Classifying MNIST digits using
// Logistic Regression"): minibatches, a validation error from time to time, early stopping with patience
// (trainers/monitor.h). A run owns a folder (trainers/run_folder.h) and can be resumed to the same bits.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"
#include "reports/exchange_profile.h"
#include "trainers/evaluate.h"
#include "trainers/hooks.h"
#include "trainers/ranks/ranks.h"
#include "trainers/run_folder.h"

namespace thtrain {

struct TrainOptions {
  /// Not 0: the run ends after the step or the minibatch of a measurement that is being done, with a checkpoint. A
  /// signal handler may set it.
  const std::atomic<int>* stop = nullptr;
  /// Resume although something that decides bits differs from what the run began with.
  bool allow_different_bits = false;
  /// Resume although the experiment was edited since the last checkpoint.
  bool accept_edits = false;
  /// Not 0: the run pauses when it has so many epochs, with a checkpoint; resume() goes on. Of a run without phases.
  int64_t until_epoch = 0;
  /// Times the training step, step of its program by step: TrainSummary::profile.
  bool profile = false;
  /// The processes that train together; null: this one alone. Rank 0 writes the folder; the others read from it.
  std::shared_ptr<Ranks> ranks = {};
  /// What `seconds_to_first_step` counts from.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// The result of a run , as the tutorials report it. Errors are values of the metric that the run goes by.
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
  bool interrupted = false;    // by TrainOptions::stop, or paused
  bool paused = false;         // at TrainOptions::until_epoch
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
  std::string plot;                              // of the learning curves; empty where none was drawn
  std::optional<Profile> profile = {};           // where TrainOptions::profile wanted one
  std::optional<ExchangeProfile> exchange = {};  // with it, where several processes train
  std::optional<Explanation> explanation = {};   // of the profiled step: its passes and the rules that fired
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

/// May this process write the folder of the run?
inline bool writes_folder(const TrainOptions& options) {
  return !options.ranks || options.ranks->is_first();
}

/// What ends a rank where another one has said why the run ends.
class EndedByOther : public Error {
 public:
  using Error::Error;
};

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

}  // namespace thtrain
