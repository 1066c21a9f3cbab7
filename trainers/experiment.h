// What an experiment file may say: every section, field, default and range, and the checks that need no data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/libraries/threads.h"
#include "compiler/tuning/tuner.h"
#include "config/config.h"
#include "datasets/augmentation.h"
#include "datasets/data_config.h"
#include "nn/metric.h"
#include "nn/model.h"
#include "nn/objectives/negative_log_likelihood.h"
#include "nn/optimizers/sgd.h"
#include "nn/schedule.h"
#include "nn/training_step.h"
#include "reports/axis.h"
#include "trainers/phase_config.h"

namespace thtrain {

// ---- [model] ----

struct ModelConfig : Section {
  std::optional<std::string> weights;       // an .npz to start from
  std::vector<OneOf<LayerOptions>> layers;  // never without a name after read_experiment
  static void describe(Fields<ModelConfig>& f);
};

// ---- the other sections ----

/// What an output of the model should give: what the data has for the example, the example itself (an autoencoder), or
/// what another layer gives for it (an autoencoder within a stack).
enum class CompareWith { kTargets, kInputs, kLayer };

/// One of several outputs, and how it is judged.
struct OutputLossConfig : Section {
  std::string layer;
  OneOf<ObjectiveOptions> objective = NegativeLogLikelihood::Options();
  double weight = 1;
  CompareWith compare_with = CompareWith::kTargets;
  std::string compare_layer;     // of kLayer
  std::vector<int64_t> columns;  // of the targets, from the first to before the second; none: all
  std::vector<double> class_weights;
  static void describe(Fields<OutputLossConfig>& f);
};

/// The objective (or of several outputs, the weighted sum of theirs) + l1 * sum |W| + l2 * sum W^2, the sums over the
/// weight matrices and not the biases, + contraction * contraction_penalty() of one layer (nn/contraction.h).
struct LossConfig : Section {
  OneOf<ObjectiveOptions> objective = NegativeLogLikelihood::Options();
  CompareWith compare_with = CompareWith::kTargets;
  std::string compare_layer;              // of kLayer
  std::vector<double> class_weights;      // one for each class or output; none: each counts as 1
  std::vector<OutputLossConfig> outputs;  // none: the last layer by the keys above
  double l1 = 0;
  double l2 = 0;
  double contraction = 0;
  std::string contracted;  // the layer; "": none
  static void describe(Fields<LossConfig>& f);
};

struct TrainerConfig : StepOptions {
  enum class TestAt { kBest, kEpoch, kEnd, kNever };
  OneOf<OptimizerOptions> optimizer = OptimizerKind<Sgd>();
  std::optional<OneOf<ScheduleOptions>> schedule;           // of the learning rate
  std::optional<OneOf<ScheduleOptions>> momentum_schedule;  // of the momentum
  int64_t batch_size = 100;
  int64_t shards = 0;  // of each minibatch; 0: it is one
  int64_t epochs = 20;
  bool shuffle = true;
  bool full_batches_only = true;
  int64_t patience = 0;  // minibatches; 0: all epochs are done
  double patience_increase = 2;
  double improvement_threshold = 0.995;
  std::optional<int64_t> validation_frequency;  // minibatches
  TestAt test_at = TestAt::kBest;
  std::vector<OneOf<MetricOptions>> metrics;  // none: the error of classes, the loss of values
  std::string monitor;                        // the metric that best and patience go by; "": the first
  double checkpoint_seconds = 60;             // 0: no checkpoints by time
  int64_t checkpoint_epochs = 0;              // 0: none by epochs
  int64_t keep_checkpoints = 1;
  double max_seconds = 0;  // 0: none
  std::optional<AugmentConfig> augment;

