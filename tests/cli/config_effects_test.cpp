// A key that changes nothing is a defect: for each declared field of an experiment, another value gives another run.
//
// The fields come from the declarations, so a new key is tried as soon as it is declared: with values that follow from
// its type, in an experiment where everything else has its default. A key that matters only with others, or whose
// values are names, is in `witnesses` with what it needs. Outcomes are compared: weights, metrics, files, what the
// run tells, and warnings. An error is no outcome, unless the witness says so.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/overrides.h"
#include "cli/toml_config.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "datasets/warnings.h"
#include "nn/layer.h"
#include "nn/optimizer.h"
#include "tests/cli/effect_experiments.h"
#include "tests/cli/effects_seen_elsewhere.h"
#include "tests/cli/image_layer_witnesses.h"
#include "tests/cli/image_witnesses.h"
#include "tests/cli/machine_witnesses.h"
#include "tests/cli/schedule_witnesses.h"
#include "tests/cli/sequence_layer_witnesses.h"
#include "tests/support/cli_support.h"
#include "tests/support/source_files.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/trainer.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// ---- what is tried -------------------------------------------------------------------------------------------------

const std::map<std::string, Witness>& witnesses() {
  static const std::map<std::string, Witness> out = [] {
    std::map<std::string, Witness> w;
    for (const char* source : {"npy", "idx"}) {
      std::string key = std::string("data[") + source + "].", end = std::string(".") + source;
      w[key + "train"] = {.values = {"x2" + end}};
      w[key + "train_labels"] = {.values = {"y2" + end}};
      w[key + "valid"] = {.with = {"data.n_valid=0", "data.valid_labels=y2" + end, "data.valid=x" + end},
                          .values = {"x2" + end}};
      w[key + "valid_labels"] = {.with = {"data.n_valid=0", "data.valid=x" + end, "data.valid_labels=y" + end},
                                 .values = {"y2" + end}};
      w[key + "test"] = {.with = {"data.test_labels=y" + end, "data.test=x" + end}, .values = {"x2" + end}};
      w[key + "test_labels"] = {.with = {"data.test=x" + end, "data.test_labels=y" + end}, .values = {"y2" + end}};
      w[key + "memory_limit"] = {.values = {"1e-7"}};
      w[key + "train_weights"] = {.values = {"w" + end}};
      w[key + "valid_weights"] = {.with = {"data.n_valid=0", "data.valid=x" + end, "data.valid_labels=y" + end},
                                  .values = {"w" + end}};
      w[key + "test_weights"] = {.with = {"data.test=x" + end, "data.test_labels=y" + end}, .values = {"w" + end}};
      w[key + "target"] = {.values = {"values", "labels"}, .may_fail = true};
      w[key + "split_seed"] = {.with = {"data.split=shuffled"}};
    }
    const std::string ten = "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\"]";
    for (const char* source : {"npy", "idx", "csv", "mnist", "digits", "cifar10", "libsvm", "png_folders"}) {
      w[std::string("data[") + source + "].class_names"] = {.values = {ten}};
      w[std::string("data[") + source + "].class_names_file"] = {.values = {"ten.txt"}};
    }
    for (const char* source : {"npy", "idx", "csv", "mnist"}) {
      std::string key = std::string("data[") + source + "].";
      w[key + "folds"] = {.with = {"data.n_valid=0"}, .values = {"2", "4"}};
      w[key + "fold"] = {.with = {"data.n_valid=0", "data.folds=3"}, .values = {"2", "3"}};
      if (source == std::string("mnist")) continue;
      w[key + "valid_fraction"] = {.with = {"data.n_valid=0"}, .values = {"0.25", "0.4"}};
      w[key + "test_fraction"] = {.values = {"0.25", "0.4"}, .may_fail = true};
      w[key + "standardize_targets"] = {.may_fail = true};
    }
    w["data[png_folders].class_names"] = {.values = {"[\"x\", \"y\", \"z\"]"}};
    w["data[png_folders].class_names_file"] = {.values = {"three.txt"}};
    for (auto [source, first, second] :
         {std::tuple("cifar10", "c.bin", "c2.bin"), {"libsvm", "l.txt", "l2.txt"}, {"png_folders", "p", "p2"}}) {
      std::string key = std::string("data[") + source + "].";
      auto list = [](const char* file) { return std::string("[\"") + file + "\"]"; };
      w[key + "train"] = {.values = {list(second)}};
      w[key + "valid"] = {.with = {"data.n_valid=0"}, .values = {list(first), list(second)}};
      w[key + "test"] = {.values = {list(first), list(second)}};
      w[key + "folds"] = {.with = {"data.n_valid=0"}, .values = {"2", "4"}};
      w[key + "fold"] = {.with = {"data.n_valid=0", "data.folds=3"}, .values = {"2", "3"}};
      w[key + "valid_fraction"] = {.with = {"data.n_valid=0"}, .values = {"0.25", "0.4"}};
      w[key + "test_fraction"] = {.values = {"0.25", "0.4"}};
      w[key + "split_seed"] = {.with = {"data.split=shuffled"}};
    }
    w["data[libsvm].features"] = {.values = {"5", "7"}};
    w["data[libsvm].target"] = {.values = {"values", "labels"}, .may_fail = true};
    w["data[libsvm].standardize_targets"] = {.may_fail = true};
    w["data[csv].train"] = {.values = {"t2.csv"}};
    w["data[csv].valid"] = {.with = {"data.n_valid=0"}, .values = {"t.csv", "t2.csv"}};
    w["data[csv].test"] = {.values = {"t.csv", "t2.csv"}};
    w["data[csv].label_column"] = {.values = {"first", "b"}};
    w["data[csv].header"] = {.with = {"data.train=numbers.csv", "data.label_column=first"}, .values = {"true"}};
    w["data[csv].target"] = {.values = {"values", "labels"}, .may_fail = true};
    w["data[csv].label_columns"] = {.values = {"[\"b\"]"}, .may_fail = true};
    w["data[csv].label_count"] = {.values = {"2"}, .may_fail = true};
    w["data[csv].weight_column"] = {.values = {"a", "b"}};
    w["data[csv].decimal"] = {.with = {"data.train=decimals.csv", "data.delimiter=semicolon"}, .values = {","}};
    w["data[csv].categories"] = {.with = {"data.train=texts.csv"}, .values = {"codes"}};
    for (const char* key : {"data[csv].category_columns", "data[csv].skip_columns"}) w[key] = {.values = {"[\"a\"]"}};
    w["data[csv].impute"] = {.with = {"data.train=missing.csv", "data.impute=zero"}, .values = {"mean", "median"}};
    w["data[csv].delimiter"] = {
        .with = {"data.delimiter=comma"}, .values = {"semicolon", "tab", "space"}, .may_fail = true};
    w["data[csv].split_seed"] = {.with = {"data.split=stratified"}};
    for (const char* source : {"csv", "cifar10", "libsvm", "png_folders"})
      w[std::string("data[") + source + "].memory_limit"] = {.values = {"1e-7", "1e-8"}};
    for (const char* source : {"npy", "idx", "csv", "cifar10", "libsvm", "png_folders"})
      w[std::string("data[") + source + "].shuffle_window"] = {.values = {"2", "3"}};
    w["data[mnist].split_seed"] = {.with = {"data.split=shuffled"}};
    w["model.weights"] = {.values = {"w.npz"}};
    for (const auto& [layer, location] : kLayers) w["model.layers[" + layer + "].name"] = {.values = {"other"}};
    // Of another name, a layer that others name is gone; and a layer that is left over is a mistake.
    for (const char* layer : {"prelu", "add", "bidirectional", "last_step", "mean_steps", "embedding", "one_hot"})
      w[std::string("model.layers[") + layer + "].name"].may_fail = true;
    w["model.layers[flatten].inputs"] = {.values = {"[\"nobody\"]"}, .may_fail = true};
    w["model.layers[dense].inputs"] = {.values = {"[\"x\"]"}, .may_fail = true};
    w["model.layers[activation].inputs"] = {.values = {"[\"flatten1\"]"}, .may_fail = true};
    w["model.layers[softmax].inputs"] = {.values = {"[\"dense1\"]"}, .may_fail = true};
    w["model.layers[maxout].inputs"] = {.values = {"[\"x\"]"}};
    w["model.layers[factorization].inputs"] = {.values = {"[\"nobody\"]"}, .may_fail = true};
    w["model.layers[prelu].inputs"] = {.values = {"[\"start\"]"}, .may_fail = true};
    w["model.layers[add].inputs"] = {.values = {"[\"prelu1\", \"maxout1\"]"}};
    w["model.layers[concat].inputs"] = {.values = {"[\"add1\", \"prelu1\"]", "[\"start\", \"add1\"]"}};
    w["model.layers[concat].axis"] = {.values = {"1"}, .may_fail = true};
    w["model.layers[columns].inputs"] = {.values = {"[\"x\"]"}, .may_fail = true};
    w["model.layers[columns].first"] = {.values = {"1"}};
    w["model.layers[columns].count"] = {.values = {"4", "6"}};
    w["model.layers[scale].inputs"] = {.values = {"[\"concat1\"]"}, .may_fail = true};
    add_machines(w);
    add_images(w);
    w["model.layers[maxout].pieces"] = {.values = {"3", "4"}};
    // The sum's inputs are of one length.
    w["model.layers[maxout].units"] = {.with = {"model.layers.3.inputs=[\"prelu1\", \"maxout1\"]"},
                                       .values = {"5", "7"}};
    w["model.layers[prelu].slope"] = {.values = {"0.75", "-1.0"}};
    add_sequence_layers(w);
    add_image_layers(w);
    for (const LayerKind& kind : LayerOptions::kinds()) {
      if (!kind.schema().find("init_scale")) continue;
      const std::string name(kind.name), key = "model.layers[" + name + "].",
                                         init = "model.layers." + std::to_string(kLayers.at(name).layer) + ".init=";
      w[key + "init_scale"] = {.with = {init + "orthogonal"}};
      w[key + "init_std"] = {.with = {init + "normal"}};
      w[key + "init_range"] = {.with = {init + "uniform"}};
      w[key + "init_value"] = {.with = {init + "constant"}};
      w[key + "seed"] = {.with = {init + "uniform"}, .values = {"5", "6"}};
    }
    w["model.layers[softmax].init"] = {
        // "constant" with its standard value, 0, is "zeros"
        .values = {"glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "normal", "uniform", "orthogonal"}};
    w["model.layers[activation].activation"] = {.values = {"linear", "sigmoid", "relu", "softplus"}};
    w["model.layers[softmax].units"] = {.values = {"4", "5"}};
    w["trainer[sgd].nesterov"] = {.with = {"trainer.momentum=0.9"}};
    for (const Kind<OptimizerOptions>& kind : OptimizerOptions::kinds())
      if (kind.schema().find("decoupled_weight_decay"))
        w[str("trainer[", kind.name, "].decoupled_weight_decay")] = {.with = {"trainer.weight_decay=0.25"}};
    for (const char* method : {"conjugate_gradient", "lbfgs"}) {
      const std::string key = str("trainer[", method, "].");
      w[key + "gradient_tolerance"] = {.values = {"0.25", "100.0"}};
      w[key + "value_tolerance"] = {.values = {"0.25", "0.5"}};
    }
    w["trainer[lbfgs].memory"] = {.with = {"trainer.epochs=6"}, .values = {"1", "2"}};
    w["trainer.optimizer"] = {.values = {"adagrad", "rmsprop", "adadelta", "adam", "adamw", "adamax", "radam"}};
    w["loss.type"] = {.values = {"hinge"}};
    w["loss.compare_with"] = {.may_fail = true};
    w["loss[huber].delta"] = {.with = {"data.target=values"}};
    w["loss[binary_crossentropy].pos_weight"] = {
        .with = {"loss.compare_with=inputs", "data.scale=0.25", "model.layers.1.units=4"},
        .values = {"[0.25]", "[0.75, 0.5, 1.0, 2.0]"}};
    w["loss[binary_crossentropy].sum_outputs"].with = {"loss.compare_with=inputs", "data.scale=0.25",
                                                       "model.layers.1.units=4"};
    w["loss.outputs[binary_crossentropy].sum_outputs"].with = {"data.scale=0.25"};
    w["loss.outputs[binary_crossentropy].pos_weight"] = {.with = {"data.scale=0.25"}, .values = {"[0.25]"}};
    w["loss.outputs.layer"] = {.values = {"start"}, .may_fail = true};
    w["loss.outputs.type"] = {.values = {"absolute_error", "huber", "hinge"}};
    w["loss.outputs.compare_with"] = {.values = {"targets"}, .may_fail = true};
    w["loss.outputs.columns"] = {.values = {"[0, 1]"}, .may_fail = true};
    w["loss.outputs.class_weights"] = {.values = {"[1.0, 2.0, 3.0, 0.5]"}};
    w["loss.class_weights"] = {.values = {"[1.0, 2.0, 3.0]"}};
    w["trainer.metrics"] = {.values = {"[\"accuracy\"]", "[\"loss\"]", "[\"error\", \"f1\"]"}};
    w["trainer.metrics[top_k_error].k"] = {.with = {"trainer.metrics=[{type=\"top_k_error\",k=1}]"}, .values = {"2"}};
    for (const char* metric : {"precision", "recall", "f1"})  // "binary" is for two classes
      w[str("trainer.metrics[", metric, "].average")].may_fail = true;
    w["trainer.monitor"] = {.with = {"trainer.metrics=[\"error\",\"loss\"]"}, .values = {"loss"}};
    w["trainer.average_decay"] = {.with = {"trainer.average=exponential"}};
    w["trainer.average_start"] = {.with = {"trainer.average=equal"}};
    // Other schedules do nothing, or nothing so early.
    w["trainer.schedule"] = {.values = {"exponential", "polynomial", "cosine", "one_over_epoch"}};
    w["trainer.momentum_schedule"] = {.with = {"trainer.momentum=0.5"}, .values = w["trainer.schedule"].values};
    for (const char* key : {"schedule", "momentum_schedule"}) add_schedules(w, str("trainer.", key));
    w["trainer.batch_size"] = {.values = {"2", "4"}};
    w["trainer.shards"] = {.values = {"1", "2"}};
    w["trainer.patience"] = {.with = {"trainer.epochs=9"}, .values = {"2", "4"}};
    w["trainer.patience_increase"] = {.with = {"trainer.epochs=30", "trainer.patience=4"}, .values = {"5.0"}};
    w["trainer.improvement_threshold"] = {.with = {"trainer.epochs=30", "trainer.patience=4"}, .values = {"0.0"}};
    w["trainer.validation_frequency"] = {.values = {"1"}};
    w["trainer.checkpoint_seconds"] = {.values = {"1e-9"}};
    w["trainer.checkpoint_epochs"] = {.values = {"1", "2"}};
    w["trainer.keep_checkpoints"] = {.with = {"trainer.checkpoint_epochs=1"}, .values = {"2", "3"}};
    w["trainer.max_seconds"] = {.values = {"1e-9"}};
    w["phase.name"] = {.values = {"other"}};
    w["phase.trained"] = {.values = {"[\"softmax\"]", "[\"dense1\"]"}};
    w["phase.pass_on"] = {.with = {"trainer.learning_rate=4.0", "trainer.epochs=4"}, .values = {"best"}};
    w["compiler.mode"] = {.with = {"compiler.floatX=float64"}, .values = {"native", "debug"}};
    w["output.plots"] = {.values = {"true"}};
    w["output.root"] = {.values = {"other"}};
    w["output.filters"] = {.values = {"dense1"}, .may_fail = true};
    return w;
  }();
  return out;
}

// ---- outcomes -------------------------------------------------------------------------------------------------------

void add_arrays(std::string& out, const NamedArrays& arrays) {
  for (const auto& [name, value] : arrays) out += str(name, ' ', value.type_text(), ' ', value.text(100), '\n');
}

/// Everything that a run shows, but for times and the folder that it was made in.
std::string outcome_of(const Workshop& workshop, Experiment experiment) {
  Workshop location;
  std::string out, root = experiment.output.root;
  experiment = with_absolute_paths(experiment, workshop.path());
  Dataset data = load_data(experiment, workshop.path());
  out += data.text() + "\n" + join(data_warnings(data, experiment.trainer.shuffle), "\n");
  RunFolder folder = RunFolder::create(new_run_path(location.path(root), "e.toml"), experiment);
  TrainHooks hooks{.on_start =
                       [&](const ModelSummary& m) {
                         for (const LayerSummary& layer : m.layers)
                           out += str(layer.name, ' ', layer.output, ' ', layer.parameters, '\n');
                         out += str(m.input, ' ', m.parameters, ' ', m.optimizer_bytes, ' ', m.data_bytes, ' ',
                                    m.batches, ' ', m.threads, '\n');
                       },
                   .on_epoch =
                       [&](const EpochReport& report) {
                         out += str("checkpoint of step ", read_checkpoint(folder.checkpoint()).state.step,
                                    " after epoch ", report.epoch, '\n');
                       }};
  PhaseData of_phases(experiment, [&](const Experiment& phase) { return load_data(phase, workshop.path()); });
  TrainSummary summary = train_phases(of_phases, folder, hooks);
  if (fs::exists(folder.table())) out += read_file(folder.table());
  Checkpoint end = read_checkpoint(folder.checkpoint());
  add_arrays(out, end.weights);
  add_arrays(out, end.optimizer);
  add_arrays(out, end.best);
  out += str(summary.steps, ' ', summary.test_error.value_or(-1), ' ', summary.stopped_early, '\n');
  for (const auto& [name, pin] : end.fingerprint)
    if (name == "program" || name == "training data") out += str(name, ' ', pin, '\n');
  for (const std::string& file : location.list()) out += file + "\n";
  std::ifstream metrics(folder.metrics());
  std::stringstream text;
  text << metrics.rdbuf();
  return out + without_seconds(text.str());
}

std::string outcome(const Workshop& workshop, const std::string& source, const char* rest, const Words& overrides) {
  Findings findings;
  ConfigNode root =
      parse_toml("[data]\nsource = \"" + source + "\"\n" + kSources.at(source) + rest, "e.toml", findings);
  apply_overrides(root, overrides, findings);
  Experiment experiment = read_experiment(root, findings);
  findings.raise();
  // A typed path starts in the working folder; these are next to the experiment.
  for (auto& [key, location] : experiment.data->given) location.file = "e.toml";
  for (auto& [key, location] : experiment.model.given) location.file = "e.toml";
  return outcome_of(workshop, experiment);
}

// ---- the keys -------------------------------------------------------------------------------------------------------

struct Key {
  std::string label;   // "data[npy].n_valid"
  std::string path;    // "data.n_valid"
  std::string source;  // of the experiment in which it is tried
  const char* rest;    // of that experiment
  const FieldSpec* field;
  std::string standard;  // its default, as TOML; "" where there is none
  Words with = {};       // overrides that choose the kind that it is a key of
};

std::string text_of(const FieldSpec& field, const ConfigNode& value) {
  auto choice = std::find(field.choice_values.begin(), field.choice_values.end(), value.integer);
  if (choice == field.choice_values.end())
    return value.kind == ConfigNode::Kind::kString ? value.text : toml_value(value);
  return field.choices[static_cast<size_t>(choice - field.choice_values.begin())];
}

void collect(const Schema& schema, const Key& outer, std::vector<Key>& out) {
  for (const FieldSpec& field : schema.fields) {
    const FieldAccess& access = *field.access;
    Key key = outer;
    key.label += (outer.label.empty() ? "" : ".") + field.name;
    key.path += (outer.path.empty() ? "" : ".") + field.name;
    if (access.value == FieldAccess::Value::kTable) {
      if (key.label == "loss.outputs") {
        key.path += ".1", key.rest = kOutputs;
      } else if (access.container ==
                 FieldAccess::Container::kList) {  // two of them: what one passes on, the other one takes
        key.with.push_back(str(key.path, "=[{}, {}]"));
        key.path += ".0";
      }
      collect(access.schema(), key, out);
    } else if (access.value == FieldAccess::Value::kKind) {
      if (field.name != "data" && field.name != "layers") {
        key.field = &field;
        if (field.inlined) key.standard = access.selected(field.member(const_cast<void*>(schema.defaults))).kind.name;
        out.push_back(key);
      }
      for (const Alternative& kind : access.alternatives) {
        std::string name(kind.name);
        Key inner = field.inlined ? outer : key;
        inner.label += "[" + name + "]";
        if (field.name == "data") {
          inner.source = name;
        } else if (field.name != "layers") {
          const bool is_list = access.container == FieldAccess::Container::kList;
          inner.path += is_list ? ".0" : "";
          inner.with.push_back(is_list ? str(key.path, "=[{type=\"", name, "\"}]")
                                       : str(key.path, field.inlined ? "=" : ".type=", name));
        } else {
          inner.path += "." + std::to_string(kLayers.at(name).layer);
          inner.rest = kLayers.at(name).rest;
          if (kLayers.at(name).sequences) inner.with.emplace_back("data.sequences=true");
        }
        if (inner.label == "loss[huber]" || inner.label == "loss[binary_crossentropy]" ||
            inner.label == "loss[squared_error]")
          inner.rest = kValue;
        if (inner.label == "loss[contrastive_divergence]") inner.rest = kMachine;
        if (field.inlined && field.name == "optimizer" && !kind.schema().find("learning_rate"))
          inner.rest = kRestWithoutRate.c_str();
        collect(kind.schema(), inner, out);
      }
    } else {
      key.field = &field;
      const void* member = field.member(const_cast<void*>(schema.defaults));
      if (access.size(member) > 0) key.standard = text_of(field, access.node(access.element(member, 0)));
      out.push_back(key);
    }
  }
}

std::vector<Key> all_keys() {
  std::vector<Key> out;
  collect(schema_of<Experiment>(), {"", "", "npy", kRest, nullptr, ""}, out);
  return out;
}

/// Other values than the default, as far as the declaration tells them.
Words values_of(const Key& key) {
  const FieldSpec& field = *key.field;
  using Value = FieldAccess::Value;
  Words out;
  auto add = [&](const std::string& value) {
    if (value != key.standard) out.push_back(value);
  };
  if (field.access->value == Value::kBool) {
    add("true");
    add("false");
  } else if (field.access->value == Value::kKind) {
    for (const Alternative& kind : field.access->alternatives) add(std::string(kind.name));
  } else if (!field.choices.empty()) {
    for (const std::string& choice : field.choices) add(choice);
  } else if (field.access->value == Value::kInt) {
    for (int64_t value : {5, 7})
      if (out.empty() && field.range.contains(static_cast<double>(value))) add(std::to_string(value));
  } else if (field.access->value == Value::kFloat) {
    for (const char* value : {"0.25", "0.75"})
      if (out.empty() && field.range.contains(std::stod(value))) add(value);
  }
  return out;
}

TEST(ConfigEffects, EveryKeyChangesTheRun) {
  Workshop workshop;
  write_data(workshop);
  std::vector<Key> keys = all_keys();
  EXPECT_GT(keys.size(), 80u);
  std::map<std::string, std::string> known;  // outcomes by their overrides
  auto run = [&](const Key& key, const Words& overrides, bool may_fail) -> std::string {
    auto [entry, fresh] = known.emplace(key.source + "\n" + key.rest + join(overrides, "\n"), "");
    if (!fresh) return entry->second;
    try {
      entry->second = outcome(workshop, key.source, key.rest, overrides);
    } catch (const UserError& error) {
      entry->second = error.what();
      if (!may_fail) ADD_FAILURE() << key.source << " " << join(overrides, " ") << "\n" << error.what();
    }
    return entry->second;
  };
  for (const Key& key : keys) {
    SCOPED_TRACE(key.label);
    if (is_seen_elsewhere(key.label)) continue;
    auto found = witnesses().find(key.label);
    Witness witness = found == witnesses().end() ? Witness{} : found->second;
    if (witness.values.empty()) witness.values = values_of(key);
    witness.with.insert(witness.with.begin(), key.with.begin(), key.with.end());
    ASSERT_FALSE(witness.values.empty()) << "no value is known to try: add a witness";
    std::string without = run(key, witness.with, false);
    for (const std::string& value : witness.values) {
      Words overrides = witness.with;
      overrides.push_back(key.path + "=" + value);
      EXPECT_TRUE(run(key, overrides, witness.may_fail) != without) << key.path << "=" << value << " changes nothing";
    }
  }
}

// The lists above name keys that are there, and tests that are there.
TEST(ConfigEffects, TheWitnessesAreOfDeclaredKeys) {
  std::vector<Key> keys = all_keys();
  auto is_declared = [&](const std::string& label) {
    return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
      return key.label == label || (label.ends_with('.') && key.label.starts_with(label));
    });
  };
  for (const auto& [label, witness] : witnesses()) EXPECT_TRUE(is_declared(label)) << label;
  for (const auto& [label, test] : kSeenElsewhere) {
    EXPECT_TRUE(is_declared(label)) << label;
    bool there = false;
    std::string name = test.substr(test.find('.') + 1);
    for (const auto& entry : fs::recursive_directory_iterator("tests")) {
      if (entry.path().extension() != ".cpp" || entry.path().filename() == "config_effects_test.cpp") continue;
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      there = there || text.str().find(", " + name + ")") != std::string::npos;
    }
    EXPECT_TRUE(there) << test;
  }
}

}  // namespace
}  // namespace thtrain
