#include "trainers/run/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "compiler/base/escape.h"
#include "compiler/host/cache.h"
#include "compiler/ir/bad_values.h"
#include "compiler/runtime/bad_value_source.h"
#include "datasets/file.h"
#include "datasets/npz.h"
#include "reports/json.h"
#include "trainers/config_edits.h"
#include "trainers/load_data.h"
#include "trainers/non_finite.h"

namespace thtrain {

std::string config_text(const Experiment& experiment, const RunFolder& folder) {
  return resolved_toml(with_absolute_paths(experiment, folder.facts().config_folder));
}

void refuse_edits(const Checkpoint& checkpoint, const Experiment& experiment, const RunFolder& folder,
                  const TrainOptions& options) {
  std::vector<std::string> edits = config_edits(checkpoint.config, config_text(experiment, folder));
  if (edits.empty() || options.accept_edits) return;
  throw UserError(Message{.what = str(folder.config(), ": the experiment was edited since the last checkpoint"),
                          .expected = "what the run was trained with so far",
                          .got = join(edits, "\n"),
                          .hint = "--accept-edits goes on with what it says now"});
}

Run::Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
         const TrainOptions& options, const Experiment& whole, PhaseStart start)
    : experiment_(experiment),
      phase_(phase_name(experiment)),
      phases_(phase_count(whole)),
      start_(std::move(start)),
      folder_(folder),
      hooks_(hooks),
      options_(options),
      kernels_before_(compile_stats().kernels_compiled),
      program_(experiment, data, folder.facts().config_folder, start_.weights),
      monitor_(experiment.trainer, program_.batches(), program_.metric_names()[0].larger_is_better),
      pictures_(experiment, data, program_.model()),
      fingerprint_(machine_fingerprint(experiment.compiler.threads)),
      next_random_(start_.random.value_or(program_.model().random())),
      config_(config_text(whole, folder)) {
  Fingerprint more = program_.fingerprint();
  fingerprint_.insert(fingerprint_.end(), more.begin(), more.end());
  fingerprint_.insert(fingerprint_.end(), start_.later.begin(), start_.later.end());
  waits_for_native_ = program_.is_compiling();
  if (waits_for_native_) fingerprint_.emplace_back(kNativeEntry, "not at the beginning");
  state_.random = next_random_;
  state_.report = empty_report(1);
  summary_.metric = program_.metric_names()[0];
  summary_.run_dir = folder.path();
  summary_.phase = phase_;
}

// ---- the loop ------------------------------------------------------------------------------------------------------

bool Run::is_over() const {
  if (state_.unmeasured == Unmeasured::kEpoch) return false;  // its last epoch is still to be reported
  return state_.stopped_early || state_.epochs >= experiment_.trainer.epochs || has_converged();
}

// A batch method ends by itself. Its last iteration is reported first.
bool Run::has_converged() const {
  return program_.method() && program_.method()->status() != BatchStatus::kRunning && state_.batch == 0;
}

// Who was asked to stop before does one step all the same, and what is measured after it: a run that is always asked to
// comes to its end.
TrainSummary Run::go() {
  if (!stop_wanted()) program_.stop_measuring_where([this] { return stop_wanted(); });
  try {
    begin();
    train();
    finish();
  } catch (const UserError& error) {
    if (!has_begun_) throw;
    throw UserError(with_resume_hint(error));
  } catch (const InternalError& error) {
    if (!has_begun_) throw;
    throw InternalError(with_resume_hint(error).front());
  }
  return summary_;
}

std::vector<Message> Run::with_resume_hint(const Error& error) const {
  std::vector<Message> messages = error.messages();
  std::string& hint = messages.back().hint;
  std::error_code ignored;
  if (!folder_.is_in_place())
    hint = str("where the folder has another name now, `thtrain resume` goes on from its checkpoint of step ",
               saved_step_);
  else if (std::filesystem::exists(folder_.checkpoint(), ignored))
    hint += str(hint.empty() ? "" : ";\n", "the checkpoint of step ", saved_step_, " is kept: `thtrain resume ",
                printable(folder_.path()), "` goes on from it");
  else
    hint = str(printable(folder_.checkpoint()), " was removed or renamed while the run was at work");
  return messages;
}

// The first checkpoint comes before run.json's pins: these say that there was one. Until on_start, a new folder may be
// taken away again.
void Run::begin() {
  saved_ = reported_ = Clock::now();
  if (!was_resumed_) save();
  folder_.set_metric(program_.metric_names()[0]);
  folder_.write_facts(experiment_.seed, fingerprint_);
  begin_events();
  if (was_resumed_) report_resume_point();
  // Of the last weights of a run that was over, and now goes on.
  std::error_code ignored;
  if (was_resumed_ && !monitor_.has_best() && !is_over()) std::filesystem::remove(folder_.best(), ignored);
  if (hooks_.on_start) hooks_.on_start(program_.summary());
  has_begun_ = true;
  draw_augmented();
  if (options_.profile) program_.start_profile();
  report_chunks();
  reported_ = Clock::now();
}

