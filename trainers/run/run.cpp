#include "trainers/run/run.h"

#include <filesystem>
#include <utility>

#include "compiler/host/cache.h"
#include "compiler/runtime/bad_value_source.h"
#include "trainers/run/alike.h"
#include "trainers/run/divergence.h"
#include "trainers/run/restore.h"

namespace thtrain {

Run::Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
         const TrainOptions& options, const Experiment& whole, PhaseStart start)
    : context_{folder, hooks, options, config_text(whole, folder)},
      kernels_before_(compile_stats().kernels_compiled),
      training_(experiment, whole, data, folder.facts().config_folder, std::move(start), options.ranks),
      checkpoints_(training_, context_, clock_),
      compilation_(training_, context_, clock_, checkpoints_),
      evaluation_(training_, clock_, checkpoints_, compilation_),
      reports_(training_, context_, data) {
  require_alike(training_.program.ranks(), training_.fingerprint);
  summary_.metric = training_.program.metric_names()[0];
  summary_.run_dir = folder.path();
  summary_.phase = training_.phase;
}

void Run::restore(const Checkpoint& checkpoint) {
  thtrain::restore(training_, context_, checkpoint);
  checkpoints_.go_on();
  was_resumed_ = has_begun_ = true;
}

// Who was asked to stop before does one step all the same, and what is measured after it: a run that is always asked to
// ends.
TrainSummary Run::go() {
  if (!context_.stop_wanted() && !training_.has_ranks())
    training_.program.stop_measuring_where([this] { return context_.stop_wanted(); });
  try {
    begin();
    train();
    finish();
  } catch (const UserError& error) {
    if (!has_begun_) throw;
    throw UserError(checkpoints_.with_resume_hint(error));
  } catch (const InternalError& error) {
    if (!has_begun_) throw;
    throw InternalError(checkpoints_.with_resume_hint(error).front());
  }
  return summary_;
}

// Where the user asked to stop, the run is interrupted.
bool Run::unless_stopped(bool is_done) {
  interrupted_ = interrupted_ || !is_done;
  return is_done;
}

// ---- the loop ------------------------------------------------------------------------------------------------------

// The first checkpoint comes before run.json's pins: these say that there was one. Until on_start, a new folder may be
// taken away again.
void Run::begin() {
  RunFolder& folder = context_.folder;
  checkpoints_.begin();
  if (!was_resumed_) checkpoints_.save();
  folder.set_metric(training_.program.metric_names()[0]);
  if (context_.writes()) folder.write_facts(training_.experiment.seed, training_.fingerprint);
  reports_.begin(was_resumed_);
  // Of the last weights of a run that was over, and now goes on.
  std::error_code ignored;
  if (context_.writes() && was_resumed_ && !training_.monitor.has_best() && !training_.is_over())
    std::filesystem::remove(folder.best(), ignored);
  if (context_.hooks.on_start) context_.hooks.on_start(training_.program.summary());
  has_begun_ = true;
  if (context_.options.profile) training_.program.start_profile();
  reports_.begin_training();
}

void Run::train() {
  evaluation_.end_where_time_is_spent();
  const int64_t until = context_.options.until_epoch;
  while (!training_.is_over() && !interrupted_) {
    if (until > 0 && training_.state.epochs >= until) {
      interrupted_ = summary_.paused = true;
      return;
    }
    train_epoch();
    if (!interrupted_ && !training_.is_over()) checkpoints_.save_if_due(true);
  }
}

void Run::train_epoch() {
  RunState& state = training_.state;
  const int64_t batches = training_.program.batches();
  begin_epoch();
  if (state.unmeasured == Unmeasured::kStep && !unless_stopped(evaluation_.after_step())) return;
  while (state.batch < batches && !state.stopped_early) {
    if (!unless_stopped(compilation_.before_step())) return;
    step();
    after_step();
    compilation_.begin_measurements();
    if (!unless_stopped(evaluation_.after_step())) return;
    if (training_.has_ranks() ? training_.program.sharded()->agreed().stop : context_.stop_wanted())
      interrupted_ = true;
    if (state.batch == batches || state.stopped_early) break;
    if (interrupted_) return;
    checkpoints_.save_if_due(false);
  }
  // More than that: the checkpoint is of a run with more minibatches, and its epoch ends here.
  const bool whole = state.batch >= batches;
  if (whole || state.report.valid_error || state.out_of_time) finish_epoch();
}

void Run::begin_epoch() {
  RunState& state = training_.state;
  TrainingProgram& program = training_.program;
  clock_.begin();
  training_.next_random = state.random;
  program.begin_epoch(training_.next_random, state.epochs);
  program.set_loss_sum(state.loss_sum);  // not 0 where the epoch was begun before a resumption
  if (state.batch == 0) program.clear_carried_state();
  reports_.begin_epoch();
}

// One minibatch with the numbers of the schedules; of a batch method one iteration.
void Run::step() {
  RunState& state = training_.state;
  TrainingProgram& program = training_.program;
  program.schedules().apply(state.step, state.epochs);
  checkpoints_.note_schedules();
  std::span<const Tensor> arguments;
  if (program.method()) {
    evaluations_before_ = program.method()->evaluations();
  } else {
    state.report.learning_rate =
        training_.experiment.trainer.learning_rate() * program.schedules().learning_rate_factor();
    if (!program.sharded()) checkpoints_.keeping_state([&] { arguments = program.arguments(state.batch); });
  }
  try {
    if (program.sharded())
      step_in_shards();
    else
      program.step(state.batch, arguments);
  } catch (const BadValueError& error) {
    checkpoints_.fail_guarded(error, str("minibatch ", program.chunk_of(state.batch) + 1, " of ", program.chunks(),
                                         ", step ", state.step + 1));
  }
}

