#include "trainers/program.h"

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/content_hash.h"
#include "compiler/host/cache.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/print.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/tuning/refusals.h"
#include "nn/losses.h"
#include "nn/model_pass.h"
#include "trainers/build_model.h"
#include "trainers/carried_state.h"
#include "trainers/data_state.h"
#include "trainers/demands.h"
#include "trainers/first_weights.h"
#include "trainers/image_data.h"
#include "trainers/objective_step.h"

namespace thtrain {

// The experiment, where its minibatches and its data fit each other.
static const Experiment& with_checked_sizes(const Experiment& experiment, const Dataset& data) {
  const std::vector<TrainedOutput> outputs = outputs_of(experiment);
  for (const Split* split : {&data.train, &data.valid, &data.test}) check_targets(outputs, data, *split);
  const TrainerConfig& trainer = experiment.trainer;
  auto check = [&](const Split& split, const char* set, bool needed) {
    const bool takes_all = &split == &data.train && trainer.optimizer->batch_method();
    bool enough = split.size() >= (trainer.full_batches_only && !takes_all ? trainer.batch_size : 1);
    if (enough || (split.size() == 0 && !needed)) return;
    if (split.size() == 0)
      throw UserError(Message{.what = str("there are no ", set, " examples"),
                              .hint = "load_data() reads those that the experiment names"});
    throw UserError(Message{.what = str("trainer.batch_size is larger than the ", set, " set"),
                            .expected = str("at most ", split.size(), " (examples)"),
                            .got = std::to_string(trainer.batch_size),
                            .config = trainer.at("batch_size"),
                            .hint = str("trainer.batch_size = ", split.size(),
                                        " or less fits; trainer.full_batches_only = false allows this one")});
  };
  check(data.train, "training", true);
  check(data.valid, "validation", false);
  if (trainer.test_at != TrainerConfig::TestAt::kNever) check(data.test, "test", false);
  if (trainer.patience > 0 && data.valid.size() == 0)
    throw UserError(Message{.what = "trainer.patience needs validation examples",
                            .got = "none in the data",
                            .config = trainer.at("patience"),
                            .hint = "trainer.patience = 0 trains all epochs"});
  return experiment;
}

static void check_start(const Model& model, const Experiment& experiment) {
  for (const Param& param : model.params())
    if (first_non_finite(param.variable.get_value(true)))
      throw UserError(Message{.what = str("the first weights of ", param.name, " are not finite"),
                              .expected = str("values that are finite in ", name_of(model.dtype())),
                              .config = param.config});
  auto check = [&](const Section& section, const char* name, const char* key, double value) {
    if (first_non_finite(Tensor(value).cast(model.dtype())))
      throw UserError(Message{.what = str(name, '.', key, " is too large"),
                              .expected = str("a number that is finite in ", name_of(model.dtype())),
                              .got = str(value),
                              .config = section.at(key)});
  };
  check(experiment.trainer, "trainer", "learning_rate", experiment.trainer.learning_rate());
  check(experiment.loss, "loss", "l1", experiment.loss.l1);
  check(experiment.loss, "loss", "l2", experiment.loss.l2);
}

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

TrainingProgram::TrainingProgram(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                                 const NamedArrays& first)
    : experiment_(with_checked_sizes(experiment, data)),
      floatx_(experiment.compiler.floatX),
      kernels_before_(compile_stats().kernels_compiled),
      input_(model_input(experiment, data.train.step_shape(), data.is_sequence())),
      model_(build_model(experiment, input_, data.classes())),
      valid_(demanding(experiment, data, data.valid), input_.shape, floatX(), data.streamed),
      test_(demanding(experiment, data, data.test), input_.shape, floatX(), data.streamed) {
  for (const auto& [name, value] : arrays_of(data.standardization, floatX()))
    data_state_.emplace_back(name, Shared(value, name, true));
  make_outputs(data);
  check_demands(experiment, data);
  check_machines(experiment, model_, data);
  load_first_weights(model_, experiment, data, config_folder);
  hand_weights(model_, first);
  check_start(model_, experiment);
  make_steps(data);
  make_evaluator(data);
}

void TrainingProgram::make_outputs(const Dataset& data) {
  outputs_ = outputs_of(experiment_);
  set_standards(outputs_, data.standardization.get());
  set_step_targets(outputs_, data.train);
  objectives_.emplace(std::vector<OutputObjective>(outputs_.begin(), outputs_.end()));
  check_outputs(outputs_, model_, data);
  classes_ = outputs_[0].classifies(data) ? data.classes() : 0;
}

// The feed, and the functions of a minibatch and of a shorter one at the end.
void TrainingProgram::make_steps(const Dataset& data) {
  const TrainerConfig& trainer = experiment_.trainer;
  const Split train = demanding(experiment_, data, data.train);
  feed_.emplace(Examples(train, input_.shape, floatX(), data.streamed), "train", trainer.shuffle && !is_batch_method(),
                data.shuffle_window, augmentation_of(experiment_, train));
  loss_sum_ = Shared(0.0, "loss_sum");
  const int64_t size = feed_->examples().size(), batch = std::min(trainer.batch_size, size), rest = size % batch;
  const bool has_rest = rest > 0 && (!trainer.full_batches_only || is_batch_method());
  chunks_ = size / batch + has_rest;
  known_steps_ = feed_->examples().known_steps();
  check_carried_state(model_, experiment_, data, has_rest);
  feed_->set_plan(has_rest ? size : size / batch * batch, batch);
  const RefusalScope refusals;  // of both steps
  step_ = make_step(batch, &graph_);
  schedules_.emplace(trainer, training_step_ ? &training_step_->optimizer() : nullptr, batches());
  check_schedules(trainer, *schedules_, data);
  if (has_rest) last_step_ = make_step(rest, nullptr);
}

void TrainingProgram::make_evaluator(const Dataset& data) {
  const std::vector<OutputMetric> asked = metrics_of(experiment_.trainer, *objectives_, outputs_[0].classifies(data));
  check_metrics(asked, outputs_, data);
  Evaluator(model_, outputs_, asked, {}).check(feed_->examples());
  std::vector<OutputMetric> metrics = with_loss(asked, *objectives_);
  names_ = names_of(metrics);
  names_.pop_back();
  evaluator_.emplace(model_, outputs_, std::move(metrics), function_options(experiment_.compiler, "errors"));
  evaluator_->check(feed_->examples());
  if (train_count() == 0 || most_measured() >= feed_->examples().size()) return;
  const Split train = demanding(experiment_, data, data.train);
  train_sample_.emplace(sample_of(train, train_count(), data.streamed), input_.shape, floatX(), data.streamed);
}

double TrainingProgram::largest_input(int64_t batch) {
  const Examples& examples = feed_->examples();
  const Tensor x = examples.has_all() ? examples.all().x : arguments(batch)[0];
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.as_double(i)));
  return largest;
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

