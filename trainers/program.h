// The compiled side of a run: model, data, optimizer, the function of a training step, and the counting of errors.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "nn/model.h"
#include "nn/training_step.h"
#include "trainers/batch_training.h"
#include "trainers/checkpoint.h"
#include "trainers/evaluator.h"
#include "trainers/feed.h"
#include "trainers/hooks.h"
#include "trainers/measures.h"
#include "trainers/outputs.h"
#include "trainers/schedules.h"
#include "trainers/sharded_step.h"

namespace thtrain {

/// The lists of candidates of an experiment.
CandidateLists candidate_lists(const CompilerConfig& config);
/// The device that compiler.device names; none where that is the processor. UserError at the key where there is no such
/// device.
std::optional<kernel::Target> device_target(const CompilerConfig& config);
/// Bytes of examples that stay in the memory that a step computes in: half of a device's; the processor's has no limit.
int64_t room_for_examples(const CompilerConfig& config);
/// What [compiler] says, for a function of that name.
FunctionOptions function_options(const CompilerConfig& config, std::string name);

/// What is measured on one set of examples.
struct MetricValues {
  double error = 0;  // the metric that the run goes by
  double loss = 0;   // without penalties
  std::vector<double> others = {};
};

class TrainingProgram {
 public:
  /// Builds the model with its first weights, and compiles the training step. UserError: the data is not for
  /// classifying, or does not fit the model or the minibatch; the weights do not fit; nothing is trained; an output of
  /// the model has no objective.
  /// Of `first`, the weights of the phase before, those of the model's names replace its own first weights. `ranks`:
  /// the processes that train together; null: this one alone.
  TrainingProgram(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                  const std::vector<std::pair<std::string, Tensor>>& first = {},
                  const std::shared_ptr<Ranks>& ranks = nullptr);

  Ranks& ranks() const { return *ranks_; }
  /// The step in shards; null where trainer.shards is 0.
  ShardedStep* sharded() { return sharded_ ? &*sharded_ : nullptr; }
  const ShardedStep* sharded() const { return sharded_ ? &*sharded_ : nullptr; }
  /// Where step() found a loss that is not finite: looks for the shard, which watch_step() and arguments() then are of.
  /// All ranks call it. The rank that has it; rank 0 where it is nobody's.
  int find_bad_shard(int64_t batch);
  /// ", shard 2 of 4 at rank 1 (node7)", after find_bad_shard(); "" without shards.
  std::string bad_shard_text() const;

  Model& model() { return model_; }
  const Model& model() const { return model_; }
  /// What steps keep besides the weights: of the optimizer, of accumulated gradients, of averages, of the objective.
  NamedState step_state() const;
  /// UserError where an objective cannot go on from what the checkpoint at `path` keeps besides the weights.
  void check_objective_state(const NamedArrays& kept, const std::string& path) const;
  /// The metrics that have a number, first the one that the run goes by.
  const MetricNames& metric_names() const { return names_; }
  /// The loss of a model that knows nothing, where that can be said.
  std::optional<double> first_loss() const;
  Schedules& schedules() { return *schedules_; }
  const Schedules& schedules() const { return *schedules_; }
  /// Weights, and what layers remember besides them, under the names that a checkpoint gives them.
  std::vector<std::pair<std::string, Shared>> weights() const;
  /// Values of weights() that a model is measured with: averages where trainer.average says so.
  std::vector<std::pair<std::string, Tensor>> measured_weights() const;
  /// Minibatches of an epoch. Of a batch method an epoch is one iteration, and counts as one minibatch.
  int64_t batches() const { return is_batch_method() ? 1 : chunks_; }
  bool is_batch_method() const { return experiment_.trainer.optimizer->batch_method() != nullptr; }
  /// The batch method; null of other optimizers.
  const BatchMethod* method() const { return batch_training_ ? &batch_training_->method() : nullptr; }
  BatchMethod* method() { return batch_training_ ? &batch_training_->method() : nullptr; }

