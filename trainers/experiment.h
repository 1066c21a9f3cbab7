// What an experiment file may say: every section, field, default and range, and the checks that need no data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/base/config.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/threads.h"
#include "compiler/runtime/tuner.h"
#include "datasets/csv.h"
#include "datasets/split_rows.h"

namespace thtrain {

// ---- [data] ----

/// Which examples of the training file are kept for validation.
struct SplitConfig : Section {
  SplitBy split = SplitBy::kOrder;
  int64_t split_seed = 0;

  template <class T>
  static void describe_split(Fields<T>& f);
};

/// MNIST's 60,000 + 10,000 digits of 28x28 pixels; the validation examples are the last of the training file.
struct MnistConfig : SplitConfig {
  static constexpr std::string_view kName = "mnist";
  int64_t n_train = 50000;
  int64_t n_valid = 10000;
  int64_t n_test = 10000;
  double scale = 1.0 / 256;  // pixel bytes are multiplied by it
  static void describe(Fields<MnistConfig>& f);
};

/// The built-in generator of handwritten-like digits, 28x28 pixels.
struct DigitsConfig : Section {
  static constexpr std::string_view kName = "digits";
  int64_t n_train = 10000;
  int64_t n_valid = 2000;
  int64_t n_test = 2000;
  int64_t seed = 1;
  double scale = 1.0 / 256;
  static void describe(Fields<DigitsConfig>& f);
};

/// Where validation examples come from: a file of their own, or the last n_valid examples of the training file.
struct ArrayFiles : SplitConfig {
  std::string train, train_labels;
  std::optional<std::string> valid, valid_labels, test, test_labels;
  int64_t n_valid = 0;
  double scale = 1;
  std::optional<double> memory_limit;  // GiB

  template <class T>
  static void describe_files(Fields<T>& f);
};

struct NpyConfig : ArrayFiles {
  static constexpr std::string_view kName = "npy";
  static void describe(Fields<NpyConfig>& f);
};

struct IdxConfig : ArrayFiles {
  static constexpr std::string_view kName = "idx";
  static void describe(Fields<IdxConfig>& f);
};

struct CsvConfig : SplitConfig {
  static constexpr std::string_view kName = "csv";
  std::string train;
  std::optional<std::string> valid, test;
  std::string label_column = "last";  // "first", "last", or its name in the header
  std::optional<bool> header;         // found out where not given
  CsvOptions::Delimiter delimiter = CsvOptions::Delimiter::kAuto;
  int64_t n_valid = 0;
  double scale = 1;
  std::optional<double> memory_limit;  // GiB
  static void describe(Fields<CsvConfig>& f);
};

using DataConfig = std::variant<MnistConfig, DigitsConfig, NpyConfig, IdxConfig, CsvConfig>;

/// Examples of each set, where the file alone says it; -1 where only the data can.
struct SetSizes {
  int64_t train = -1, valid = -1, test = -1;
};
SetSizes set_sizes(const DataConfig& data);

// ---- [model] ----

/// How a matrix of weights starts.
struct InitConfig : Section {
  enum class Init {
    kGlorotUniform,
    kGlorotNormal,
    kHeUniform,
    kHeNormal,
    kNormal,
    kUniform,
    kOrthogonal,
    kConstant,
    kZeros
  };
  Init init = Init::kGlorotUniform;
  double init_scale = 1;        // multiplies what glorot_*, he_* and orthogonal give
  double init_std = 0.01;       // of normal
  double init_range = 0.01;     // of uniform: from -init_range to init_range
  double init_value = 0;        // of constant
  std::optional<int64_t> seed;  // of this layer's own generator, instead of the experiment's

  template <class T>
  static void describe_init(Fields<T>& f);
};

struct DenseConfig : InitConfig {
  static constexpr std::string_view kName = "dense";
  std::string name;  // never empty after read_experiment
  int64_t units = 0;
  std::string activation = "linear";
  bool bias = true;
  static void describe(Fields<DenseConfig>& f);
};

struct ActivationConfig : Section {
  static constexpr std::string_view kName = "activation";
  std::string name;
  std::string activation;
  static void describe(Fields<ActivationConfig>& f);
};

struct FlattenConfig : Section {
  static constexpr std::string_view kName = "flatten";
  std::string name;
  static void describe(Fields<FlattenConfig>& f);
};

/// The classifier: a dense layer with one unit for each class, and the softmax of it.
struct SoftmaxConfig : InitConfig {
  static constexpr std::string_view kName = "softmax";
  SoftmaxConfig() { init = Init::kZeros; }
  std::string name;
  std::optional<int64_t> units;  // not given: the number of classes
  bool bias = true;
  static void describe(Fields<SoftmaxConfig>& f);
};

using LayerConfig = std::variant<DenseConfig, ActivationConfig, FlattenConfig, SoftmaxConfig>;

const Section& section_of(const LayerConfig& layer);
const std::string& name_of(const LayerConfig& layer);

/// What `activation` may be.
const std::vector<std::string>& activation_names();

struct ModelConfig : Section {
  std::optional<std::string> weights;  // an .npz to start from
  std::vector<LayerConfig> layers;
  static void describe(Fields<ModelConfig>& f);
};

// ---- the other sections ----

/// mean(-log p[label]) + l1 * sum |W| + l2 * sum W^2, the sums over the weight matrices and not the biases.
struct LossConfig : Section {
  double l1 = 0;
  double l2 = 0;
  static void describe(Fields<LossConfig>& f);
};

struct TrainerConfig : Section {
  enum class TestAt { kBest, kEpoch, kEnd, kNever };
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  int64_t batch_size = 100;
  int64_t epochs = 20;
  bool shuffle = true;
  bool full_batches_only = true;
  int64_t patience = 0;  // minibatches; 0: all epochs are done
  double patience_increase = 2;
  double improvement_threshold = 0.995;
  std::optional<int64_t> validation_frequency;  // minibatches
  TestAt test_at = TestAt::kBest;
  double checkpoint_seconds = 60;  // 0: no checkpoints by time
  int64_t checkpoint_epochs = 0;   // 0: none by epochs
  static void describe(Fields<TrainerConfig>& f);
};

struct CompilerConfig : Section {
  enum class Mode { kNative, kReference, kDebug };
  enum class Optimizer { kDefault, kStrict, kFast };
  DType floatX = DType::kFloat32;
  Mode mode = Mode::kNative;
  Optimizer optimizer = Optimizer::kDefault;
  int64_t threads = 0;  // 0: OMP_NUM_THREADS, or all cores
  Tune tune = Tune::kCached;
  bool background = false;
  static void describe(Fields<CompilerConfig>& f);
};

struct OutputConfig : Section {
  std::string root = "runs";
  bool plots = true;
  static void describe(Fields<OutputConfig>& f);
};

struct Experiment : Section {
  int64_t seed = 1234;
  DataConfig data;
  ModelConfig model;
  LossConfig loss;
  TrainerConfig trainer;
  CompilerConfig compiler;
  OutputConfig output;
  static void describe(Fields<Experiment>& f);
};

/// Reads and checks; layers without a name get one ("dense1", "softmax"). What is wrong goes to `findings`.
Experiment read_experiment(const ConfigNode& root, Findings& findings);

/// The experiment as TOML, with every default written out; it reads back as the same experiment.
std::string resolved_toml(const Experiment& experiment);

/// The one key of this name with its section, "trainer.epochs" for "epochs", "trainer.learning_rate" for the synonym
/// "lr"; "" where there is none, or one in several sections, or in the layers.
std::string path_of_key(const std::string& key);

/// docs/config.md.
std::string config_reference();

}  // namespace thtrain