  double learning_rate() const { return optimizer->rate(); }
  static void describe(Fields<TrainerConfig>& f);
};

struct CompilerConfig : Section {
  enum class Mode { kNative, kReference, kDebug, kNanGuard };
  enum class Optimizer { kDefault, kStrict, kFast };
  enum class Device { kCpu, kEmulated, kCuda, kCuda1, kCuda2, kCuda3, kCuda4, kCuda5, kCuda6, kCuda7 };
  Device device = Device::kCpu;
  DType floatX = DType::kFloat32;
  Mode mode = Mode::kNative;
  bool guard_nan = true, guard_infinity = true;  // in mode kNanGuard
  double guard_above = 1e10;                     // 0: no bound
  Optimizer optimizer = Optimizer::kDefault;
  int64_t threads = 0;  // 0: OMP_NUM_THREADS, or all cores
  Tune tune = Tune::kCached;
  double conv_tolerance = 0;
  bool tf32 = false;                          // of libraries of a device
  std::vector<std::string> exclude_rewrites;  // passes and rules
  std::vector<std::string> only_candidates, include_candidates, exclude_candidates;
  int64_t workspace_limit = 0;               // bytes; 0: none
  std::vector<std::string> candidate_files;  // shared objects
  bool background = false;
  static void describe(Fields<CompilerConfig>& f);
};

struct OutputConfig : Section {
  std::string root = "runs";
  bool plots = true;
  ValueScale plot_scale = ValueScale::kAuto;  // of the axes of losses
  bool tensorboard = false;
  std::string filters;  // the layer whose weights are drawn; "": none
  int64_t filter_rows = 10, filter_columns = 10;
  std::string samples;    // the rbm layer that samples are drawn of; "": none
  int64_t augmented = 0;  // training examples that are drawn with their changes
  int64_t sample_chains = 20, sample_rows = 10, sample_steps = 1000;
  static void describe(Fields<OutputConfig>& f);
};

struct Experiment : Section {
  int64_t seed = 1234;
  OneOf<DataConfig> data;
  ModelConfig model;
  LossConfig loss;
  TrainerConfig trainer;
  CompilerConfig compiler;
  OutputConfig output;
  /// As declared; none where the run is one phase. Of an element of `phases`, the one before it and its own.
  std::vector<PhaseConfig> phase;
  size_t phase_number = 0;  // from 1; 0 where the run is one phase. Not declared
  /// The experiment of each phase; an experiment with phases is itself that of the last one. Not declared.
  std::vector<Experiment> phases = {};
  static void describe(Fields<Experiment>& f);
};

/// At least 1.
size_t phase_count(const Experiment& experiment);
/// The experiment of a phase, from 0; it alone where it has no phases. UserError beyond the last one.
const Experiment& phase_of(const Experiment& experiment, size_t index);
/// "" where there are no phases.
std::string phase_name(const Experiment& of_phase);
/// The experiment of the phases, as read_experiment gives it: for programs. UserError unless there are some, and each
/// has its own `phase.back()`.
Experiment experiment_of(std::vector<Experiment> phases);
/// Is one of the layers of such a kind: &LayerOptions::Maker::is_recurrent?
bool has_layer(const Experiment& experiment, bool LayerOptions::Maker::*is);
/// Is this layer trained in the phase that `experiment` is?
bool is_trained(const Experiment& experiment, const LayerOptions& layer);

/// What is wrong with the layers that objectives judge, and with other names of layers outside of [model].
void check_outputs(const Experiment& experiment, Findings& findings);
/// How each output is judged: loss.outputs, or where there are none, the last layer by what [loss] says.
std::vector<OutputLossConfig> output_losses(const Experiment& experiment);

/// "top_5_error" -> "top 5 error"
std::string metric_label(const std::string& name);

/// The experiment that a program built, checked as read_experiment checks a file, with names of its layers where they
/// have none. UserError with all mistakes; each names the key ("model.layers.0.activation"). One with layers,
/// objectives or the like of the program's own kinds is checked where it is used.
Experiment checked_experiment(const Experiment& experiment);
/// What is wrong with the layers that a phase trains.
void check_trained(const Experiment& of_phase, Findings& findings);

/// Reads and checks; layers without a name get one ("dense1", "softmax"), and so do phases. What is wrong goes to
/// `findings`.
Experiment read_experiment(const ConfigNode& root, Findings& findings);

/// The experiment of a configuration with phases; `read_one` reads that of one of them. A mistake that not all phases
/// have begins with the name of its phase.
Experiment read_phases(const ConfigNode& root, Findings& findings,
                       Experiment (*read_one)(const ConfigNode&, Findings&));

/// The experiment as TOML, with every default written out; it reads back as the same experiment.
std::string resolved_toml(const Experiment& experiment);

/// The one key of this name with its section, "trainer.epochs" for "epochs", "trainer.learning_rate" for the synonym
/// "lr"; "" where there is none, or one in several sections, or in the layers.
std::string path_of_key(const std::string& key);

/// docs/config.md.
std::string config_reference();

}  // namespace thtrain