  /// Sets the order of an epoch's examples, drawn from `random`, where the experiment shuffles, and what augmentation
  /// draws by the number of the epoch, from 0; the loss's sum becomes 0.
  void begin_epoch(RandomState& random, int64_t epoch = 0);
  /// Layers that go on from the minibatch before begin with zeros again: where an epoch begins.
  void clear_carried_state();
  /// Of sequences that differ in length, the steps of the epoch's first minibatches; else 0.
  int64_t steps_of_first(int64_t batches) const;
  /// One minibatch: adds its loss to loss_sum() and changes the weights. Of a batch method one iteration: loss_sum()
  /// becomes the loss of all training examples, penalties included.
  void step(int64_t batch) {
    step(batch, is_batch_method() || sharded_ ? std::span<const Tensor>() : arguments(batch));
  }
  /// The same with what arguments(batch) gave; a batch method and shards read their own.
  void step(int64_t batch, std::span<const Tensor> arguments);
  /// Of a batch method: what step() calls after each chunk, with the chunks done of this evaluation and of all.
  struct ChunkProgress {
    int64_t chunk = 0, chunks = 0;
    double loss = 0;  // mean so far, without penalties
  };
  void on_chunk(std::function<void(const ChunkProgress&)> hook) { on_chunk_ = std::move(hook); }
  /// The loss of the first minibatch, without penalties where the optimizer is a batch method; changes the weights of
  /// others.
  double try_step();
  /// Of an optimizer that has one, from now on; a schedule that is applied changes it again.
  void set_learning_rate(double rate) { training_step_->optimizer().set_number("learning_rate", rate); }
  /// From now on step() is timed, step of the program by step; of full minibatches.
  void start_profile() { main_step().start_profile(); }
  Profile profile() const { return main_step().profile(); }
  const ProgramInfo& step_info() const { return main_step().info(); }
  /// Is the reference training, because the compiler is still at work in the background?
  bool is_compiling() const { return experiment_.compiler.background && !main_step().is_native() && !is_reference(); }
  /// The same call with a callback around each step of the program.
  void watch_step(int64_t batch, const std::function<void(const StepEvent&)>& callback);
  /// Of the minibatches of the epoch so far; NaN or infinite as soon as one loss is.
  double loss_sum() const { return loss_sum_->scalar(); }
  void set_loss_sum(double value) { loss_sum_->set_value(value); }

  /// Begins to compile the functions that count errors in other threads, so that a compiler that fails or is stopped
  /// says so early. In native mode; where products are measured it would disturb the measurements, and waits.
  void begin_errors();
  /// Is another thread compiling one of the functions that count errors?
  bool is_compiling_errors() const { return evaluator_->is_compiling(); }
  /// Waits for them, and compiles what was not begun. Throws what a compiler threw.
  void await_errors();
  /// Takes what other threads have compiled by now; false where one is still at work. Throws what a compiler threw.
  bool take_compiled();
  /// What measurements ask between two chunks of examples: where it says yes, they throw MeasurementStopped.
  void stop_measuring_where(std::function<bool()> stops) { stops_ = std::move(stops); }
  /// No value where the set has no examples. UserError where one cannot be read.
  std::optional<MetricValues> measure_valid() { return measure(valid_, used_of(valid_.size()), true); }
  std::optional<MetricValues> measure_test() { return measure(test_, used_of(test_.size()), true); }
  /// The same of what weights() hold, averages or not.
  std::optional<MetricValues> measure_test_of_weights() { return measure(test_, used_of(test_.size()), false); }
  /// On as many training examples as there are validation examples, 10,000 where there are none: the same in every
  /// epoch, spread over all of them (sample_of). No value where the loss is the only metric.
  std::optional<MetricValues> measure_train();
  bool has_valid() const { return valid_.size() > 0; }

  ModelSummary summary() const;
  Explanation explain() const { return main_step().explain(); }
  /// The function that counts the errors on the validation examples. UserError where there are none.
  Explanation explain_errors();
  /// What has several implementations in the training step, and which was taken.
  const std::vector<kernel::Choice>& choices() const { return main_step().info().choices; }
  /// Those of the function that counts errors too.
  std::vector<kernel::Choice> all_choices();
  /// Hashes of the program's graph and of the data, and the candidates that it takes.
  Fingerprint fingerprint() const;
  /// What it has of the data.
  Fingerprint data_fingerprint() const;
  /// UserError where a file that examples are streamed from was changed since it was opened.
  void check_files() const;
  /// What one call of step() computes, and from what: for looking into it without native code.
  const Graph& graph() const { return graph_; }
  /// Where step() found a loss that is not finite: `batch`; of a batch method the chunk, of chunks().
  int64_t chunk_of(int64_t batch) const { return is_batch_method() ? bad_chunk_ : batch; }
  int64_t chunks() const { return chunks_; }
  /// Of chunk_of(); valid until the next call. UserError where streamed examples cannot be read: nothing is changed
  /// then.
  std::span<const Tensor> arguments(int64_t batch) { return arguments_of(chunk_of(batch)); }
  /// Of the examples, scaled; of this minibatch where they are read from their file.
  double largest_input(int64_t batch);
  bool is_reference() const { return experiment_.compiler.mode == CompilerConfig::Mode::kReference; }

