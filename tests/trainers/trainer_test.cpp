#include "trainers/trainer.h"

#include <filesystem>

#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "nn/layers/activation.h"
#include "nn/layers/flatten.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/evaluator.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;
using TestAt = TrainerConfig::TestAt;

Experiment quick_experiment() {
  Experiment out = small_experiment();
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

struct Finished {
  TrainSummary summary;
  std::vector<EpochReport> reports;
  std::vector<BatchProgress> batches;
  std::vector<ModelSummary> models;
};
Finished run(const Experiment& e, const Dataset& data, const std::string& path) {
  Finished out;
  RunFolder folder = RunFolder::create(path, e);
  TrainHooks hooks{.on_start = [&](const ModelSummary& m) { out.models.push_back(m); },
                   .on_batch = [&](const BatchProgress& b) { out.batches.push_back(b); },
                   .on_epoch = [&](const EpochReport& r) { out.reports.push_back(r); }};
  out.summary = train(e, data, folder, hooks);
  return out;
}

TEST(Train, TellsWhatItDoesAndLeavesItsFiles) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  e.output.plots = true;
  Dataset data = load_data(e, "");
  Finished done = run(e, data, temporary.path("run"));
  ASSERT_EQ(done.models.size(), 1u);
  const ModelSummary& m = done.models[0];
  EXPECT_EQ(m.input, "float32[20, 784]");
  ASSERT_EQ(m.layers.size(), 2u);
  EXPECT_EQ(m.layers[0].name + m.layers[0].type + m.layers[0].output, "hiddendensefloat32[20, 8]");
  EXPECT_EQ(m.layers[0].parameters, 784 * 8 + 8);
  EXPECT_EQ(m.layers[1].output, "float32[20, 10]");
  EXPECT_EQ(m.parameters, 784 * 8 + 8 + 90);
  EXPECT_EQ(m.parameter_bytes, 4 * m.parameters);
  EXPECT_EQ(m.optimizer_bytes, 4 * m.parameters);
  EXPECT_EQ(m.data_bytes, (300 + 60) * (784 * 4 + 8));
  EXPECT_EQ(std::tuple(m.batches, m.classes, m.threads, m.train_examples), std::tuple(10, 10, 1, 200));

  ASSERT_EQ(done.reports.size(), 3u);
  std::string lines;
  for (const EpochReport& report : done.reports) lines += metrics_line(report);
  EXPECT_EQ(read_file(temporary.path("run/metrics.jsonl")), lines);
  const TrainSummary& s = done.summary;
  EXPECT_EQ(std::tuple(s.epochs, s.stop_epoch, s.steps), std::tuple(3, 3, 30));
  const EpochReport& best = done.reports.at(static_cast<size_t>(s.best_epoch) - 1);
  EXPECT_TRUE(best.best);
  EXPECT_EQ(s.valid_error, best.valid_error);
  EXPECT_EQ(s.test_error, best.test_error);
  EXPECT_EQ(s.train_loss, done.reports.back().train_loss);
  EXPECT_LT(done.reports.back().train_loss, done.reports.front().train_loss);
  EXPECT_FALSE(s.interrupted || s.stopped_early);
  EXPECT_GT(s.seconds_to_first_step, 0);
  EXPECT_EQ(s.run_dir, temporary.path("run"));
  for (const char* file : {"config.toml", "run.json", "checkpoint.npz", "best.npz", "plots/learning_curves.png"})
    EXPECT_TRUE(fs::exists(temporary.path(str("run/", file)))) << file;
}

TEST(Train, RepeatsItsBits) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  Dataset data = load_data(e, "");
  run(e, data, temporary.path("a"));
  run(e, data, temporary.path("b"));
  EXPECT_EQ(read_file(temporary.path("a/best.npz")), read_file(temporary.path("b/best.npz")));
  e.seed = 2;
  run(e, data, temporary.path("c"));
  EXPECT_NE(read_file(temporary.path("a/best.npz")), read_file(temporary.path("c/best.npz")));
}

