#include "trainers/non_finite.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/bad_values.h"
#include "compiler/runtime/bad_value_source.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

// Watches the steps of a program: the first that makes a bad value of good ones; if there is none, the first bad value.
class Watcher {
 public:
  void operator()(const StepEvent& event) {
    if (made_bad_ || !event.node) return;
    if (!event.after) {
      inputs_.clear();  // copies: the step may overwrite them
      inputs_are_good_ = true;
      for (size_t i = 0; i < event.inputs; ++i) {
        inputs_.push_back(event.operands[i].copy());
        if (first_non_finite(event.operands[i])) inputs_are_good_ = false;
      }
      return;
    }
    for (size_t i = event.inputs; i < event.inputs + event.outputs; ++i) {
      std::optional<int64_t> position = first_non_finite(event.operands[i]);
      if (!position) continue;
      BadValueSource found = source_of(*event.node, i - event.inputs, event.operands[i], *position);
      if (!any_bad_) any_bad_ = found;
      if (!inputs_are_good_) continue;
      made_bad_ = source_inside(*event.node, i - event.inputs, *position, inputs_, {}).value_or(found);
      return;
    }
  }
  std::optional<BadValueSource> result() const { return made_bad_ ? made_bad_ : any_bad_; }

 private:
  std::vector<Tensor> inputs_;
  bool inputs_are_good_ = true;
  std::optional<BadValueSource> made_bad_, any_bad_;
};

// The same by the references of the ops, where there is no native code: every value of the graph.
std::optional<BadValueSource> search_by_reference(TrainingProgram& program, int64_t batch) {
  const Graph& graph = program.graph();
  std::vector<std::pair<Expr, Tensor>> inputs;
  std::span<const Tensor> arguments = program.arguments(batch);
  for (size_t i = 0; i < arguments.size(); ++i) inputs.emplace_back(graph.inputs[i], arguments[i]);
  return source_by_reference(graph.roots(), inputs, {});
}

class Replay {
 public:
  explicit Replay(const BadRun& run)
      : run_(run), epoch_(run.start.epochs), batch_(run.start.batch), step_(run.start.step), random_(run.start.random) {
    for (const auto& [name, variable] : run.program.weights()) variables_.push_back(variable);
    for (const auto& [name, variable] : run.program.step_state()) variables_.push_back(variable);
    for (const Shared& variable : variables_) before_.push_back(variable.get_value());
  }

  // To the first bad step, which is undone; false if there is none.
  bool go() {
    run_.program.begin_epoch(random_, epoch_);
    if (batch_ == 0) run_.program.clear_carried_state();
    run_.program.set_loss_sum(run_.start.loss_sum);
    for (; step_ <= run_.last_step; ++step_, ++batch_) {
      if (batch_ == run_.program.batches()) {
        ++epoch_;
        batch_ = 0;
        run_.program.begin_epoch(random_, epoch_);
        run_.program.clear_carried_state();
      }
      for (size_t i = 0; i < variables_.size(); ++i) before_[i].assign(variables_[i].get_value(true));
      double loss_sum = run_.program.loss_sum();
      run_.program.schedules().apply_again(step_, epoch_, observed_at(step_));
      run_.program.step(batch_);
      loss_is_bad_ = !std::isfinite(run_.program.loss_sum());
      if (!loss_is_bad_ && !has_bad_weight()) continue;
      undo_step();
      run_.program.set_loss_sum(loss_sum);
      return true;
    }
    return false;
  }

  std::optional<BadValueSource> search() {
    if (run_.program.is_reference()) return search_by_reference(run_.program, batch_);
    Watcher watcher;
    try {
      run_.program.watch_step(batch_, [&](const StepEvent& event) { watcher(event); });
      return watcher.result();
    } catch (const UserError&) {  // there is no compiler to make a program with probes
      undo_step();
      return search_by_reference(run_.program, batch_);
    }
  }

