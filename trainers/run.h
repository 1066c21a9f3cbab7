// One run: the loop over epochs and minibatches, with validation, checkpoints and an end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "reports/event_file.h"
#include "trainers/checkpoint.h"
#include "trainers/kept_checkpoints.h"
#include "trainers/pictures.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {

class BadValueError;  // compiler/runtime/bad_value_source.h

inline double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The experiment as checkpoints keep it: resolved_toml with absolute paths.
std::string config_text(const Experiment& experiment, const RunFolder& folder);
/// UserError where the experiment was edited since the checkpoint and that is not accepted. Looks at nothing else, so
/// that it can be asked before the first function is compiled.
void refuse_edits(const Checkpoint& checkpoint, const Experiment& experiment, const RunFolder& folder,
                  const TrainOptions& options);

/// The folder's checkpoint; none where none was written yet, which is told. UserError where it is gone or damaged, and
/// as refuse_edits().
std::optional<Checkpoint> checkpoint_to_resume(const Experiment& experiment, const RunFolder& folder,
                                               const TrainHooks& hooks, const TrainOptions& options);

/// TrainSummary::confusion of a run that is over; the summary is interrupted where the user asks to stop meanwhile.
void add_confusion(TrainSummary& summary, const Experiment& experiment, const Dataset& data, const RunFolder& folder,
                   const TrainOptions& options);
/// The folder's table.json, where it is not there and the data is a table.
void keep_table_facts(const RunFolder& folder, const Dataset& data);

/// Gives the lock back: who trained once may read, or resume with another RunFolder.
struct RunUnlock {
  RunFolder& folder;
  ~RunUnlock() { folder.unlock(); }
};

/// What a phase has of those before it, and of the run. Without phases all is empty.
struct PhaseStart {
  std::vector<PhaseHistory> before = {};          // the phases before it
  NamedArrays weights = {};                       // what it begins with
  std::optional<RandomState> random = {};         // the generator that shuffles
  std::optional<KeptCheckpoint> last = {};        // the checkpoint that stands in the folder
  Fingerprint later = {};                         // of the data of the phases behind it: "training data of phase b"
  std::map<std::string, std::string> files = {};  // of those entries, for messages
};

/// One phase of a run; the whole run where it has no phases.
class Run {
 public:
  /// Builds and compiles. The run stands before its first minibatch. `whole` is the run's experiment, and `experiment`
  /// that of the phase.
  Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
      const TrainOptions& options, const Experiment& whole, PhaseStart start);
  Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
      const TrainOptions& options)
      : Run(experiment, data, folder, hooks, options, experiment, {}) {}

  /// Goes to where the checkpoint was written, and puts metrics.jsonl there too. UserError where something that decides
  /// bits differs and that is not allowed, or where the weights do not fit.
  void restore(const Checkpoint& checkpoint);
  /// Trains to the end. See train(). An error after on_start says in its hint how to go on from the last checkpoint.
  TrainSummary go();
  const Fingerprint& fingerprint() const { return fingerprint_; }
  /// After the end: what the next phase begins with, but for `later` and `files`.
  PhaseStart next_phase();

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<std::string> differences_from(const Checkpoint& checkpoint) const;
  std::vector<Message> with_resume_hint(const Error& error) const;
  void begin();
  void train();
  void report_resume_point();
  void train_epoch();
  void step();
  void after_step();
  void begin_errors();
  bool take_compiled();
  bool await_errors();
  class Pause;
  void keeping_state(const std::function<void()>& read);
  bool measuring(const std::function<void()>& measure);
  bool measure();
  void validate(int64_t step);
  EpochReport empty_report(int64_t epoch) const;
  void take_test(const std::optional<MetricValues>& found, int64_t step);
  bool measure_epoch();
  void finish_epoch();
  void warn_if_growing();
  void finish();
  std::string plot_path(const std::string& name) const;
  void draw_augmented();
  void draw_filters();
  void draw_samples();
  void draw_plots();
  int64_t events_step() const;
  std::string events_tag(const std::string& name) const;
  void begin_events();
  void write_epoch_events(const EpochReport& report);
  void write_picture_events();
  void measure_test_of_best();
  bool is_over() const;
  bool has_converged() const;
  double loss_scale() const;
  bool has_diverged() const;
  void warn_of_divergence();
  std::string best_path() const;
  std::vector<PhaseHistory> histories() const;
  bool is_time_spent(double more) const;
  bool ends_by_time() const;
  void take_limits(const Checkpoint& checkpoint);
  void take_patience(const Checkpoint& checkpoint);
  void go_on_after_stop();
  std::vector<std::string> own_edits(const Checkpoint& checkpoint) const;
  std::string value_then(const Checkpoint& checkpoint, const std::string& key) const;
  std::vector<std::string> what_would_extend() const;
  void end_where_time_is_spent();
  bool stop_wanted() const { return options_.stop && options_.stop->load(std::memory_order_relaxed) != 0; }
  void report_progress(Clock::time_point now);
  void report_chunks();
  void note_native_start();

  NamedArrays weight_arrays() const;
  NamedArrays step_arrays() const;
  NamedState kept_state() const;
  void set_numbers();
  Checkpoint checkpoint() const;
  void write_lost_files();
  void save();
  void save_within_epoch();
  void save_if_due(bool epoch_finished);
  void restore_arrays(const Checkpoint& checkpoint);
  void note_changes(const Checkpoint& checkpoint, const std::vector<std::string>& differing);
  [[noreturn]] void fail_non_finite();
  [[noreturn]] void fail_guarded(const BadValueError& error, const std::string& place);

  const Experiment& experiment_;
  std::string phase_;  // its name; "" without phases
  size_t phases_;      // of the whole run
  PhaseStart start_;
  RunFolder& folder_;
  const TrainHooks& hooks_;
  TrainOptions options_;
  int64_t kernels_before_;
  TrainingProgram program_;
  Monitor monitor_;
  Pictures pictures_;
  std::unique_ptr<EventFile> events_;  // null where output.tensorboard is false
  Fingerprint fingerprint_;
  RunState state_;
  RandomState next_random_;  // the generator after this epoch's draw
  std::string config_;       // config_text()
  NamedArrays best_;         // weights with the best validation error; none before the first validation
  bool best_is_written_ = true;
  bool was_resumed_ = false, warned_of_growth_ = false;
  bool has_begun_ = false;  // there is a checkpoint that stays
  int64_t saved_step_ = 0;  // of that one
  int64_t last_test_step_ = -1;
  bool waits_for_native_ = false;  // the reference trains until the compiler is done
  bool interrupted_ = false;
  bool is_compiling_ = true;       // other threads may be compiling functions of the run
  bool errors_are_begun_ = false;  // the functions that count them
  TrainSummary summary_;
  Clock::time_point epoch_began_, saved_, reported_;
  int64_t batches_since_report_ = 0;
  int64_t reported_steps_ = 0;      // of sequences that differ in length, in this epoch
  int64_t evaluations_before_ = 0;  // of a batch method, before this iteration
  /// Since the last checkpoint: Schedules::observed() from a step on, by which steps are repeated.
  std::vector<std::pair<int64_t, std::vector<double>>> observed_;
};

}  // namespace thtrain