void Run::train() {
  end_where_time_is_spent();
  while (!is_over() && !interrupted_) {
    train_epoch();
    if (!interrupted_ && !is_over()) save_if_due(true);
  }
}

void Run::report_resume_point() {
  if (!hooks_.on_resume) return;
  hooks_.on_resume({.phase = phase_,
                    .epoch = state_.epochs + 1,
                    .batch = std::min(state_.batch + 1, program_.batches()),
                    .batches = program_.batches(),
                    .step = state_.step,
                    .is_over = is_over()});
}

void Run::train_epoch() {
  epoch_began_ = Clock::now();
  next_random_ = state_.random;
  double loss_sum = state_.loss_sum;
  program_.begin_epoch(next_random_, state_.epochs);
  program_.set_loss_sum(loss_sum);  // not 0 where the epoch was begun before a resumption
  if (state_.batch == 0) program_.clear_carried_state();
  reported_steps_ = program_.steps_of_first(state_.batch);
  if (state_.unmeasured == Unmeasured::kStep && !measure()) return;
  while (state_.batch < program_.batches() && !state_.stopped_early) {
    if (!take_compiled()) return;
    set_numbers();
    step();
    after_step();
    begin_errors();
    if (!measure()) return;
    if (stop_wanted()) interrupted_ = true;
    if (state_.batch == program_.batches() || state_.stopped_early) break;
    if (interrupted_) return;
    save_if_due(false);
  }
  // More than that: the checkpoint is of a run with more minibatches, and its epoch ends here.
  bool whole = state_.batch >= program_.batches();
  if (whole || state_.report.valid_error || state_.out_of_time) finish_epoch();
}

void Run::step() {
  std::span<const Tensor> arguments;
  if (program_.method())
    evaluations_before_ = program_.method()->evaluations();
  else
    keeping_state([&] { arguments = program_.arguments(state_.batch); });
  try {
    program_.step(state_.batch, arguments);
  } catch (const BadValueError& error) {
    fail_guarded(error, str("minibatch ", program_.chunk_of(state_.batch) + 1, " of ", program_.chunks(), ", step ",
                            state_.step + 1));
  }
}

// Of the schedules, for the next step.
void Run::set_numbers() {
  program_.schedules().apply(state_.step, state_.epochs);
  std::vector<double> observed = program_.schedules().observed();
  if (!program_.method())
    state_.report.learning_rate = experiment_.trainer.learning_rate() * program_.schedules().learning_rate_factor();
  if (observed_.empty() || observed_.back().second != observed)
    observed_.emplace_back(state_.step, std::move(observed));
}

void Run::after_step() {
  ++state_.step;
  ++state_.batch;
  state_.unmeasured = Unmeasured::kStep;
  state_.loss_sum = program_.loss_sum();
  if (!std::isfinite(state_.loss_sum)) fail_non_finite();
  Clock::time_point now = Clock::now();
  if (waits_for_native_ && !program_.is_compiling()) note_native_start();
  if (summary_.seconds_to_first_step == 0) summary_.seconds_to_first_step = seconds_between(options_.started, now);
  if (program_.method()) state_.report.evaluations = program_.method()->evaluations() - evaluations_before_;
  if (program_.method()) return;
  ++batches_since_report_;
  if (hooks_.on_batch && seconds_between(reported_, now) >= 0.05) report_progress(now);
}