// The first steps of processes begin when the slowest one is ready.
void Run::step_in_shards() {
  TrainingProgram& program = training_.program;
  std::optional<Ranks::Patience> begins;
  if (summary_.seconds_to_first_step == 0) begins.emplace(program.ranks());
  program.sharded()->wish({.stop = context_.stop_wanted(),
                           .save = context_.writes() && checkpoints_.is_due(),
                           .end = training_.is_time_spent(clock_.seconds())});
  checkpoints_.keeping_state([&] { program.step(training_.state.batch); });
}

void Run::after_step() {
  RunState& state = training_.state;
  ++state.step;
  ++state.batch;
  state.unmeasured = Unmeasured::kStep;
  training_.has_unread_losses = true;
  const SteadyTime now = EpochClock::Clock::now();
  const bool is_asked_for = reports_.tells_loss(now) || training_.monitor.validates_after(state.step - 1);
  if (training_.has_loss_at_hand() || is_asked_for) checkpoints_.read_loss();
  compilation_.after_step();
  if (summary_.seconds_to_first_step == 0)
    summary_.seconds_to_first_step = seconds_between(context_.options.started, now);
  if (const BatchMethod* method = training_.program.method())
    state.report.evaluations = method->evaluations() - evaluations_before_;
  reports_.after_step(now);
}

// The report of an epoch; of one that was stopped within, too, if something was measured in it.
void Run::finish_epoch() {
  RunState& state = training_.state;
  checkpoints_.read_loss();
  training_.program.check_files();
  state.unmeasured = Unmeasured::kEpoch;
  if (!unless_stopped(evaluation_.after_epoch())) return;
  state.unmeasured = Unmeasured::kNothing;
  EpochReport& report = state.report;
  report.epoch = state.epochs + 1;
  report.train_loss = state.loss_sum / static_cast<double>(state.batch);
  clock_.add_to(report);
  training_.program.ranks().while_first_works([&] {
    checkpoints_.write_lost_files();
    append_metrics(context_.folder.metrics(), report, training_.program.metric_names(), training_.phase);
  });
  state.history.push_back(report);
  drop_earlier(state.history, state.earlier);
  training_.program.ranks().while_first_works([this] { reports_.after_epoch(); });
  if (state.batch < training_.program.batches()) return;  // stopped within: the position stays
  training_.begin_next_epoch();
}

// ---- the end -------------------------------------------------------------------------------------------------------

void Run::finish() {
  if (training_.is_over()) interrupted_ = false;
  if (interrupted_ && training_.state.batch > 0) clock_.add_to(training_.state.report);
  if (!interrupted_) unless_stopped(evaluation_.at_end());
  checkpoints_.save();
  if (!interrupted_ && context_.writes() && !training_.monitor.has_best()) checkpoints_.write_last_as_best();
  summarize();
  if (!context_.writes()) return;
  if (!reports_.at_end(interrupted_, summary_.plot)) interrupted_ = summary_.interrupted = true;
  checkpoints_.write_lost_files();
  if (!context_.folder.has_checkpoint()) checkpoints_.write();
}

void Run::summarize() {
  const RunState& state = training_.state;
  const TrainingProgram& program = training_.program;
  summary_.epochs = state.epochs;
  summary_.stop_epoch = state.epochs + (state.batch > 0 ? 1 : 0);
  summary_.steps = state.step;
  if (training_.monitor.has_best()) {
    summary_.best_epoch = training_.monitor.state().best_epoch;
    summary_.valid_error = training_.monitor.state().best_error;
  }
  summary_.test_error = state.best_test_error;
  if (!state.history.empty()) summary_.train_loss = state.history.back().train_loss;
  summary_.seconds = training_seconds(training_.start.before, state);
  summary_.phase_seconds = training_seconds({}, state);
  summary_.kernels_compiled = compile_stats().kernels_compiled - kernels_before_;
  summary_.native_from_step = compilation_.native_from_step();
  summary_.interrupted = interrupted_;
  summary_.stopped_early = state.stopped_early && !state.out_of_time;
  summary_.out_of_time = state.out_of_time;
  summary_.diverged = !interrupted_ && has_diverged(training_);
  if (summary_.diverged) context_.tell(divergence_warning(training_));
  if (program.method()) summary_.evaluations = program.method()->evaluations();
  if (training_.has_converged()) summary_.converged = text_of(program.method()->status());
  if (!context_.options.profile || !program.ranks().is_first()) return;
  summary_.profile = program.profile();
  if (training_.has_ranks()) summary_.exchange = program.sharded()->exchange_profile();
  summary_.explanation = program.explain();
}

PhaseStart Run::next_phase() {
  const RunState& state = training_.state;
  PhaseStart out{.before = training_.histories(),
                 .weights = training_.weight_arrays(),
                 .random = training_.next_random,
                 .last = checkpoints_.last()};
  for (auto& [name, value] : out.weights) value = value.copy();
  if (state.batch > 0) {  // an epoch that was not finished: its order was drawn, also where the run is resumed here
    RandomState random = state.random;
    training_.program.begin_epoch(random, state.epochs);
    out.random = random;
  }
  if (training_.experiment.phase.back().pass_on == PhaseConfig::PassOn::kLast) return out;
  if (!training_.best.empty())
    out.weights = training_.best;
  else
    context_.tell(str("phase ", training_.phase, " ended before its first validation: its last weights are passed on"));
  return out;
}

}  // namespace thtrain