 private:
  void make_outputs(const Dataset& data);
  void make_steps(const Dataset& data);
  void make_evaluator(const Dataset& data);
  struct StepParts;
  StepParts step_parts(int64_t count);
  Function make_step(int64_t count, Graph* graph);
  Expr weight_of(const Minibatch& batch, ModelPass& pass) const;
  ShardGraph shard_graph(int64_t count);
  void make_sharded(bool has_rest);
  void compile_in_turn(const std::function<void()>& compile);
  /// Of a minibatch, or of a shard of it.
  const Function& main_step() const { return sharded_ ? sharded_->function() : *step_; }
  Function& main_step() { return sharded_ ? sharded_->function() : *step_; }
  int64_t begin_of(int64_t batch) const { return batch * experiment_.trainer.batch_size; }
  int64_t length_of(int64_t batch) const;
  std::span<const Tensor> arguments_of(int64_t chunk);
  Function& function_of(int64_t chunk);
  void iterate();
  std::vector<Update> chunk_updates(const Minibatch& batch, ModelPass& pass, const ObjectiveStep& step,
                                    const Expr& penalties);
  const WeightAverage* average() const { return training_step_ ? training_step_->average() : nullptr; }
  std::optional<MetricValues> measure(Examples& examples, int64_t count, bool averaged);
  int64_t most_measured() const;  // training examples
  int64_t train_count() const;
  std::vector<Expr> own_gradients(const std::vector<Expr>& given, const Expr& penalties) const;
  void make_training_step(const ObjectiveStep& step);
  ObjectiveStep objective_step(const Minibatch& batch, ModelPass& pass);
  bool counts_test() const;
  /// Examples that count where only full minibatches do.
  int64_t used_of(int64_t size) const;
  std::vector<LayerSummary> layer_summaries() const;
  std::string minibatch_text(const Shape& one, bool is_sequence) const;

  std::shared_ptr<Ranks> ranks_;
  const Experiment experiment_;  // on this rank's device
  FloatXScope floatx_;
  int64_t kernels_before_;
  ModelInput input_;
  Model model_;
  Examples valid_, test_;
  std::vector<std::pair<std::string, Shared>> data_state_;  // trainers/data_state.h
  std::optional<Feed> feed_;
  std::optional<Examples> train_sample_;         // where not all training examples are measured
  std::optional<TrainingStep> training_step_;    // of an optimizer with a step for each minibatch
  std::optional<BatchTraining> batch_training_;  // of a batch method
  std::function<void(const ChunkProgress&)> on_chunk_;
  std::function<bool()> stops_;
  std::optional<Schedules> schedules_;
  std::optional<Shared> loss_sum_;
  int64_t chunks_ = 0;                        // minibatches of all training examples that count
  int64_t bad_chunk_ = 0;                     // of the last iteration, where its loss is not finite
  Graph graph_;                               // of step_
  std::optional<Function> step_, last_step_;  // last_step_: of a shorter minibatch at the end; none in shards
  std::optional<ShardedStep> sharded_;
  int64_t bad_shard_ = 0;
  int bad_rank_ = 0;
  bool is_bad_shard_known_ = false, has_measured_ = false, has_awaited_ = false;
  std::vector<TrainedOutput> outputs_;
  std::vector<std::string> sequences_;  // layers that give sequences
  int64_t known_steps_ = -1;            // of the training sequences, where all have so many
  std::optional<WeightedObjectives> objectives_;
  int64_t classes_ = 0;  // of the first output
  MetricNames names_;
  std::optional<Evaluator> evaluator_;
};

}  // namespace thtrain
