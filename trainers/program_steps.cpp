// The functions of a training step: of a whole minibatch, or of its shards.
#include <algorithm>

#include "compiler/autodiff/gradient.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/refusals.h"
#include "compiler/tuning/tuner.h"
#include "nn/losses.h"
#include "nn/minibatch_sum.h"
#include "nn/model_pass.h"
#include "trainers/carried_state.h"
#include "trainers/demands.h"
#include "trainers/image_data.h"
#include "trainers/objective_step.h"
#include "trainers/program.h"
#include "trainers/shards.h"

namespace thtrain {

static void check_schedules(const TrainerConfig& trainer, const Schedules& schedules, const Dataset& data) {
  if (!schedules.observes() || data.valid.size() > 0) return;
  throw UserError(Message{.what = "a plateau schedule needs validation examples",
                          .got = "none in the data",
                          .config = trainer.at(trainer.schedule ? "schedule" : "momentum_schedule"),
                          .hint = "it goes by the validation values; other schedules need none"});
}

static std::vector<Param> params_to_train(const Model& model) {
  std::vector<Param> out = model.trained_params();
  if (out.empty())
    throw UserError(Message{.what = "no layer of the model is trained",
                            .expected = "trained = true, or no trained, in one of [[model.layers]]",
                            .config = model.layers().back()->position()});
  return out;
}

// The feed, and the functions of a minibatch and of a shorter one at the end.
void TrainingProgram::make_steps(const Dataset& data) {
  const TrainerConfig& trainer = experiment_.trainer;
  const Split train = demanding(experiment_, data, data.train);
  feed_.emplace(Examples(train, input_.shape, floatX(), data.streamed), "train", trainer.shuffle && !is_batch_method(),
                data.shuffle_window, augmentation_of(experiment_, train), room_for_examples(experiment_.compiler));
  loss_sum_ = Shared(0.0, "loss_sum");
  const int64_t size = feed_->examples().size(), batch = std::min(trainer.batch_size, size), rest = size % batch;
  const bool has_rest = rest > 0 && (!trainer.full_batches_only || is_batch_method());
  chunks_ = size / batch + has_rest;
  known_steps_ = feed_->examples().known_steps();
  check_carried_state(model_, experiment_, data, has_rest);
  const int64_t taken = has_rest ? size : size / batch * batch;
  const RefusalScope refusals;  // of both steps
  if (trainer.shards > 0) {
    feed_->set_plan({.count = taken, .batch = batch, .shards = own_shards(trainer.shards, *ranks_)});
    make_sharded(has_rest);
  } else {
    feed_->set_plan({.count = taken, .batch = batch});
    step_ = make_step(batch, &graph_);
  }
  schedules_.emplace(trainer, training_step_ ? &training_step_->optimizer() : nullptr, batches());
  check_schedules(trainer, *schedules_, data);
  if (has_rest && !sharded_) last_step_ = make_step(rest, nullptr);
}

ObjectiveStep TrainingProgram::objective_step(const Minibatch& batch, ModelPass& pass) {
  std::vector<TargetInput> targets;
  for (const TrainedOutput& output : outputs_)
    targets.push_back(
        output.targets(pass.model_output(output.layer), output.compared(pass, batch.x), batch.y, batch.weights));
  ObjectiveStep out = objectives_->step(pass, batch.x, targets, params_to_train(model_));
  add_contraction(out, pass, experiment_.loss);
  leave_unneeded(out, params_to_train(model_));
  return out;
}

// Parameters that the objective changes by itself are not the optimizer's.
void TrainingProgram::make_training_step(const ObjectiveStep& step) {
  std::vector<Param> params = params_to_train(model_);
  size_t i = 0;
  if (step.gradients) std::erase_if(params, [&](const Param&) { return !step.gradients->at(i++).has_value(); });
  training_step_.emplace(experiment_.trainer.optimizer->make(std::move(params)), experiment_.trainer);
}

// Those of the optimizer's parameters, with the penalties'.
std::vector<Expr> TrainingProgram::own_gradients(const std::vector<Expr>& given, const Expr& penalties) const {
  const std::vector<Param>& params = training_step_->optimizer().params();
  std::vector<Expr> out;
  for (const Expr& gradient : given)
    if (gradient.has_value()) out.push_back(gradient);
  TH_CHECK(out.size() == params.size(), out.size(), " gradients of ", params.size(), " parameters");
  for (size_t i = 0; penalties.has_value() && i < out.size(); ++i)
    if (params[i].penalized) out[i] = out[i] + grad(penalties, std::vector<Expr>{params[i].expr()})[0];
  return out;
}

std::vector<Update> TrainingProgram::chunk_updates(const Minibatch& batch, ModelPass& pass, const ObjectiveStep& step,
                                                   const Expr& penalties) {
  if (!batch_training_)
    batch_training_.emplace(*experiment_.trainer.optimizer->batch_method(), params_to_train(model_), penalties,
                            function_options(experiment_.compiler, "batch"));
  return batch_training_->updates(step.cost, weight_of(batch, pass));
}

// ---- what a step is made of ----------------------------------------------------------------------------------------

struct TrainingProgram::StepParts {
  Minibatch batch;
  ModelPass pass;
  ObjectiveStep step;
  Expr cost, penalties;  // the cost has these in it
};

TrainingProgram::StepParts TrainingProgram::step_parts(int64_t count) {
  Minibatch batch = feed_->minibatch(count);
  ModelPass pass = batch.sparse ? model_.pass(*batch.sparse, Phase::kTraining)
                                : model_.pass({batch.x}, Phase::kTraining, batch.lengths);
  if (experiment_.trainer.shards > 0) pass.set_shard();
  ObjectiveStep step = objective_step(batch, pass);
  if (is_batch_method())
    check_batch_training(experiment_, model_, *outputs_[0].objective, step);
  else if (!training_step_)
    make_training_step(step);
  StepParts out{std::move(batch), std::move(pass), std::move(step), {}, {}};
  out.cost = out.step.cost;
  auto add_penalty = [&](double factor, const char* name, const Expr& penalty) {
    Scope scope("penalty");
    if (factor == 0 || !penalty.has_value()) return;
    Expr term = Shared(Tensor(factor).cast(floatX()), name, true) * penalty;
    out.cost = out.cost + term;
    out.penalties = out.penalties.has_value() ? out.penalties + term : term;
  };
  add_penalty(experiment_.loss.l1, "l1", l1_penalty(model_.trained_params()));
  add_penalty(experiment_.loss.l2, "l2", l2_penalty(model_.trained_params()));
  out.cost = named(out.cost, "loss");
  if (sequences_.empty())
    for (const auto& layer : model_.layers())
      if (out.pass.model_output(layer->name()).is_sequence) sequences_.push_back(layer->name());
  return out;
}

Function TrainingProgram::make_step(int64_t count, Graph* graph) {
  StepParts parts = step_parts(count);
  const Minibatch& batch = parts.batch;
  std::vector<Update> updates;
  if (is_batch_method()) {
    updates = chunk_updates(batch, parts.pass, parts.step, parts.penalties);
  } else {
    if (parts.step.gradients)
      updates = training_step_->updates(own_gradients(*parts.step.gradients, parts.penalties));
    else
      updates = batch.sparse ? training_step_->updates(parts.cost, batch.sparse->columns)
                             : training_step_->updates(parts.cost);
    updates.insert(updates.end(), parts.step.updates.begin(), parts.step.updates.end());
    updates.push_back({*loss_sum_, *loss_sum_ + cast(parts.cost, DType::kFloat64)});
  }
  updates.insert(updates.end(), parts.pass.updates().begin(), parts.pass.updates().end());
  if (graph) {
    for (const In& in : batch.inputs) graph->inputs.push_back(in.variable);
    graph->updates = updates;
  }
  FunctionOptions options = function_options(experiment_.compiler, "train");
  options.background = experiment_.compiler.background;
  options.unused_inputs = UnusedInputs::kAllowed;  // streamed targets of an autoencoder
  return function(batch.inputs, {}, updates, options);
}

// Of the examples of a minibatch, or of a shard, among others: their number, or the sum of their weights.
Expr TrainingProgram::weight_of(const Minibatch& batch, ModelPass& pass) const {
  Expr weights;
  if (outputs_.size() > 1) {
    weights = batch.weights;
  } else {
    const TrainedOutput& output = outputs_[0];
    const ModelOutput given = pass.model_output(output.layer);
    const TargetInput targets = output.targets(given, output.compared(pass, batch.x), batch.y, batch.weights);
    if (targets.weights.has_value() || targets.class_weights.has_value())
      weights = output.objective->losses(given, targets).weights;
  }
  if (weights.has_value()) return sum(weights);
  return make_constant(Tensor(static_cast<double>(batch.x.dims()[0].value())));
}

ShardGraph TrainingProgram::shard_graph(int64_t count) {
  StepParts parts = step_parts(count);
  ShardGraph out{.inputs = parts.batch.inputs,
                 .cost = parts.cost,
                 .weight = cast(weight_of(parts.batch, parts.pass), parts.cost.dtype())};
  if (parts.step.gradients) {
    out.gradients = own_gradients(*parts.step.gradients, parts.penalties);
    if (needs_minibatch_sum(out.gradients))
      throw UserError(Message{.what = "sync = true does not go with an objective that makes its gradients itself",
                              .expected = "sync = false in the layers of type batch_norm",
                              .config = experiment_.trainer.at("shards")});
  } else {
    std::vector<Expr> wrt;
    for (const Param& param : training_step_->optimizer().params()) wrt.push_back(param.expr());
    out.meets = needs_minibatch_sum({parts.cost});
    out.gradients = grad(out.meets ? parts.cost * out.weight : parts.cost, wrt);
  }
  out.updates = parts.step.updates;
  out.updates.insert(out.updates.end(), parts.pass.updates().begin(), parts.pass.updates().end());
  return out;
}

// Rank 0 first: it tunes, and the others choose by what it remembers then.
void TrainingProgram::compile_in_turn(const std::function<void()>& compile) {
  if (ranks_->size() == 1) return compile();
  const Ranks::Patience compiles(*ranks_);
  const int threads = thread_count(static_cast<int>(experiment_.compiler.threads));
  const std::string limits = ranks_->from_first(machine().text());
  if (ranks_->is_first()) {
    compile();
    ranks_->from_first(remembered(threads).text(""));
    return;
  }
  use_limits_of(limits);
  const TuningTable table = TuningTable::parse(ranks_->from_first(""));
  if (remembered(threads) != table) remember(table, threads);
  compile();
}

void TrainingProgram::make_sharded(bool has_rest) {
  compile_in_turn([&] {
    sharded_.emplace(
        ShardedStep::Options{.shards = own_shards(experiment_.trainer.shards, *ranks_),
                             .batch_size = length_of(0),
                             .rest = has_rest ? length_of(chunks_ - 1) : 0,
                             .function = function_options(experiment_.compiler, "train")},
        [this](int64_t count) { return shard_graph(count); }, training_step_, *loss_sum_, model_, *objectives_,
        *ranks_);
  });
  graph_ = sharded_->graph();
}

}  // namespace thtrain
