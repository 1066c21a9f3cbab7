#include "trainers/run/checkpoints.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/ir/bad_values.h"
#include "compiler/runtime/bad_value_source.h"
#include "datasets/npz.h"
#include "trainers/non_finite.h"
#include "trainers/run/restore.h"

namespace thtrain {

std::string RunCheckpoints::best_path() const {
  return training_.is_last_phase ? context_.folder.best() : context_.folder.best_of(training_.phase);
}

KeptCheckpoint RunCheckpoints::position() const {
  return {training_.phase_number(), training_.phase, training_.state.step};
}

void RunCheckpoints::go_on() {
  saved_step_ = training_.state.step;
  last_ = position();
}

void RunCheckpoints::note_schedules() {
  std::vector<double> observed = training_.program.schedules().observed();
  if (observed_.empty() || observed_.back().second != observed)
    observed_.emplace_back(training_.state.step, std::move(observed));
}

// ---- what is written -----------------------------------------------------------------------------------------------

Checkpoint RunCheckpoints::checkpoint() const {
  NamedArrays kept;
  for (const auto& [name, variable] : training_.kept_state())
    kept.emplace_back(name, variable.get_value(true).on_host());
  Checkpoint out{
      training_.weight_arrays(),       kept, training_.best, training_.state, training_.fingerprint, context_.config,
      training_.program.metric_names()};
  out.state.monitor = training_.monitor.state();
  if (!training_.phase.empty()) out.phase = static_cast<int64_t>(training_.phase_number());
  out.before = training_.start.before;
  return out;
}

void RunCheckpoints::save() {
  read_loss();
  training_.program.check_files();
  for (const NamedArrays& arrays : {training_.weight_arrays(), training_.step_arrays()})
    for (const auto& [name, value] : arrays)
      if (first_non_finite(value)) fail_non_finite();
  if (ShardedStep* sharded = training_.program.sharded()) sharded->gather_state();
  training_.program.ranks().while_first_works([this] { write(); });
  training_.best_is_written = true;
  last_ = position();
  saved_step_ = training_.state.step;
  saved_ = EpochClock::Clock::now();
  observed_.clear();
}

void RunCheckpoints::write() {
  write_lost_files();
  const std::function<void()> check = context_.folder.in_place_check();
  if (!training_.best_is_written && !training_.best.empty()) write_npz(best_path(), training_.best, check);
  training_.best_is_written = true;
  const int64_t keep = training_.experiment.trainer.keep_checkpoints;
  const KeptCheckpoint now = position();
  if (last_ && *last_ != now) set_aside_checkpoint(context_.folder, *last_, keep);
  write_checkpoint(context_.folder.checkpoint(), checkpoint(), check);
  remove_kept_checkpoints(context_.folder, now, keep);
}

bool RunCheckpoints::is_due() const {
  const double seconds = training_.experiment.trainer.checkpoint_seconds;
  return seconds > 0 && seconds_between(saved_, EpochClock::Clock::now()) >= seconds;
}

void RunCheckpoints::save_within_epoch() {
  if (training_.state.batch > 0) clock_.add_to(training_.state.report);
  save();
}

void RunCheckpoints::save_if_due(bool epoch_finished) {
  const TrainerConfig& c = training_.experiment.trainer;
  const bool by_epochs = epoch_finished && c.checkpoint_epochs > 0 && training_.state.epochs % c.checkpoint_epochs == 0;
  const bool by_time = training_.has_ranks() ? training_.program.sharded()->agreed().save : is_due();
  if (!by_epochs && !by_time) return;
  epoch_finished ? save() : save_within_epoch();
}

void RunCheckpoints::keeping_state(const std::function<void()>& read) {
  try {
    read();
  } catch (const UserError&) {
    if (training_.has_ranks()) throw;  // the others do not know of it yet
    try {
      save_within_epoch();
    } catch (const Error&) {  // a file was changed: the checkpoint before stays
    }
    throw;
  }
}

void RunCheckpoints::write_lost_files() {
  if (!context_.writes()) return;
  const RunFolder& folder = context_.folder;
  folder.require_in_place();
  auto mend = [&](const std::string& path, const std::function<void()>& write) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return;
    write();
    context_.tell(str("warning: ", printable(path), " was removed while the run was at work: it is written again"));
  };
  mend(folder.config(), [&] {
    AtomicFile file(folder.config(), folder.in_place_check());
    file.write(context_.config);
    file.commit();
  });
  if (!training_.state.history.empty() || !training_.start.before.empty())
    mend(folder.metrics(), [&] { rewrite_metrics(folder.metrics(), training_.histories()); });
  if (training_.best_is_written && !training_.best.empty())
    mend(best_path(), [&] { write_npz(best_path(), training_.best, folder.in_place_check()); });
}

void RunCheckpoints::write_last_as_best() {
  const TrainingProgram& program = training_.program;
  write_npz(best_path(), program.measured_weights(), context_.folder.in_place_check());
  if (program.has_valid())
    context_.tell(str("warning: the validation ", metric_label(program.metric_names()[0].name),
                      " was never a number: the last weights stand for the best ones"));
}

// ---- what ends a run -----------------------------------------------------------------------------------------------

void RunCheckpoints::read_loss() {
  if (!std::exchange(training_.has_unread_losses, false)) return;
  training_.state.loss_sum = training_.program.loss_sum();
  if (!std::isfinite(training_.state.loss_sum)) fail_non_finite();
}

void RunCheckpoints::fail_non_finite() {
  const int64_t last_step = training_.state.step - 1;
  const Checkpoint good = read_checkpoint(context_.folder.checkpoint());
  restore_arrays(training_, context_.folder, good);
  throw_non_finite({.experiment = training_.experiment,
                    .program = training_.program,
                    .checkpoint = context_.folder.checkpoint(),
                    .start = good.state,
                    .observed = observed_,
                    .last_step = last_step});
}

void RunCheckpoints::fail_guarded(const BadValueError& error, const std::string& location) const {
  const RunState& state = training_.state;
  Message message = error.messages()[0];
  message.what = str("epoch ", state.epochs + 1, ", ", location, ": ", message.what);
  message.hint = str(context_.folder.checkpoint(), " (step ", saved_step_, ") is from before it and all finite;\n",
                     state.step == 0 ? "no weight was changed before it: look at the scale of the data, the first "
                                       "weights, and [loss];\nwhere it is in the update, "
                                     : "",
                     divergence_advice(training_.experiment));
  throw NonFiniteLoss(std::move(message), state.epochs + 1, state.step);
}

std::vector<Message> RunCheckpoints::with_resume_hint(const Error& error) const {
  const RunFolder& folder = context_.folder;
  std::vector<Message> messages = error.messages();
  std::string& hint = messages.back().hint;
  std::error_code ignored;
  if (!folder.is_in_place())
    hint = str("where the folder has another name now, `thtrain resume` goes on from its checkpoint of step ",
               saved_step_);
  else if (std::filesystem::exists(folder.checkpoint(), ignored))
    hint += str(hint.empty() ? "" : ";\n", "the checkpoint of step ", saved_step_, " is kept: `thtrain resume ",
                printable(folder.path()), "` goes on from it");
  else
    hint = str(printable(folder.checkpoint()), " was removed or renamed while the run was at work");
  return messages;
}

}  // namespace thtrain
