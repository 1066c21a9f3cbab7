// Models of several outputs, each with an objective: trained, measured, predicted; autoencoders; the data's units.
#include "trainers/outputs.h"

#include <cmath>

#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/npy.h"
#include "nn/metrics/loss.h"
#include "nn/metrics/mean_absolute_error.h"
#include "nn/metrics/mean_squared_error.h"
#include "nn/metrics/r2.h"
#include "nn/objectives/binary_crossentropy.h"
#include "nn/objectives/huber.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/dtypes.h"
#include "tests/support/golden_lines.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

std::map<std::string, Tensor> outputs_golden() {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("outputs.txt")) out[line.name] = line.result(k64);
  return out;
}

Dense::Options dense(const std::string& name, int64_t units, const std::string& activation = "linear",
                     std::vector<std::string> inputs = {}) {
  Dense::Options out;
  out.name = name;
  out.units = units;
  out.activation = activation;
  out.inputs = std::move(inputs);
  return out;
}

OutputLossConfig output(const std::string& layer, OneOf<ObjectiveOptions> objective, double weight) {
  OutputLossConfig out;
  out.layer = layer;
  out.objective = std::move(objective);
  out.weight = weight;
  return out;
}

// The experiment of tests/golden/outputs.py, its data and its first weights in `folder`.
Experiment three_outputs(const TemporaryFolder& folder, const std::map<std::string, Tensor>& numbers) {
  NpyConfig files;
  for (const char* name : {"x", "y", "weights"}) write_npy(folder.path(str(name, ".npy")), numbers.at(name));
  files.train = "x.npy", files.train_labels = "y.npy", files.train_weights = "weights.npy";
  files.valid = "x.npy", files.valid_labels = "y.npy", files.valid_weights = "weights.npy";
  files.target = Targets::kValues;
  Experiment out = small_experiment();
  out.data = files;
  Softmax::Options kind;
  kind.name = "kind";
  kind.units = 3;
  out.model.layers = {dense("hidden", 5, "tanh"), kind, dense("numbers", 3, "linear", {"hidden"}),
                      dense("copy", 6, "linear", {"hidden"})};
  NamedArrays start;
  for (const char* name : {"hidden", "kind", "numbers", "copy"})
    for (const char* part : {"/W", "/b"}) start.emplace_back(str(name, part), numbers.at(str(name, part)));
  write_npz(folder.path("start.npz"), start);
  out.model.weights = "start.npz";
  Huber::Options huber;
  huber.delta = 0.5;
  out.loss.outputs = {output("kind", NegativeLogLikelihood::Options(), 1), output("numbers", huber, 0.25),
                      output("copy", SquaredError::Options(), 0.5)};
  out.loss.outputs[0].columns = {3, 4};
  out.loss.outputs[0].class_weights = {1, 2.5, 0.5};
  out.loss.outputs[1].columns = {0, 3};
  out.loss.outputs[2].compare_with = CompareWith::kInputs;
  out.loss.l2 = 0;
  sgd_of(out).learning_rate = 0.1;
  sgd_of(out).momentum = 0.5;
  out.trainer.batch_size = 5;
  out.trainer.epochs = 10;
  out.trainer.shuffle = false;
  out.compiler.floatX = k64;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

struct TrainedHeads {
  TrainSummary summary;
  std::vector<EpochReport> reports;
  MetricNames names;
  std::map<std::string, Tensor> checkpoint;
  std::string folder, best, metrics;
};
TrainedHeads trained(const Experiment& e, const Dataset& data, const TemporaryFolder& temporary,
                     const std::string& name) {
  TrainedHeads out;
  RunFolder folder = RunFolder::create(temporary.path(name), e, {.config_folder = temporary.path()});
  TrainHooks hooks{.on_start = [&](const ModelSummary& m) { out.names = m.metrics; },
                   .on_epoch = [&](const EpochReport& r) { out.reports.push_back(r); }};
  out.summary = train(e, data, folder, hooks);
  out.checkpoint = read_npz(folder.checkpoint());
  out.folder = folder.path();
  out.best = folder.best();
  out.metrics = read_file(folder.metrics());
  return out;
}

void expect_relatively_near(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.as_double(i), expected.as_double(i), tolerance * std::max(1.0, std::abs(expected.as_double(i))))
        << what << i;
}

