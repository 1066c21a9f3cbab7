#include "trainers/non_finite.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "nn/finite.h"

namespace thtrain {

namespace {

// A value that is not finite: what computed it, and its first bad element.
struct NonFiniteSource {
  std::string expression, element;
  Origin origin;
};

std::string element_text(const Tensor& value, int64_t position) {
  Shape index(value.rank());
  int64_t rest = position;
  for (size_t axis = value.rank(); axis-- > 0; rest /= value.dim(axis)) index[axis] = rest % value.dim(axis);
  std::string where = index.empty() ? "" : str(" at ", shape_text(index));
  return str(value.as_double(position), where, " of ", value.type_text());
}

// The expression without fused loops: as the user would write it.
std::string readable_text(const Expr& value) {
  auto unfused = [](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!node.op->fused) return {};
    const Graph& body = *node.bodies[0];
    std::vector<std::pair<Expr, Expr>> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) arguments.emplace_back(body.inputs[i], inputs[i]);
    return substitute(body.outputs, arguments);
  };
  return expr_text(Rebuilder().rebuild(value, unfused));
}

// Where a value comes from, for people: a rewrite that joined several layers' terms belongs to none of them, and then
// the nearest value below that belongs to one says most.
Origin telling_origin(const Expr& value) {
  std::vector<const Node*> queue{&value.node()};
  for (size_t i = 0; i < queue.size() && i < 64; ++i) {
    if (queue[i]->origin.scope) return queue[i]->origin;
    for (const Expr& input : queue[i]->inputs) queue.push_back(&input.node());
  }
  return value.node().origin;
}

NonFiniteSource source_of(const Node& node, size_t output, const Tensor& value, int64_t position) {
  return {readable_text(node[output]), element_text(value, position), telling_origin(node[output])};
}

// The first bad one of `values`, in their order, computed by the references of the ops.
struct BadValue {
  Expr expr;
  Tensor value;
  int64_t position;
};
std::optional<BadValue> first_bad(std::span<const Expr> roots, const std::vector<std::pair<Expr, Tensor>>& inputs) {
  std::vector<Expr> values;
  for (const Node* node : topological_order(roots))
    for (size_t i = 0; i < node->types.size(); ++i) values.push_back((*node)[i]);
  std::vector<Tensor> results = evaluate(values, inputs);
  for (size_t i = 0; i < values.size(); ++i)
    if (std::optional<int64_t> position = first_non_finite(results[i]))
      return BadValue{values[i], results[i], *position};
  return {};
}

// Which expression inside a fused loop it was, if the references agree that one was.
std::optional<NonFiniteSource> inside_fused(const Node& node, const std::vector<Tensor>& inputs) {
  if (!node.op->fused) return {};
  const Graph& body = *node.bodies[0];
  std::vector<std::pair<Expr, Tensor>> values;
  std::vector<std::pair<Expr, Expr>> outside;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.emplace_back(body.inputs[i], inputs[i]);
    outside.emplace_back(body.inputs[i], node.inputs[i]);
  }
  std::optional<BadValue> bad = first_bad(body.outputs, values);
  if (!bad) return {};
  std::vector<Expr> whole = substitute(std::vector<Expr>{bad->expr}, outside);
  return NonFiniteSource{readable_text(whole[0]), element_text(bad->value, bad->position), telling_origin(whole[0])};
}

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
      NonFiniteSource found = source_of(*event.node, i - event.inputs, event.operands[i], *position);
      if (!any_bad_) any_bad_ = found;
      if (!inputs_are_good_) continue;
      made_bad_ = inside_fused(*event.node, inputs_).value_or(found);
      return;
    }
  }
  std::optional<NonFiniteSource> result() const { return made_bad_ ? made_bad_ : any_bad_; }

 private:
  std::vector<Tensor> inputs_;
  bool inputs_are_good_ = true;
  std::optional<NonFiniteSource> made_bad_, any_bad_;
};

// The same by the references of the ops, where there is no native code: every value of the graph.
std::optional<NonFiniteSource> search_by_reference(TrainingProgram& program, int64_t batch) {
  const Graph& graph = program.graph();
  std::vector<std::pair<Expr, Tensor>> inputs;
  std::span<const Tensor> arguments = program.arguments(batch);
  for (size_t i = 0; i < arguments.size(); ++i) inputs.emplace_back(graph.inputs[i], arguments[i]);
  std::optional<BadValue> bad = first_bad(graph.roots(), inputs);
  if (!bad) return {};
  return source_of(bad->expr.node(), bad->expr.output(), bad->value, bad->position);
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

  std::optional<NonFiniteSource> search() {
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
  Message message{.what = str(replay.loss_is_bad() ? "the loss is not finite" : "a weight is not finite", ": epoch ",
                              replay.epoch(), ", minibatch ", run.program.chunk_of(replay.batch() - 1) + 1, " of ",
                              run.program.chunks(), ", step ", replay.step() + 1),
                  .hint = str(kept, ";\n", advice(replay.loss_is_bad() && replay.step() == 0))};
  constexpr double kLargeInput = 1e3;
  if (double largest = run.program.largest_input(replay.batch() - 1); largest >= kLargeInput)
    message.hint += str(";\nthe examples have values up to ", number_text(static_cast<float>(largest)),
                        " (scaled): data.scale brings them near 1");
  if (std::optional<NonFiniteSource> source = replay.search()) {
    message.expected = str("finite values of ", source->expression);
    message.got = str(source->element, ", the first bad value");
    message.node = source->origin.text();
    message.config = source->origin.config();
  }
  throw NonFiniteLoss(std::move(message), replay.epoch(), replay.step());
}

}  // namespace thtrain
