#include "trainers/experiment.h"

#include <algorithm>
#include <limits>
#include <set>

#include "nn/objectives/contrastive_divergence.h"
#include "trainers/batch_training.h"
#include "trainers/shards.h"

namespace thtrain {

template <class T>
static void describe_compare_with(Fields<T>& f) {
  f.choice("compare_with", &T::compare_with,
           {{"targets", CompareWith::kTargets}, {"inputs", CompareWith::kInputs}, {"layer", CompareWith::kLayer}})
      .help(
          "What the output should give: the `targets` that the data has; the `inputs`, the examples themselves, as an "
          "autoencoder does; or what the `layer` that `compare_layer` names gives. Without `targets`, these are not "
          "read.");
  f.field("compare_layer", &T::compare_layer)
      .help(
          "Name of the layer that the output is compared with, whose values are held constant: the input of an "
          "autoencoder within a stack.");
  f.check([](const T& c, Findings& findings) {
    if ((c.compare_with == CompareWith::kLayer) == !c.compare_layer.empty()) return;
    if (c.compare_layer.empty())
      findings.add({.what = str(c.name_of("compare_layer"), " is missing"),
                    .expected = "the name of a layer, with compare_with = \"layer\"",
                    .config = c.at("compare_with")});
    else
      findings.add({.what = str(c.name_of("compare_layer"), " has no effect"),
                    .expected = "compare_with = \"layer\"",
                    .config = c.at("compare_layer")});
  });
}

// Weights of which none is above 0 train nothing.
template <class T>
static void check_class_weights(const T& c, Findings& findings) {
  if (c.class_weights.empty() ||
      std::count(c.class_weights.begin(), c.class_weights.end(), 0.0) != std::ssize(c.class_weights))
    return;
  findings.add({.what = str(c.name_of("class_weights"), " are all 0: nothing would be trained"),
                .expected = "a weight above 0 for one of them",
                .got = str('[', join(c.class_weights, ", "), ']'),
                .config = c.at("class_weights")});
}

// An objective without targets has no classes.
template <class T>
static void check_class_weights_are_read(const T& c, Findings& findings) {
  if (c.class_weights.empty() || !c.objective.template is<ContrastiveDivergence::Options>()) return;
  findings.add({.what = str(c.name_of("class_weights"), " has no effect"),
                .expected = "an objective of targets",
                .got = str("type = \"", ContrastiveDivergence::Options::kName, '"'),
                .config = c.at("class_weights")});
}

void OutputLossConfig::describe(Fields<OutputLossConfig>& f) {
  using C = OutputLossConfig;
  f.about(
      "One of several outputs of the model, and how it is judged. The loss is the weighted sum of their losses, "
      "each of which is measured too, as `loss.LAYER`; `trainer.metrics` measures the first output.");
  f.field("layer", &C::layer).required().help("Name of the layer.");
  f.inline_kind("type", &C::objective).help("The objective.");
  f.field("weight", &C::weight).range(at_least(0)).help("Factor of its loss in the sum.");
  describe_compare_with(f);
  f.field("columns", &C::columns)
      .range(at_least(0))
      .help(
          "Which numbers of the targets it should give, of `data.target = \"values\"` or `\"labels\"`: `[first, end]`, "
          "from the first, counted from 0, to the one before `end`, so that `[0, 3]` are the first three. An objective "
          "of classes takes one column, of class numbers. Empty: all.");
  f.field("class_weights", &C::class_weights).range(at_least(0)).help("As `loss.class_weights`, of this output.");
  f.check([](const C& c, Findings& findings) {
    check_class_weights(c, findings);
    check_class_weights_are_read(c, findings);
    if (c.columns.empty()) return;
    if (c.columns.size() != 2 || c.columns[0] >= c.columns[1])
      findings.add({.what = str(c.name_of("columns"), " is no range"),
                    .expected = "[first, end]: the first column, from 0, and the one after the last",
                    .got = str('[', join(c.columns, ", "), ']'),
                    .config = c.at("columns")});
    if (c.compare_with != CompareWith::kTargets)
      findings.add({.what = str(c.name_of("columns"), " has no effect"),
                    .expected = "compare_with = \"targets\"",
                    .got = str("compare_with = \"", c.compare_with == CompareWith::kInputs ? "inputs" : "layer", '"'),
                    .config = c.at("columns")});
  });
}

// What [[loss.outputs]] replaces.
static void check_alone(const LossConfig& c, Findings& findings) {
  if (c.outputs.empty()) return;
  auto useless = [&](const char* key) {
    findings.add({.what = str("loss.", key, " has no effect"),
                  .expected = str(key, " in each [[loss.outputs]]"),
                  .config = c.at(key)});
  };
  if (c.objective.name() != LossConfig().objective.name()) useless("type");
  if (c.compare_with != CompareWith::kTargets) useless("compare_with");
  if (!c.class_weights.empty()) useless("class_weights");
}

void LossConfig::describe(Fields<LossConfig>& f) {
  f.about("What training minimizes: an objective's mean over the minibatch, plus the penalties on the weights.");
  f.inline_kind("type", &LossConfig::objective)
      .synonyms({"objective", "name", "loss", "criterion"})
      .help("The objective.");
  describe_compare_with(f);
  f.field("class_weights", &LossConfig::class_weights)
      .range(at_least(0))
      .synonyms({"class_weight", "weight"})
      .help("How much an example of each class counts in the loss, or of values each output. Empty: each the same.");
  f.field("l1", &LossConfig::l1)
      .range(at_least(0))
      .independent()
      .help("Factor of the sum of |W| over the weight matrices that are trained, without biases.");
  f.field("l2", &LossConfig::l2)
      .range(at_least(0))
      .independent()
      .synonyms({"weight_decay"})
      .help("Factor of the sum of W^2 over the weight matrices that are trained, without biases.");
  f.field("contraction", &LossConfig::contraction)
      .range(at_least(0))
      .synonyms({"contraction_level"})
      .help(
          "Factor of the sum of squares of the derivatives of the layer `contracted` by its inputs, the mean over the "
          "examples: a contractive autoencoder.");
  f.field("contracted", &LossConfig::contracted)
      .help("Name of the layer of `contraction`: dense or rbm, with the activation `sigmoid`, `tanh` or `linear`.");
  f.field("outputs", &LossConfig::outputs)
      .help("Of a model with several outputs: how each of them is judged, instead of `type`.");
  f.check([](const LossConfig& c, Findings& findings) {
    check_alone(c, findings);
    check_class_weights(c, findings);
    check_class_weights_are_read(c, findings);
    const bool has_factor = c.contraction > 0, has_layer = !c.contracted.empty();
    if (has_factor == has_layer) return;
    findings.add({.what = str("loss.", has_factor ? "contraction" : "contracted", " has no effect"),
                  .expected = has_factor ? "loss.contracted, the name of a layer" : "loss.contraction above 0",
                  .config = c.at(has_factor ? "contraction" : "contracted")});
  });
}

// NaN where the optimizer has none.
static double momentum_of(const TrainerConfig& config) {
  OneOf<OptimizerOptions> optimizer = config.optimizer;
  const ConfigNode table = resolved_config(optimizer.kind_of().schema(), optimizer.object());
  const ConfigNode* momentum = table.find("momentum");
  return momentum ? momentum->number : std::numeric_limits<double>::quiet_NaN();
}

void TrainerConfig::describe(Fields<TrainerConfig>& f) {
  using C = TrainerConfig;
  f.about(
      "Training on minibatches. With `patience` it stops early, as the Deep Learning Tutorials do: training goes on "
      "while the count of minibatches is below the patience, and a validation error below `improvement_threshold` "
      "times the best raises the patience to `patience_increase` times the count. Minibatches count from 0 there: "
      "`patience = 18` trains 19 of them. With a batch method (`conjugate_gradient`, `lbfgs`) an epoch is one "
      "iteration, a direction and a line search over all training examples, which are computed `batch_size` at a "
      "time, in the order of the file; an iteration is then what counts as a minibatch. It trains models of one "
      "output. Some keys may stay where what they are about goes, and have no effect then: `patience_increase` and "
      "`improvement_threshold` without `patience`, `test_at` without test examples, and `monitor` without "
      "validation examples, but for the name under which values are reported. Without checkpoints by time or "
      "epochs, `keep_checkpoints` counts those of the ends of processes.");
  f.inline_kind("optimizer", &C::optimizer)
      .synonyms({"optimiser", "method", "algorithm", "solver"})
      .help("How the gradients change the weights.");
  f.kind("schedule", &C::schedule, "type")
      .by_name()
      .synonyms({"lr_schedule", "lr_scheduler", "scheduler", "lr_policy"})
      .help("The learning rate over the run: a factor of `learning_rate`. Not given: it stays as it is.");
  f.kind("momentum_schedule", &C::momentum_schedule, "type")
      .by_name()
      .help("The momentum over the run: a factor of `momentum`. Not given: it stays as it is.");
  f.field("batch_size", &C::batch_size)
      .range(at_least(1))
      .unit("examples")
      .synonyms({"minibatch_size", "bs"})
      .help("Number of examples in a minibatch.");
  f.field("shards", &C::shards)
      .range(at_least(0))
      .synonyms({"logical_shards", "virtual_workers", "num_shards"})
      .help(
          "Parts that each minibatch is computed in: a power of two. As many processes as divide it may train "
          "together, "
          "and give the same bits; 0: a minibatch is one.");
  f.field("epochs", &C::epochs)
      .range(at_least(1))
      .independent()
      .unit("epochs")
      .synonyms({"n_epochs", "max_epochs", "num_epochs"})
      .help("Largest number of passes over the training set.");
  f.field("shuffle", &C::shuffle)
      .help(
          "Whether each epoch takes the training examples in a new order, drawn with `seed`; without it, in that of "
          "the file.");
  f.field("full_batches_only", &C::full_batches_only)
      .synonyms({"drop_last"})
      .help(
          "Leave out the last examples of a set where they do not fill a minibatch, in training, validation and "
          "test. A batch method trains on all of them whatever this says.");
  f.field("patience", &C::patience)
      .range(at_least(0))
      .unit("minibatches")
      .help("Minibatches to train before an early stop is possible; 0: no early stop.");
  f.field("patience_increase", &C::patience_increase)
      .range(at_least(1))
      .help("Factor: at an improvement the patience becomes this times the count of minibatches.");
  f.field("improvement_threshold", &C::improvement_threshold)
      .range(between(0, 1))
      .help("An error below this times the best one counts as an improvement.");
  f.field("validation_frequency", &C::validation_frequency)
      .range(at_least(1))
      .unit("minibatches")
      .help(
          "Minibatches from one validation to the next. Not given: an epoch, or half of `patience` where that is "
          "less.");
  f.choice("test_at", &C::test_at,
           {{"best", C::TestAt::kBest},
            {"epoch", C::TestAt::kEpoch},
            {"end", C::TestAt::kEnd},
            {"never", C::TestAt::kNever}})
      .help("When the test error is measured: at each new best validation error, after each epoch, at the end.");
  f.kind("metrics", &C::metrics, "type")
      .by_name()
      .synonyms({"metric", "measures"})
      .help(
          "What is measured on the validation and test examples, and after each epoch on as many training examples "
          "as there are validation examples (10,000 where there are none), the same each time and at equal "
          "distances in the training set; of a packed file that is streamed, the first ones. Empty: the error where "
          "examples have classes, the loss where they have values.");
  f.field("monitor", &C::monitor)
      .help(
          "Name of the metric that `best`, `patience` and a plateau schedule go by, such as `top_5_error`. Empty: the "
          "first of them.");
  f.field("checkpoint_seconds", &C::checkpoint_seconds)
      .range(at_least(0))
      .unit("seconds")
      .help("Seconds from one checkpoint to the next; 0: no checkpoints by time. The end of a run always writes one.");
  f.field("checkpoint_epochs", &C::checkpoint_epochs)
      .range(at_least(0))
      .unit("epochs")
      .help("Epochs from one checkpoint to the next; 0: no checkpoints by epochs.");
  f.field("keep_checkpoints", &C::keep_checkpoints)
      .range(at_least(1))
      .synonyms({"max_to_keep", "save_total_limit", "save_top_k"})
      .help(
          "How many checkpoints stay in the run folder: the last one is `checkpoint.npz`, earlier ones are in "
          "`checkpoints/`.");
  f.field("max_seconds", &C::max_seconds)
      .range(at_least(0))
      .unit("seconds")
      .synonyms({"max_time", "time_limit", "time_budget"})
      .help(
          "Seconds of training, those of the processes before a resumption included; the run ends with the minibatch "
          "in which they are spent. 0: no limit.");
  f.field("augment", &C::augment)
      .synonyms({"augmentation", "transforms", "transform"})
      .help("Random changes of the training images.");
  describe_step(f);
  f.check([](const C& c, Findings& findings) {
    if (c.momentum_schedule && !(momentum_of(c) > 0))
      findings.add({.what = "trainer.momentum_schedule has no effect",
                    .expected = "trainer.momentum above 0",
                    .got = momentum_of(c) == 0 ? "0" : str("optimizer = \"", c.optimizer.name(), "\", which has none"),
                    .config = c.at("momentum_schedule")});
    if (c.patience == 1 && !c.validation_frequency)
      findings.add({.what = "trainer.patience is too small",
                    .expected = "at least 2 (minibatches), or 0",
                    .got = "1",
                    .config = c.at("patience"),
                    .hint = "validation happens every half patience"});
    if (c.patience > 0 && c.validation_frequency.value_or(0) > c.patience)
      findings.add({.what = "trainer.validation_frequency is above trainer.patience",
                    .expected = str("at most ", c.patience, " (minibatches)"),
                    .got = std::to_string(*c.validation_frequency),
                    .config = c.at("validation_frequency"),
                    .hint = "training would stop before its first validation"});
  });
}

void Experiment::describe(Fields<Experiment>& f) {
  f.field("seed", &Experiment::seed)
      .range(between(0, kLargestSeed))
      .independent()
      .synonyms({"random_seed"})
      .help("Seed of the initial weights and of the shuffling; the numbers are those of NumPy's RandomState.");
  f.kind("data", &Experiment::data, "source").required().help("What to train on.");
  f.field("model", &Experiment::model);
  f.field("loss", &Experiment::loss);
  f.field("trainer", &Experiment::trainer);
  f.field("compiler", &Experiment::compiler);
  f.field("output", &Experiment::output);
  f.field("phase", &Experiment::phase).synonyms({"phases", "stage", "stages"}).help("The phases of the run.");
  f.check([](const Experiment& e, Findings& findings) {
    check_outputs(e, findings);
    check_batch_keys(e, findings);
    check_shards(e, findings);
    SetSizes sizes = e.data->sizes();
    const TrainerConfig& trainer = e.trainer;
    auto fits = [&](int64_t size, std::string set) {
      if (size <= 0 || !trainer.full_batches_only || trainer.batch_size <= size) return;
      findings.add({.what = str("trainer.batch_size is larger than the ", set, " set"),
                    .expected = str("at most ", size, " (examples)"),
                    .got = std::to_string(trainer.batch_size),
                    .config = trainer.at("batch_size"),
                    .hint = str("trainer.batch_size = ", size,
                                " or less fits; trainer.full_batches_only = false allows this one")});
    };
    if (const auto* files = dynamic_cast<const FileConfig*>(&*e.data);
        files && files->shuffle_window > 0 && !trainer.shuffle)
      findings.add({.what = "data.shuffle_window has no effect",
                    .expected = "trainer.shuffle = true",
                    .config = files->at("shuffle_window"),
                    .hint = "it says among how many examples an epoch's order is drawn"});
    if (e.output.augmented > 0 && !trainer.augment)
      findings.add({.what = "output.augmented has no effect",
                    .expected = "[trainer.augment]",
                    .config = e.output.at("augmented")});
    if (!trainer.optimizer->batch_method()) fits(sizes.train, "training");
    fits(sizes.valid, "validation");
    fits(sizes.test, "test");
    if (trainer.patience > 0 && sizes.valid == 0)
      findings.add({.what = "trainer.patience needs validation examples",
                    .expected = "data.n_valid above 0",
                    .got = "0",
                    .config = trainer.at("patience"),
                    .hint = "trainer.patience = 0 trains all epochs"});
  });
}

std::string metric_label(const std::string& name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// Without phases there is no `phase`; with them, each has all of its tables, and there are no others.
std::string resolved_toml(const Experiment& experiment) {
  ConfigNode root = resolved_config(experiment);
  std::vector<ConfigNode> tables;
  auto is_of_phase = [](const ConfigNode& entry) {
    return entry.key == "data" || entry.key == "model" || entry.key == "loss" || entry.key == "trainer";
  };
  if (experiment.phases.empty()) {
    std::erase_if(root.children, [](const ConfigNode& entry) { return entry.key == "phase"; });
    return toml_text(root);
  }
  std::erase_if(root.children, is_of_phase);
  for (size_t i = 0; i < experiment.phases.size(); ++i)
    for (ConfigNode& table : resolved_config(experiment.phases[i]).children)
      if (is_of_phase(table)) root.find("phase")->children[i].children.push_back(std::move(table));
  return toml_text(root);
}

static void find_paths(const Schema& schema, const std::string& key, const std::string& path,
                       std::set<std::string>& found) {
  for (const FieldSpec& field : schema.fields) {
    const std::string inner = path.empty() ? field.name : str(path, '.', field.name);
    if (field.name == key || std::count(field.synonyms.begin(), field.synonyms.end(), key) > 0) found.insert(inner);
    if (field.tag == key && !field.inlined) found.insert(str(inner, '.', key));
    const std::string element = field.access->container == FieldAccess::Container::kList ? str(inner, ".0") : inner;
    if (field.access->value == FieldAccess::Value::kTable) find_paths(field.access->schema(), key, element, found);
    for (const Alternative& kind : field.access->alternatives)
      find_paths(kind.schema(), key, field.inlined ? path : element, found);
  }
}

std::string path_of_key(const std::string& key) {
  std::set<std::string> found;
  find_paths(schema_of<Experiment>(), key, "", found);
  // Of one output of several; [loss] has the same keys.
  std::erase_if(found, [](const std::string& path) { return path.starts_with("loss.outputs."); });
  return found.size() == 1 && found.begin()->find(".0.") == std::string::npos ? *found.begin() : "";
}

}  // namespace thtrain