TEST(Outputs, TrainAsPyTorchDoesBySeveralObjectives) {
  const std::map<std::string, Tensor> expected = outputs_golden();
  for (auto mode : {CompilerConfig::Mode::kReference, CompilerConfig::Mode::kNative}) {
    TemporaryFolder folder;
    Experiment e = three_outputs(folder, expected);
    e.compiler.mode = mode;
    TrainedHeads done = trained(e, load_data(e, folder.path()), folder, "run");
    EXPECT_EQ(done.summary.steps, 20);
    for (const char* name : {"hidden", "kind", "numbers", "copy"})
      for (const char* part : {"/W", "/b"}) {
        const std::string key = str(name, part);
        expect_relatively_near(done.checkpoint.at(key), expected.at("end/" + key), 1e-10, key);
      }
    ASSERT_EQ(done.reports.size(), 10u);
    for (size_t i = 0; i < 10; ++i)
      EXPECT_NEAR(done.reports[i].train_loss, expected.at("epochs").as_double(static_cast<int64_t>(i)), 1e-10);
    EXPECT_EQ(join(done.names, " ", [](const MetricName& n) { return n.name; }),
              "error loss.kind loss.numbers loss.copy");
    const Tensor& losses = expected.at("losses");
    for (size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(*done.reports.back().others[k].valid, losses.as_double(static_cast<int64_t>(k)), 1e-10);
    EXPECT_NEAR(*done.reports.back().valid_loss, losses.as_double(3), 1e-10);
    EXPECT_NE(done.metrics.find("\"valid_loss.numbers\": "), std::string::npos);
  }
}

TEST(Outputs, AreEvaluatedAndPredictedEach) {
  const std::map<std::string, Tensor> expected = outputs_golden();
  TemporaryFolder folder;
  Experiment e = three_outputs(folder, expected);
  Dataset data = load_data(e, folder.path());
  TrainedHeads done = trained(e, data, folder, "run");
  const std::string last = done.folder + "/checkpoint.npz";
  Evaluation found = evaluate(e, data, Part::kValid, last);
  EXPECT_NEAR(found.loss, expected.at("losses").as_double(3), 1e-10);
  ASSERT_EQ(found.others.size(), 3u);
  EXPECT_EQ(found.others[2].name, "loss.copy");
  EXPECT_NEAR(*found.others[2].number, expected.at("losses").as_double(2), 1e-10);
  std::vector<Prediction> all = predict_outputs(e, expected.at("x"), last);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].output, "kind");
  EXPECT_TRUE(all[0].has_classes && !all[1].has_classes && !all[2].has_classes);
  EXPECT_EQ(all[0].classes.shape(), Shape{10});
  EXPECT_EQ(all[1].probabilities.shape(), (Shape{10, 3}));
  EXPECT_EQ(all[2].probabilities.shape(), (Shape{10, 6}));
  EXPECT_TRUE(same_bits(predict(e, expected.at("x"), last).classes, all[0].classes));
  // What was predicted is what was measured: of the examples' weights, the share that is wrong.
  double wrong = 0, whole = 0;
  for (int64_t i = 0; i < 10; ++i) {
    const double w = expected.at("weights").as_double(i);
    whole += w;
    if (all[0].classes.as_int(i) != static_cast<int64_t>(expected.at("y").as_double(4 * i + 3))) wrong += w;
  }
  EXPECT_NEAR(found.error, 100 * wrong / whole, 1e-10);
}