TEST(Train, StreamedDataGivesTheSameBits) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.trainer.full_batches_only = false;
  e.trainer.batch_size = 30;  // leaves 20 of 200
  Dataset data = load_data(e, ""), streamed = data;
  streamed.streamed = true;
  for (bool shuffle : {false, true}) {
    e.trainer.shuffle = shuffle;
    std::string a = temporary.path(str("memory", shuffle)), b = temporary.path(str("streamed", shuffle));
    EXPECT_EQ(run(e, data, a).summary.steps, 21);
    run(e, streamed, b);
    EXPECT_EQ(read_file(a + "/best.npz"), read_file(b + "/best.npz"));
    EXPECT_EQ(metrics_without_times(a + "/metrics.jsonl"), metrics_without_times(b + "/metrics.jsonl"));
  }
}

TEST(Train, OtherHyperParametersNeedNoOtherProgram) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Dataset data = load_data(e, "");
  run(e, data, temporary.path("first"));
  sgd_of(e).learning_rate = 0.01;
  sgd_of(e).momentum = 0.5;
  e.loss.l2 = 0.25;
  e.trainer.epochs = 2;
  Finished second = run(e, data, temporary.path("second"));
  EXPECT_EQ(second.summary.kernels_compiled, 0);
  EXPECT_EQ(second.models[0].kernels_compiled, 0);
}

TEST(Train, WhenTheTestErrorIsMeasured) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  Dataset data = load_data(e, "");
  auto tested = [](const Finished& done) {
    int out = 0;
    for (const EpochReport& report : done.reports) out += report.test_error.has_value();
    return out;
  };
  e.trainer.test_at = TestAt::kBest;
  Finished best = run(e, data, temporary.path("best"));
  e.trainer.test_at = TestAt::kEpoch;
  Finished epoch = run(e, data, temporary.path("epoch"));
  e.trainer.test_at = TestAt::kEnd;
  Finished end = run(e, data, temporary.path("end"));
  e.trainer.test_at = TestAt::kNever;
  Finished never = run(e, data, temporary.path("never"));
  int bests = 0;
  for (const EpochReport& report : best.reports) bests += report.best;
  EXPECT_EQ(tested(best), bests);
  EXPECT_EQ(tested(epoch), 3);
  EXPECT_EQ(tested(end) + tested(never), 0);
  EXPECT_EQ(epoch.summary.test_error, best.summary.test_error);
  EXPECT_EQ(end.summary.test_error, best.summary.test_error);
  EXPECT_FALSE(never.summary.test_error);
  // Measuring changes nothing.
  for (const char* other : {"epoch", "end", "never"})
    EXPECT_EQ(read_file(temporary.path("best/best.npz")), read_file(temporary.path(str(other, "/best.npz"))));
}

TEST(Train, WithoutValidationExamples) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  e.data.get<DigitsConfig>().n_valid = 0;
  Finished done = run(e, load_data(e, ""), temporary.path("run"));
  EXPECT_EQ(done.summary.best_epoch, 0);
  EXPECT_FALSE(done.summary.valid_error);
  EXPECT_TRUE(done.summary.test_error);
  EXPECT_TRUE(fs::exists(temporary.path("run/best.npz")));  // the last weights
  EXPECT_EQ(metrics_line(done.reports[0]).find("valid_error"), std::string::npos);
}

TEST(Train, StopsEarlyWithinAnEpoch) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  e.trainer.patience = 14;  // validation every 7 steps, and nothing counts as an improvement
  e.trainer.improvement_threshold = 0;
  Finished done = run(e, load_data(e, ""), temporary.path("run"));
  EXPECT_TRUE(done.summary.stopped_early);
  EXPECT_EQ(std::tuple(done.summary.steps, done.summary.epochs, done.summary.stop_epoch), std::tuple(15, 1, 2));
  EXPECT_EQ(done.reports.size(), 2u);  // the second one, of five minibatches, was validated
  RunFolder folder = RunFolder::open(temporary.path("run"));
  EXPECT_EQ(resume(e, load_data(e, ""), folder).steps, 15);
}