NamedState TrainingProgram::step_state() const {
  NamedState out = training_step_ ? training_step_->state() : batch_training_->state();
  for (const auto& entry : objectives_->state()) out.push_back(entry);
  return out;
}

void TrainingProgram::check_objective_state(const NamedArrays& kept, const std::string& path) const {
  for (const TrainedOutput& output : outputs_) {
    std::optional<Message> message = output.objective->misfit_of_state(kept);
    if (!message) continue;
    message->what = str(path, ": ", message->what);
    if (!message->config) message->config = experiment_.trainer.at("batch_size");
    throw UserError(std::move(*message));
  }
}

std::optional<double> TrainingProgram::first_loss() const {
  if (classes_ < 2 || !objectives_->is_plain()) return {};  // of one class it is 0, which says nothing of scale
  return std::log(static_cast<double>(classes_));
}

std::vector<Update> TrainingProgram::chunk_updates(const Minibatch& batch, ModelPass& pass, const ObjectiveStep& step,
                                                   const Expr& penalties) {
  if (!batch_training_)
    batch_training_.emplace(*experiment_.trainer.optimizer->batch_method(), params_to_train(model_), penalties,
                            function_options(experiment_.compiler, "batch"));
  const TrainedOutput& output = outputs_[0];  // the only one
  const ModelOutput given = pass.model_output(output.layer);
  const TargetInput targets = output.targets(given, output.compared(pass, batch.x), batch.y, batch.weights);
  Expr weight;
  if (targets.weights.has_value() || targets.class_weights.has_value())
    weight = output.objective->losses(given, targets).weights;
  weight = weight.has_value() ? sum(weight) : make_constant(Tensor(static_cast<double>(batch.x.dims()[0].value())));
  return batch_training_->updates(step.cost, weight);
}