TEST(Outputs, ARunGoesOnToTheSameBitsAndByTheLossOfOneOfThem) {
  const std::map<std::string, Tensor> expected = outputs_golden();
  TemporaryFolder folder;
  Experiment e = three_outputs(folder, expected);
  e.trainer.epochs = 3;
  e.trainer.monitor = "loss.copy";
  Dataset data = load_data(e, folder.path());
  TrainedHeads whole = trained(e, data, folder, "whole");
  EXPECT_EQ(whole.names[0].name, "loss.copy");
  RunFolder run = RunFolder::create(folder.path("parts"), e, {.config_folder = folder.path()});
  std::atomic<int> stop{1};
  TrainSummary summary = train(e, data, run, {}, {.stop = &stop});
  for (int i = 0; summary.interrupted && i < 100; ++i) {
    RunFolder again = RunFolder::open(run.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  std::map<std::string, Tensor> parts = read_npz(run.checkpoint());
  for (const char* name : {"hidden/W", "kind/W", "numbers/b", "copy/W"})
    EXPECT_TRUE(same_bits(whole.checkpoint.at(name), parts.at(name))) << name;
  EXPECT_EQ(metrics_without_times(run.metrics()), metrics_without_times(whole.folder + "/metrics.jsonl"));
}

// ---- autoencoders ---------------------------------------------------------------------------------------------------

// 784-6-784 on digits, whose labels are not looked at.
Experiment autoencoder(const TemporaryFolder& folder, bool streamed) {
  Experiment out = small_experiment();
  out.compiler.mode = CompilerConfig::Mode::kReference;
  out.model.layers = {dense("hidden", 6, "tanh"), dense("copy", 784)};
  out.loss.objective = SquaredError::Options();
  out.loss.compare_with = CompareWith::kInputs;
  Dataset digits = load_data(small_experiment(), "");
  Tensor x = digits.train.all(DType::kFloat32).x;
  write_npy(folder.path("x.npy"), x);
  write_npy(folder.path("y.npy"), Tensor::zeros(DType::kInt64, {x.dim(0)}));
  NpyConfig files;
  files.train = "x.npy";
  files.train_labels = "y.npy";
  files.n_valid = 40;
  if (streamed) files.memory_limit = 1e-7;
  out.data = files;
  return out;
}

TEST(Autoencoders, LearnTheExamplesThemselves) {
  TrainedHeads runs[2];
  for (bool streamed : {false, true}) {
    TemporaryFolder folder;
    Experiment e = autoencoder(folder, streamed);
    Dataset data = load_data(e, folder.path());
    EXPECT_EQ(data.streamed, streamed);
    TrainedHeads& done = runs[streamed] = trained(e, data, folder, "run");
    EXPECT_EQ(done.names[0].name, "loss");
    EXPECT_LT(done.reports.back().train_loss, done.reports.front().train_loss);
    // The loss is the mean square of what the prediction is away from the example.
    Tensor x = data.valid.all(DType::kFloat32).x;
    Prediction found = predict(e, x, done.folder + "/checkpoint.npz");
    EXPECT_FALSE(found.has_classes);
    double squares = 0;
    for (int64_t i = 0; i < x.size(); ++i) squares += std::pow(x.as_double(i) - found.probabilities.as_double(i), 2);
    EXPECT_NEAR(*done.reports.back().valid_error, squares / static_cast<double>(x.size()), 1e-6);
    EXPECT_NEAR(evaluate(e, data, Part::kValid, done.folder + "/checkpoint.npz").loss, *done.reports.back().valid_error,
                1e-9);
  }
  EXPECT_TRUE(same_bits(runs[0].checkpoint.at("copy/W"), runs[1].checkpoint.at("copy/W")));
}

TEST(Autoencoders, OfStandardizedExamplesGiveTheirUnits) {
  TemporaryFolder folder;
  Experiment e = autoencoder(folder, false);
  e.data->standardize = Standardization::By::kAll;
  e.trainer.metrics = {Loss::Options(), MeanSquaredError::Options()};
  Dataset data = load_data(e, folder.path());
  TrainedHeads done = trained(e, data, folder, "run");
  const double scale = data.standardization->inputs.scale[0], mean = data.standardization->inputs.mean[0];
  Tensor x = data.valid.all(DType::kFloat32).x;
  Prediction found = predict(e, x, done.folder + "/checkpoint.npz");
  double squares = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    squares += std::pow(x.as_double(i) * scale + mean - found.probabilities.as_double(i), 2);
  const EpochReport& last = done.reports.back();
  EXPECT_NEAR(*last.others[0].valid, squares / static_cast<double>(x.size()), 1e-6);
  EXPECT_NEAR(*last.others[0].valid, *last.valid_error * scale * scale, 1e-6);
}

// ---- the units of the data ------------------------------------------------------------------------------------------

// y[i] = [100 + 20 i + noise, 0.01 i], standardized.
Experiment far_values(const TemporaryFolder& folder) {
  Tensor x = Tensor::empty(k64, {12, 1}), y = Tensor::empty(k64, {12, 2});
  for (int i = 0; i < 12; ++i) {
    x.data<double>()[i] = i;
    y.data<double>()[2 * i] = 100 + 20 * i + i * 7 % 5;
    y.data<double>()[2 * i + 1] = 0.01 * i;
  }
  write_npy(folder.path("x.npy"), x);
  write_npy(folder.path("y.npy"), y);
  NpyConfig files;
  files.train = "x.npy", files.train_labels = "y.npy";
  files.valid = "x.npy", files.valid_labels = "y.npy";
  files.target = Targets::kValues;
  files.standardize = Standardization::By::kFeatures;
  files.standardize_targets = true;
  Experiment out = small_experiment();
  out.data = files;
  out.model.layers = {dense("line", 2)};
  out.loss.objective = SquaredError::Options();
  out.trainer.batch_size = 12;
  out.trainer.metrics = {Loss::Options(), MeanSquaredError::Options(), MeanAbsoluteError::Options(), R2::Options()};
  out.compiler.floatX = k64;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

TEST(Units, PredictionsAndErrorsOfStandardizedTargetsAreInThoseOfTheData) {
  TemporaryFolder folder;
  Experiment e = far_values(folder);
  Dataset data = load_data(e, folder.path());
  TrainedHeads done = trained(e, data, folder, "run");
  const Tensor y = read_npy(folder.path("y.npy"));
  Prediction found = predict(e, data.train.all(k64).x, done.folder + "/checkpoint.npz");
  double squares = 0, absolutes = 0, r2 = 0, standardized = 0;
  for (int64_t j = 0; j < 2; ++j) {
    double mean = 0, errors = 0, spread = 0;
    for (int64_t i = 0; i < 12; ++i) mean += y.as_double(2 * i + j) / 12;
    for (int64_t i = 0; i < 12; ++i) {
      const double error = y.as_double(2 * i + j) - found.probabilities.as_double(2 * i + j);
      errors += error * error;
      absolutes += std::abs(error) / 24;
      spread += std::pow(y.as_double(2 * i + j) - mean, 2);
    }
    squares += errors / 24;
    r2 += (1 - errors / spread) / 2;
    standardized += errors / 24 / (spread / 12);
  }
  EXPECT_GT(squares, 10);  // far from the units of the loss
  const EpochReport& last = done.reports.back();
  EXPECT_NEAR(*last.valid_error, standardized, 1e-9);
  EXPECT_NEAR(*last.others[0].valid, squares, 1e-9 * squares);
  EXPECT_NEAR(*last.others[1].valid, absolutes, 1e-9 * absolutes);
  EXPECT_NEAR(*last.others[2].valid, r2, 1e-9);
  Evaluation eval = evaluate(e, data, Part::kTrain, done.folder + "/checkpoint.npz");
  EXPECT_NEAR(*eval.others[0].number, squares, 1e-9 * squares);
  EXPECT_NEAR(*eval.others[1].number, absolutes, 1e-9 * absolutes);
  // An output that gives some of the columns has their units.
  Experiment part = e;
  part.model.layers = {dense("line", 1)};
  part.loss.objective = NegativeLogLikelihood::Options();
  part.loss.outputs = {output("line", SquaredError::Options(), 1)};
  part.loss.outputs[0].columns = {1, 2};
  TrainedHeads second = trained(part, data, folder, "part");
  Prediction of_part = predict(part, data.train.all(k64).x, second.folder + "/checkpoint.npz");
  double errors = 0;
  for (int64_t i = 0; i < 12; ++i) errors += std::pow(y.as_double(2 * i + 1) - of_part.probabilities.as_double(i), 2);
  EXPECT_NEAR(*second.reports.back().others[0].valid, errors / 12, 1e-12);
}

// ---- the end of a run without validation examples -------------------------------------------------------------------

TEST(WithoutValidation, TheLastWeightsAreTheBest) {
  TemporaryFolder folder;
  Experiment e = small_experiment();
  e.compiler.mode = CompilerConfig::Mode::kReference;
  e.data.get<DigitsConfig>().n_valid = 0;
  Dataset data = load_data(e, "");
  TrainedHeads plain = trained(e, data, folder, "plain");
  std::map<std::string, Tensor> best = read_npz(plain.best);
  for (const auto& [name, value] : best) EXPECT_TRUE(same_bits(value, plain.checkpoint.at(name))) << name;
  EXPECT_EQ(best.size(), 4u);
  e.trainer.average = TrainingStep::Average::kEqual;
  TrainedHeads averaged = trained(e, data, folder, "averaged");
  EXPECT_TRUE(same_bits(averaged.checkpoint.at("hidden/W"), plain.checkpoint.at("hidden/W")));
  EXPECT_FALSE(same_bits(read_npz(averaged.best).at("hidden/W"), plain.checkpoint.at("hidden/W")));
  EXPECT_EQ(*averaged.summary.test_error, evaluate(e, data, Part::kTest, averaged.best).error);
}

TEST(WithoutValidation, ARunThatGoesOnHasNone) {
  TemporaryFolder folder;
  Experiment e = small_experiment();
  e.compiler.mode = CompilerConfig::Mode::kReference;
  e.data.get<DigitsConfig>().n_valid = 0;
  Dataset data = load_data(e, "");
  trained(e, data, folder, "run");
  RunFolder run = RunFolder::open(folder.path("run"));
  ASSERT_EQ(run.weights(), run.best());
  e.trainer.epochs = 5;
  std::atomic<int> stop{1};
  EXPECT_TRUE(resume(e, data, run, {}, {.stop = &stop, .accept_edits = true}).interrupted);
  EXPECT_EQ(run.weights(), run.checkpoint());
  resume(e, data, run, {}, {.accept_edits = true});
  EXPECT_EQ(run.weights(), run.best());
}

// ---- what cannot be -------------------------------------------------------------------------------------------------

TEST(Outputs, WhatTheDataDoesNotAllow) {
  const std::map<std::string, Tensor> expected = outputs_golden();
  TemporaryFolder folder;
  const Experiment good = three_outputs(folder, expected);
  auto message = [&](auto edit) {
    Experiment e = good;
    e.model.weights.reset();
    edit(e);
    return error_text([&] { check_experiment(e, load_data(e, folder.path()), ""); });
  };
  EXPECT_EQ(message([](Experiment&) {}), "no error");
  EXPECT_EQ(message([](Experiment& e) { e.loss.outputs.pop_back(); }),
            "error: the model has several outputs\n"
            "  expected: one: each layer but the last is an input of another one\n"
            "  got:      kind, numbers, copy\n"
            "  hint:     no layer takes copy; [[loss.outputs]] gives each output an objective");
  EXPECT_EQ(message([](Experiment& e) {
              e.loss.outputs[1].columns = {2, 5};
            }),
            "error: the output numbers names columns that the targets have not\n"
            "  expected: at most 4 (numbers of a target)\n"
            "  got:      [2, 5]");
  EXPECT_EQ(message([](Experiment& e) {
              e.loss.outputs[0].columns = {2, 4};
            }),
            "error: objective \"negative_log_likelihood\" learns classes, which are in one column\n"
            "  expected: [2, 3]\n"
            "  got:      [2, 4]");
  EXPECT_EQ(message([](Experiment& e) {
              e.loss.outputs[0].columns = {0, 1};
            }),
            str("error: ", folder.path("y.npy"), ": row 0: the target is no class, which the output kind learns\n",
                "  expected: an integer from 0 to 2 in column 0 of the targets\n",
                "  got:      ", expected.at("y").as_double(0)));
  EXPECT_EQ(message([](Experiment& e) { e.data->standardize_targets = true; }),
            "error: objective \"negative_log_likelihood\" learns classes, and standardized targets are none\n"
            "  expected: data.standardize_targets = false");
  EXPECT_EQ(message([](Experiment& e) { e.loss.outputs[2].objective = BinaryCrossentropy::Options(); }),
            str("error: ", folder.path("x.npy"), ": row 0: objective \"binary_crossentropy\" learns probabilities\n",
                "  expected: numbers from 0 to 1\n", "  got:      ", expected.at("x").as_double(0),
                "\n  hint:     data.scale brings the examples there; data.standardize does not"));
  EXPECT_EQ(message([](Experiment& e) { e.loss.outputs[0].columns.clear(); }),
            str("error: ", folder.path("x.npy"), ": a classifier learns from class numbers\n",
                "  expected: a label for each example: the number of its class\n", "  got:      target values\n",
                "  hint:     loss.type = \"squared_error\" learns values, behind a last layer of type \"dense\"; whole "
                "numbers that are classes are read as such with data.target = \"classes\""));
  EXPECT_EQ(message([](Experiment& e) {
              e = small_experiment();
              e.loss.outputs = {output("softmax", NegativeLogLikelihood::Options(), 1)};
              e.loss.outputs[0].columns = {0, 1};
            }),
            "error: the targets have no columns, of which the output softmax names some\n"
            "  expected: data.target = \"values\" or \"labels\", a row of numbers for each example\n"
            "  got:      classes of shape []");
}

}  // namespace
}  // namespace thtrain