TEST(Evaluate, GivesTheRunsNumbers) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  e.trainer.batch_size = 40;  // leaves 20 validation examples out
  e.trainer.test_at = TestAt::kNever;
  Dataset data = load_data(e, "");
  Finished done = run(e, data, temporary.path("run"));
  std::string weights = RunFolder::open(temporary.path("run")).weights();
  Evaluation valid = evaluate(e, data, Part::kValid, weights);
  EXPECT_EQ(valid.examples, 40);
  EXPECT_EQ(valid.error, done.summary.valid_error);
  EXPECT_EQ(valid.error, 2.5 * static_cast<double>(valid.errors));
  e.trainer.batch_size = 50;
  EXPECT_EQ(error_text([&] { evaluate(e, data, Part::kTest, weights); }),
            "error: trainer.batch_size is larger than the test set\n  expected: at most 40 (examples)\n  got:      50\n"
            "  hint:     trainer.batch_size = 40 or less fits; trainer.full_batches_only = false allows this one");
  e.trainer.full_batches_only = false;
  EXPECT_EQ(evaluate(e, data, Part::kValid, weights).examples, 60);
  Evaluation test = evaluate(e, data, Part::kTest, weights);
  EXPECT_EQ(test.examples, 40);

  Prediction predicted = predict(e, data.test.all(DType::kFloat64).x, weights);
  EXPECT_EQ(predicted.classes.type_text(), "int64[40]");
  EXPECT_EQ(predicted.probabilities.type_text(), "float32[40, 10]");
  int64_t errors = 0;
  double loss = 0;
  Tensor labels = data.test.all(DType::kFloat32).y;
  for (int64_t i = 0; i < 40; ++i) {
    errors += predicted.classes.as_int(i) != labels.as_int(i);
    loss -= std::log(predicted.probabilities.as_double(i * 10 + labels.as_int(i))) / 40;
  }
  EXPECT_EQ(errors, test.errors);
  EXPECT_NEAR(loss, test.loss, 1e-5);
}

TEST(Predict, ManyExamplesAndWrongOnes) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Dataset data = load_data(e, "");
  e.trainer.epochs = 1;
  run(e, data, temporary.path("run"));
  std::string weights = temporary.path("run/checkpoint.npz");
  DigitsConfig many;
  many.n_train = 1500;
  e.data = many;
  Tensor x = load_data(e, "").train.all(DType::kFloat32).x;
  Prediction all = predict(e, x, weights), one = predict(e, x.rows(1400, 1), weights);
  EXPECT_EQ(all.classes.as_int(1400), one.classes.as_int(0));
  for (int64_t c = 0; c < 10; ++c)
    EXPECT_NEAR(all.probabilities.as_double(14000 + c), one.probabilities.as_double(c), 1e-6);
  EXPECT_EQ(predict(e, x.rows(0, 0), weights).classes.size(), 0);
  EXPECT_THROW(predict(e, Tensor::zeros(DType::kFloat32, {3, 5}), weights), UserError);
  EXPECT_EQ(error_text([&] { predict(e, Tensor(1.0), weights); }),
            "error: these are no examples to predict\n"
            "  expected: an array of real numbers, one example for each row\n"
            "  got:      float64[]");
}

TEST(Check, RunsOneStepAndWritesNothing) {
  Experiment e = small_experiment();
  Dataset data = load_data(e, "");
  CheckReport report = check_experiment(e, data, "");
  EXPECT_NEAR(report.loss, std::log(10.0), 0.1);  // equal probabilities, and a small penalty
  EXPECT_EQ(report.model.parameters, 784 * 8 + 8 + 90);
  EXPECT_GT(report.model.arena_bytes, 0);
  EXPECT_TRUE(report.model.reference_steps.empty());
  Explanation explained = explain_training(e, data, "");
  for (const std::string* stage :
       {&explained.graph, &explained.canonical, &explained.fused, &explained.program, &explained.cpp})
    EXPECT_NE(stage->find("hidden"), std::string::npos);
}