Function TrainingProgram::make_step(int64_t count, Graph* graph) {
  Minibatch batch = feed_->minibatch(count);
  ModelPass pass = batch.sparse ? model_.pass(*batch.sparse, Phase::kTraining)
                                : model_.pass({batch.x}, Phase::kTraining, batch.lengths);
  ObjectiveStep step = objective_step(batch, pass);
  if (is_batch_method())
    check_batch_training(experiment_, model_, *outputs_[0].objective, step);
  else if (!training_step_)
    make_training_step(step);
  Expr cost = step.cost, penalties;
  auto add_penalty = [&](double factor, const char* name, const Expr& penalty) {
    Scope scope("penalty");
    if (factor == 0 || !penalty.has_value()) return;
    Expr term = Shared(Tensor(factor).cast(floatX()), name, true) * penalty;
    cost = cost + term;
    penalties = penalties.has_value() ? penalties + term : term;
  };
  add_penalty(experiment_.loss.l1, "l1", l1_penalty(model_.trained_params()));
  add_penalty(experiment_.loss.l2, "l2", l2_penalty(model_.trained_params()));
  cost = named(cost, "loss");
  std::vector<Update> updates;
  if (is_batch_method()) {
    updates = chunk_updates(batch, pass, step, penalties);
  } else {
    if (step.gradients)
      updates = training_step_->updates(own_gradients(*step.gradients, penalties));
    else
      updates = batch.sparse ? training_step_->updates(cost, batch.sparse->columns) : training_step_->updates(cost);
    updates.insert(updates.end(), step.updates.begin(), step.updates.end());
    updates.push_back({*loss_sum_, *loss_sum_ + cast(cost, DType::kFloat64)});
  }
  updates.insert(updates.end(), pass.updates().begin(), pass.updates().end());
  if (graph) {
    for (const auto& layer : model_.layers())
      if (pass.model_output(layer->name()).is_sequence) sequences_.push_back(layer->name());
    for (const In& in : batch.inputs) graph->inputs.push_back(in.variable);
    graph->updates = updates;
  }
  FunctionOptions options = function_options(experiment_.compiler, "train");
  options.background = experiment_.compiler.background;
  options.unused_inputs = UnusedInputs::kAllowed;  // streamed targets of an autoencoder
  return function(batch.inputs, {}, updates, options);
}

std::vector<std::pair<std::string, Shared>> TrainingProgram::weights() const {
  std::vector<std::pair<std::string, Shared>> out;
  for (const Param& param : model_.params()) out.emplace_back(param.name, param.variable);
  for (const Param& state : model_.state()) out.emplace_back(state.name, state.variable);
  out.insert(out.end(), data_state_.begin(), data_state_.end());
  return out;
}

std::vector<std::pair<std::string, Tensor>> TrainingProgram::measured_weights() const {
  std::optional<AveragedWeights> averaged;
  if (const WeightAverage* of_weights = average()) averaged.emplace(*of_weights);
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [name, variable] : weights()) out.emplace_back(name, variable.get_value());
  return out;
}

int64_t TrainingProgram::length_of(int64_t batch) const {
  return std::min(experiment_.trainer.batch_size, feed_->examples().size() - begin_of(batch));
}
Function& TrainingProgram::function_of(int64_t chunk) {
  return last_step_ && chunk + 1 == chunks_ ? *last_step_ : *step_;
}

void TrainingProgram::begin_epoch(RandomState& random, int64_t epoch) {
  if (experiment_.trainer.shuffle && !is_batch_method()) feed_->begin_epoch(random);
  feed_->set_epoch(epoch);
  set_loss_sum(0);
}
void TrainingProgram::clear_carried_state() {
  thtrain::clear_carried_state(model_);
}

int64_t TrainingProgram::steps_of_first(int64_t batches) const {
  return feed_->steps_of_first(std::min(begin_of(batches), feed_->examples().size()));
}

void TrainingProgram::step(int64_t batch, std::span<const Tensor> arguments) {
  if (is_batch_method()) return iterate();
  function_of(batch)(arguments);
}

void TrainingProgram::iterate() {
  const std::optional<int64_t> bad = batch_training_->iterate(chunks_, [&](int64_t chunk) {
    bad_chunk_ = chunk;  // where the call ends with an error
    function_of(chunk)(arguments_of(chunk));
    if (on_chunk_) on_chunk_({.chunk = chunk + 1, .chunks = chunks_, .loss = batch_training_->mean_cost()});
  });
  bad_chunk_ = bad.value_or(0);
  set_loss_sum(bad ? std::nan("") : method()->value());
}

double TrainingProgram::try_step() {
  if (!is_batch_method()) {
    step(0);
    return loss_sum();
  }
  batch_training_->clear_sums();
  function_of(0)(arguments_of(0));
  return batch_training_->mean_cost();
}