  int64_t epoch() const { return epoch_ + 1; }
  int64_t batch() const { return batch_ + 1; }
  int64_t step() const { return step_; }
  bool loss_is_bad() const { return loss_is_bad_; }

 private:
  // The first entry is of the first step.
  const std::vector<double>& observed_at(int64_t step) const {
    auto after = std::upper_bound(run_.observed.begin(), run_.observed.end(), step,
                                  [](int64_t s, const auto& entry) { return s < entry.first; });
    TH_CHECK(after != run_.observed.begin(), "no factors of step ", step);
    return std::prev(after)->second;
  }
  void undo_step() {
    for (size_t i = 0; i < variables_.size(); ++i) variables_[i].set_value(before_[i]);
  }
  bool has_bad_weight() const {
    for (const Shared& variable : variables_)
      if (first_non_finite(variable.get_value(true))) return true;
    return false;
  }

  const BadRun& run_;
  int64_t epoch_, batch_, step_;
  RandomState random_;
  std::vector<Shared> variables_;
  std::vector<Tensor> before_;
  bool loss_is_bad_ = true;
};

}  // namespace

std::string divergence_advice(const Experiment& experiment) {
  const TrainerConfig& trainer = experiment.trainer;
  std::vector<std::string> out;
  OneOf<OptimizerOptions> optimizer = trainer.optimizer;
  if (optimizer.kind_of().schema().find("learning_rate")) {
    const double rate = optimizer->rate();
    out.push_back(str("trainer.learning_rate = ", number_text(rate / 10), " (now ", number_text(rate), ')'));
    if (trainer.clip_norm == 0 && trainer.clip_value == 0) out.emplace_back("trainer.clip_norm = 1");
  }
  out.emplace_back("examples with values near 1 (data.scale, data.standardize)");
  return str("try ", join(out, ", then "));
}

void throw_non_finite(const BadRun& run) {
  // Before the first update the learning rate has changed nothing yet.
  auto advice = [&](bool is_first_loss) {
    return is_first_loss
               ? std::string(
                     "no weight was changed before it: look at the scale of the data, the first weights, and [loss]")
               : divergence_advice(run.experiment);
  };
  std::string kept = str(run.checkpoint, " (step ", run.start.step, ") is from before it and all finite");
  Replay replay(run);
  if (!replay.go()) {
    Message message{.what = str("the loss is not finite at step ", run.last_step + 1),
                    .hint = str(kept, ";\nbut the steps from there on were finite when they were repeated")};
    throw NonFiniteLoss(std::move(message), run.start.epochs + 1, run.last_step);
  }
  const int reporter = run.program.find_bad_shard(replay.batch() - 1);
  if (run.program.ranks().rank() != reporter)
    throw EndedByOther({Message{.what = str(run.program.ranks().name_of(reporter), " says why the run ends")}});
  Message message{.what = str(replay.loss_is_bad() ? "the loss is not finite" : "a weight is not finite", ": epoch ",
                              replay.epoch(), ", minibatch ", run.program.chunk_of(replay.batch() - 1) + 1, " of ",
                              run.program.chunks(), ", step ", replay.step() + 1, run.program.bad_shard_text()),
                  .hint = str(kept, ";\n", advice(replay.loss_is_bad() && replay.step() == 0))};
  constexpr double kLargeInput = 1e3;
  if (double largest = run.program.largest_input(replay.batch() - 1); largest >= kLargeInput)
    message.hint += str(";\nthe examples have values up to ", number_text(static_cast<float>(largest)),
                        " (scaled): data.scale brings them near 1");
  if (std::optional<BadValueSource> source = replay.search()) {
    message.expected = str("finite values of ", source->expression);
    message.got = str(source->element, ", the first bad value");
    message.node = source->origin.text();
    message.config = source->origin.config();
  }
  throw NonFiniteLoss(std::move(message), replay.epoch(), replay.step());
}

}  // namespace thtrain