TEST(TrainErrors, DataThatDoesNotFit) {
  TemporaryFolder temporary;
  Experiment e = quick_experiment();
  Dataset data = load_data(e, "");
  e.trainer.batch_size = 100;
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: trainer.batch_size is larger than the validation set\n"
            "  expected: at most 60 (examples)\n"
            "  got:      100\n"
            "  hint:     trainer.batch_size = 60 or less fits; trainer.full_batches_only = false allows this one\n"
            "error: trainer.batch_size is larger than the test set\n"
            "  expected: at most 40 (examples)\n"
            "  got:      100\n"
            "  hint:     trainer.batch_size = 40 or less fits; trainer.full_batches_only = false allows this one");
  e = quick_experiment();
  e.model.layers[1].get<Softmax::Options>().units = 5;
  e.model.layers[1]->section.path = "model.layers.1";
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: model.layers.1.units is below the number of classes in the data\n"
            "  expected: at least 10 (classes)\n"
            "  got:      5\n"
            "  hint:     without units the layer takes as many as the data has");
  e = quick_experiment();
  Activation::Options first;
  first.name = "act";
  first.activation = "tanh";
  e.model.layers.insert(e.model.layers.begin(), first);
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: layer hidden (dense) does not fit the layer before it\n"
            "  expected: one row of numbers for each example\n"
            "  got:      examples of shape [28, 28]\n"
            "  hint:     a flatten layer before it makes rows");
  Flatten::Options flat;
  flat.name = "flat";
  e.model.layers.insert(e.model.layers.begin() + 1, flat);
  EXPECT_EQ(check_experiment(e, data, "").model.layers[1].output, "float32[20, 784]");

  Dataset numbers;
  numbers.train = Split({.raw = Tensor::zeros(DType::kFloat32, {40, 3}), .origin = "x.npy"},
                        {.raw = Tensor::zeros(DType::kFloat32, {40}), .origin = "y.npy"}, Targets::kValues, 1);
  e.model.layers[3].get<Softmax::Options>().units = 3;
  EXPECT_EQ(error_text([&] { check_experiment(e, numbers, ""); }),
            "error: x.npy: a classifier learns from class numbers\n"
            "  expected: a label for each example: the number of its class\n"
            "  got:      target values\n"
            "  hint:     loss.type = \"squared_error\" learns values, behind a last layer of type \"dense\"; whole "
            "numbers that are classes are read as such with data.target = \"classes\"");
}

TEST(TrainErrors, NumbersThatAreNotFiniteFromTheStart) {
  Experiment e = quick_experiment();
  Dataset data = load_data(e, "");
  sgd_of(e).learning_rate = 1e39;
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: trainer.learning_rate is too large\n"
            "  expected: a number that is finite in float32\n"
            "  got:      1e+39");
  e = quick_experiment();
  e.model.layers[0].get<Dense::Options>().init.law = Init::Law::kConstant;
  e.model.layers[0].get<Dense::Options>().init.value = -1e39;
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: the first weights of hidden/W are not finite\n"
            "  expected: values that are finite in float32");
}

TEST(ErrorCounter, ChunksFillTheSet) {
  EXPECT_EQ(evaluation_chunk(10000, 20), 1000);
  EXPECT_EQ(evaluation_chunk(9600, 600), 600);
  EXPECT_EQ(evaluation_chunk(60, 20), 60);
  EXPECT_EQ(evaluation_chunk(1009 * 20, 20),
            1020);  // a prime number of minibatches: what remains is a chunk of its own
  EXPECT_EQ(evaluation_chunk(10, 100), 10);
  EXPECT_EQ(evaluation_chunk(5000, 5000), 5000);
  for (int64_t count : {1, 2, 7, 60, 61, 1023, 1024, 1025, 9999})
    for (int64_t batch : {1, 3, 20, 1000, 2000}) {
      int64_t chunk = evaluation_chunk(count, batch);
      EXPECT_GE(chunk, 1) << count << " " << batch;
      EXPECT_LE(chunk, count) << count << " " << batch;
    }
}

}  // namespace
}  // namespace thtrain