void TrainingProgram::watch_step(int64_t batch, const std::function<void(const StepEvent&)>& callback) {
  const int64_t chunk = chunk_of(batch);
  if (is_batch_method()) batch_training_->clear_sums();
  function_of(chunk).watch(arguments_of(chunk), callback);
}

int64_t TrainingProgram::used_of(int64_t size) const {
  int64_t batch = experiment_.trainer.batch_size;
  return experiment_.trainer.full_batches_only ? size / batch * batch : size;
}

bool TrainingProgram::counts_test() const {
  return test_.size() > 0 && experiment_.trainer.test_at != TrainerConfig::TestAt::kNever;
}

void TrainingProgram::begin_errors() {
  const CompilerConfig& compiler = experiment_.compiler;
  if (compiler.mode != CompilerConfig::Mode::kNative || compiler.tune == Tune::kAlways) return;
  evaluator_->begin(feed_->examples(), train_count(), experiment_.trainer.batch_size);
  if (has_valid()) evaluator_->begin(valid_, used_of(valid_.size()), experiment_.trainer.batch_size);
  if (counts_test()) evaluator_->begin(test_, used_of(test_.size()), experiment_.trainer.batch_size);
}

void TrainingProgram::await_errors() {
  evaluator_->wait(feed_->examples(), train_count(), experiment_.trainer.batch_size);
  if (has_valid()) evaluator_->wait(valid_, used_of(valid_.size()), experiment_.trainer.batch_size);
  if (counts_test()) evaluator_->wait(test_, used_of(test_.size()), experiment_.trainer.batch_size);
}

bool TrainingProgram::take_compiled() {
  bool all = true;
  for (std::optional<Function>* f : {&step_, &last_step_}) {
    if (!*f) continue;
    if ((*f)->is_compiling())
      all = false;
    else
      (*f)->wait();
  }
  return evaluator_->take_compiled() && all;
}

std::optional<MetricValues> TrainingProgram::measure(Examples& examples, int64_t count, bool averaged) {
  if (count == 0) return {};
  std::optional<AveragedWeights> scope;
  if (const WeightAverage* of_weights = average(); of_weights && averaged) scope.emplace(*of_weights);
  std::vector<MetricValue> values = evaluator_->measure(examples, count, experiment_.trainer.batch_size, stops_);
  MetricValues out{.error = *values.front().number, .loss = *values.back().number};
  for (size_t i = 1; i + 1 < values.size(); ++i) out.others.push_back(*values[i].number);
  return out;
}

int64_t TrainingProgram::most_measured() const {
  constexpr int64_t kWithoutValidation = 10000;
  return has_valid() ? valid_.size() : kWithoutValidation;
}

// Of the loss, what training told of it is shown: where it is the only metric, none are measured.
int64_t TrainingProgram::train_count() const {
  if (std::all_of(names_.begin(), names_.end(), [](const MetricName& name) { return name.name == "loss"; })) return 0;
  return used_of(std::min(feed_->examples().size(), most_measured()));
}

std::optional<MetricValues> TrainingProgram::measure_train() {
  return measure(train_sample_ ? *train_sample_ : feed_->examples(), train_count(), true);
}

Explanation TrainingProgram::explain_errors() {
  if (!has_valid())
    throw UserError(Message{.what = "there is no function that counts validation errors",
                            .expected = "an experiment with validation examples"});
  return evaluator_->explain(valid_, used_of(valid_.size()), experiment_.trainer.batch_size);
}

std::vector<kernel::Choice> TrainingProgram::all_choices() {
  std::vector<kernel::Choice> out = choices();
  if (!has_valid()) return out;
  const auto& more = evaluator_->choices(valid_, used_of(valid_.size()), experiment_.trainer.batch_size);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Fingerprint TrainingProgram::fingerprint() const {
  auto text = [](const kernel::Choice& c) { return str(c.key.text(), ": ", c.candidate, " (", c.version, ")"); };
  Fingerprint out = {{"program", step_->identity()}, {kChoicesEntry, join(choices(), ", ", text)}};
  for (auto& entry : data_fingerprint()) out.push_back(std::move(entry));
  return out;
}

Fingerprint TrainingProgram::data_fingerprint() const {
  return {{"training data", feed_->examples().identity()},
          {"validation data", valid_.identity()},
          {"test data", test_.identity()}};
}

void TrainingProgram::check_files() const {
  feed_->examples().check_unchanged();
  valid_.check_unchanged();
  test_.check_unchanged();
}

}  // namespace thtrain