// What passes in its life is no part of the epoch's seconds: waiting for compilers.
class Run::Pause {
 public:
  explicit Pause(Run& run) : run_(run) {}
  ~Pause() { run_.epoch_began_ += Clock::now() - began_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  Run& run_;
  Clock::time_point began_ = Clock::now();
};

// After the first step, which is not to wait for their passes. A compiler that fails or is stopped from then on leaves
// a checkpoint of the step that the run has come to.
void Run::begin_errors() {
  if (std::exchange(errors_are_begun_, true)) return;
  is_compiling_ = true;
  Pause pause(*this);
  try {
    program_.begin_errors();
  } catch (const Error&) {
    save();
    throw;
  }
}

// Before a step: the step would take the training function by itself, and throw what its compiler threw. False where
// the user asked to stop. The first step of a process has nothing to lose.
bool Run::take_compiled() {
  if (!is_compiling_ || !errors_are_begun_) return true;
  try {
    is_compiling_ = !program_.take_compiled();
  } catch (const Interrupted&) {
    interrupted_ = true;
  } catch (const Error&) {
    save();
    throw;
  }
  return !interrupted_;
}

// False where the user asked to stop while it waited.
bool Run::await_errors() {
  const bool waits = program_.is_compiling_errors();
  bool is_stopped = false;
  Pause pause(*this);
  if (waits) save();
  try {
    program_.await_errors();
  } catch (const Interrupted&) {
    interrupted_ = is_stopped = true;
  } catch (const Error&) {
    if (!waits) save();
    throw;
  }
  return !is_stopped;
}

EpochReport Run::empty_report(int64_t epoch) const {
  EpochReport out{.epoch = epoch};
  out.others.resize(program_.metric_names().size() - 1);
  return out;
}

// The report of an epoch; of one that was stopped within, too, if something was measured in it.
void Run::finish_epoch() {
  program_.check_files();
  state_.unmeasured = Unmeasured::kEpoch;
  if (!await_errors() || !measure_epoch()) return;
  state_.unmeasured = Unmeasured::kNothing;
  write_lost_files();
  EpochReport& report = state_.report;
  report.epoch = state_.epochs + 1;
  report.train_loss = state_.loss_sum / static_cast<double>(state_.batch);
  report.seconds += seconds_between(epoch_began_, Clock::now());
  append_metrics(folder_.metrics(), report, program_.metric_names(), phase_);
  state_.history.push_back(report);
  drop_earlier(state_.history, state_.earlier);
  draw_filters();
  write_epoch_events(report);
  if (hooks_.on_epoch) hooks_.on_epoch(report);
  warn_if_growing();
  if (state_.batch < program_.batches()) return;  // stopped within: the position stays
  state_.report = empty_report(++state_.epochs + 1);
  state_.batch = 0;
  state_.loss_sum = 0;
  state_.random = next_random_;
}

// ---- the end -------------------------------------------------------------------------------------------------------

void Run::finish() {
  if (is_over()) interrupted_ = false;
  if (interrupted_ && state_.batch > 0) state_.report.seconds += seconds_between(epoch_began_, Clock::now());
  if (!interrupted_) measure_test_of_best();
  save();
  // Nothing says which weights were best: the last ones are those of the run.
  if (!interrupted_ && !monitor_.has_best()) {
    write_npz(best_path(), program_.measured_weights());
    if (program_.has_valid() && hooks_.on_message)
      hooks_.on_message(str("warning: the validation ", metric_label(program_.metric_names()[0].name),
                            " was never a number: the last weights stand for the best ones"));
  }
  summary_.epochs = state_.epochs;
  summary_.stop_epoch = state_.epochs + (state_.batch > 0 ? 1 : 0);
  summary_.steps = state_.step;
  if (monitor_.has_best()) {
    summary_.best_epoch = monitor_.state().best_epoch;
    summary_.valid_error = monitor_.state().best_error;
  }
  summary_.test_error = state_.best_test_error;
  if (!state_.history.empty()) summary_.train_loss = state_.history.back().train_loss;
  summary_.seconds = training_seconds(start_.before, state_);
  summary_.phase_seconds = training_seconds({}, state_);
  summary_.kernels_compiled = compile_stats().kernels_compiled - kernels_before_;
  summary_.interrupted = interrupted_;
  summary_.stopped_early = state_.stopped_early && !state_.out_of_time;
  summary_.out_of_time = state_.out_of_time;
  summary_.diverged = !interrupted_ && has_diverged();
  if (summary_.diverged) warn_of_divergence();
  if (program_.method()) summary_.evaluations = program_.method()->evaluations();
  if (has_converged()) summary_.converged = text_of(program_.method()->status());
  if (options_.profile) {
    summary_.profile = program_.profile();
    summary_.explanation = program_.explain();
  }
  draw_plots();
  write_picture_events();
  write_lost_files();
  if (!folder_.has_checkpoint()) save();
}

// What [compiler] mode = "nan_guard" found ends a run as a loss that is not finite does.
void Run::fail_guarded(const BadValueError& error, const std::string& place) {
  Message message = error.messages()[0];
  message.what = str("epoch ", state_.epochs + 1, ", ", place, ": ", message.what);
  const std::string advice = divergence_advice(experiment_);
  message.hint = str(folder_.checkpoint(), " (step ", saved_step_, ") is from before it and all finite;\n",
                     state_.step == 0 ? "no weight was changed before it: look at the scale of the data, the first "
                                        "weights, and [loss];\nwhere it is in the update, "
                                      : "",
                     advice);
  throw NonFiniteLoss(std::move(message), state_.epochs + 1, state_.step);
}

void Run::fail_non_finite() {
  int64_t last_step = state_.step - 1;
  Checkpoint good = read_checkpoint(folder_.checkpoint());
  restore_arrays(good);
  throw_non_finite({.experiment = experiment_,
                    .program = program_,
                    .checkpoint = folder_.checkpoint(),
                    .start = good.state,
                    .observed = observed_,
                    .last_step = last_step});
}

}  // namespace thtrain
