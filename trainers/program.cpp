#include "trainers/program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/content_hash.h"
#include "compiler/host/cache.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/print.h"
#include "compiler/libraries/threads.h"
#include "nn/model_pass.h"
#include "trainers/build_model.h"
#include "trainers/carried_state.h"
#include "trainers/data_state.h"
#include "trainers/demands.h"
#include "trainers/first_weights.h"
#include "trainers/shards.h"

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

TrainingProgram::TrainingProgram(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                                 const NamedArrays& first, const std::shared_ptr<Ranks>& ranks)
    : ranks_(ranks ? ranks : std::make_shared<Ranks>()),
      experiment_(on_own_device(with_checked_sizes(experiment, data), *ranks_)),
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

NamedState TrainingProgram::step_state() const {
  NamedState out = training_step_ ? training_step_->state() : batch_training_->state();
  for (const auto& entry : objectives_->state()) out.push_back(entry);
  if (sharded_) out.insert(out.end(), sharded_->state().begin(), sharded_->state().end());
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

std::span<const Tensor> TrainingProgram::arguments_of(int64_t chunk) {
  if (sharded_) return sharded_->arguments(*feed_, begin_of(chunk), length_of(chunk), bad_shard_);
  return feed_->arguments(begin_of(chunk), length_of(chunk));
}

int TrainingProgram::find_bad_shard(int64_t batch) {
  if (!sharded_) return 0;
  const std::optional<int64_t> own = sharded_->bad_shard(*feed_, begin_of(batch), length_of(batch));
  const std::vector<std::string> all = ranks_->gather(own ? str(*own) : "");
  const auto found = std::find_if(all.begin(), all.end(), [](const std::string& one) { return !one.empty(); });
  is_bad_shard_known_ = found != all.end();
  if (!is_bad_shard_known_) return bad_rank_ = 0;
  bad_shard_ = std::stoll(*found);
  return bad_rank_ = static_cast<int>(found - all.begin());
}

std::string TrainingProgram::bad_shard_text() const {
  if (!is_bad_shard_known_) return "";
  return str(", shard ", bad_shard_ + 1, " of ", experiment_.trainer.shards,
             ranks_->size() == 1 ? "" : str(" at ", ranks_->name_of(bad_rank_)));
}

void TrainingProgram::begin_epoch(RandomState& random, int64_t epoch) {
  if (experiment_.trainer.shuffle && !is_batch_method()) feed_->begin_epoch(random);
  feed_->set_epoch(epoch);
  set_loss_sum(0);
}
void TrainingProgram::clear_carried_state() {
  thtrain::clear_carried_state(model_);
  if (sharded_) sharded_->clear_carried_state();
}

int64_t TrainingProgram::steps_of_first(int64_t batches) const {
  return feed_->steps_of_first(std::min(begin_of(batches), feed_->examples().size()));
}

void TrainingProgram::step(int64_t batch, std::span<const Tensor> arguments) {
  if (is_batch_method()) return iterate();
  if (sharded_) return sharded_->step(*feed_, begin_of(batch), length_of(batch));
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
  if (sharded_) return sharded_->watch(*feed_, begin_of(chunk), length_of(chunk), bad_shard_, callback);
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
  if (!std::exchange(has_awaited_, true)) return compile_in_turn([this] { await_errors(); });
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
  std::optional<Ranks::Patience> compiles;
  if (!std::exchange(has_measured_, true)) compiles.emplace(*ranks_);
  std::vector<MetricValue> values =
      evaluator_->measure(examples, count, experiment_.trainer.batch_size, stops_, *ranks_);
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
  Fingerprint out = {{"program", sharded_ ? sharded_->identity() : step_->identity()},
                     {kChoicesEntry, join(choices(), ", ", text)}};
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
