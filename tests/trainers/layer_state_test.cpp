// What layers remember besides their parameters is part of a run, and layers that are not trained stay as they start.
#include <atomic>

#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "nn/layers/add.h"
#include "tests/support/centre_layer.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

// A centred input; the first weights are drawn as without it.
Experiment centred_experiment() {
  Experiment out = small_experiment();
  out.trainer.validation_frequency = 7;
  out.model.layers.insert(out.model.layers.begin(), Centre::Options{{.name = "centre"}});
  return out;
}

TEST(LayerState, IsTrainedKeptAndEvaluatedWith) {
  TemporaryFolder temporary;
  Experiment e = centred_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainSummary summary = train(e, data, folder);
  Checkpoint end = read_checkpoint(folder.checkpoint());
  EXPECT_EQ(array_named(end.weights, "centre/count").type_text(), "int64[]");
  EXPECT_EQ(array_named(end.weights, "centre/count").as_int(), summary.steps);
  EXPECT_EQ(array_named(end.weights, "centre/mean").type_text(), "float64[784]");
  EXPECT_EQ(array_named(end.best, "centre/count").as_int() % 7, 0);
  EXPECT_LE(array_named(end.best, "centre/count").as_int(), summary.steps);

  // The running mean of minibatches of the same examples comes near their mean: 1 - 0.75^30 of it.
  const Tensor& mean = array_named(end.weights, "centre/mean");
  Tensor x = data.train.all(DType::kFloat64).x.reshape({200, 784});
  double sum = 0, expected = 0;
  for (int64_t i = 0; i < 784; ++i) sum += mean.as_double(i);
  for (int64_t i = 0; i < x.size(); ++i) expected += x.as_double(i) / 200;
  EXPECT_NEAR(sum / expected, 1, 0.02);

  // The best weights are evaluated with the state of their step.
  EXPECT_EQ(evaluate(e, data, Part::kValid, folder.best()).error, summary.valid_error);
  NpzFile best(folder.best());
  EXPECT_TRUE(same_bits(best.read("centre/count"), array_named(end.best, "centre/count")));
}

TEST(LayerState, AResumedRunEndsWithItsBits) {
  TemporaryFolder temporary;
  Experiment e = centred_experiment();
  Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  train(e, data, whole);
  RunFolder parts = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};  // always: one step, then a checkpoint
  TrainSummary summary = train(e, data, parts, {}, {.stop = &stop});
  for (int i = 0; i < 5 && summary.interrupted; ++i) {
    RunFolder again = RunFolder::open(parts.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  RunFolder again = RunFolder::open(parts.path());
  resume(e, data, again);
  Checkpoint expected = read_checkpoint(whole.checkpoint()), got = read_checkpoint(again.checkpoint());
  expect_same(got.weights, expected.weights);
  expect_same(got.optimizer, expected.optimizer);
  expect_same(got.best, expected.best);
}

TEST(LayerState, OfAnotherTypeInACheckpointIsRefused) {
  TemporaryFolder temporary;
  Experiment e = centred_experiment();
  e.trainer.epochs = 1;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  Checkpoint checkpoint = read_checkpoint(folder.checkpoint());
  for (auto& [name, value] : checkpoint.best)
    if (name == "centre/mean") value = value.cast(DType::kFloat32);
  write_checkpoint(folder.checkpoint(), checkpoint);
  RunFolder again = RunFolder::open(folder.path());
  EXPECT_EQ(error_text([&] { resume(e, data, again); }),
            str("error: ", folder.checkpoint(), ": run.best/centre/mean is not what this run writes\n",
                "  expected: float64[784]\n  got:      float32[784]\n",
                "  hint:     the checkpoint is damaged or was changed: put it back from a copy;\n",
                "            a new run can start from the weights in ", folder.best(), ", as its model.weights"));
}

TEST(UntrainedLayers, StayAsTheyStart) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.model.layers[0]->trained = false;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  Checkpoint start;
  TrainHooks hooks{.on_start = [&](const ModelSummary&) { start = read_checkpoint(folder.checkpoint()); }};
  train(e, data, folder, hooks);
  Checkpoint end = read_checkpoint(folder.checkpoint());
  EXPECT_TRUE(same_bits(array_named(start.weights, "hidden/W"), array_named(end.weights, "hidden/W")));
  EXPECT_FALSE(same_bits(array_named(start.weights, "softmax/W"), array_named(end.weights, "softmax/W")));
  EXPECT_EQ(join(end.optimizer, " ", [](const auto& entry) { return entry.first; }),
            "velocity/softmax/W velocity/softmax/b");
}

TEST(UntrainedLayers, OneLayerIsTrained) {
  Experiment e = small_experiment();
  for (OneOf<LayerOptions>& layer : e.model.layers) layer->trained = false;
  Dataset data = load_data(e, "");
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: no layer of the model is trained\n"
            "  expected: trained = true, or no trained, in one of [[model.layers]]");
}

TEST(ModelOutputs, ALayerThatNoOtherTakes) {
  Experiment e = small_experiment();
  e.model.layers[1]->inputs = {"x"};
  Dataset data = load_data(e, "");
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: the model has several outputs\n"
            "  expected: one: each layer but the last is an input of another one\n"
            "  got:      hidden, softmax\n"
            "  hint:     no layer takes hidden; [[loss.outputs]] gives each output an objective");
}

// A residual block learns; images are given to its first layer as rows.
TEST(ModelGraph, AResidualModelTrains) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Dense::Options inner = e.model.layers[0].get<Dense::Options>();
  inner.name = "inner";
  e.model.layers.insert(e.model.layers.begin() + 1, inner);
  e.model.layers.insert(e.model.layers.begin() + 2, Add::Options{{.name = "sum", .inputs = {"inner", "hidden"}}});
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::vector<double> losses;
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) { losses.push_back(report.train_loss); }};
  train(e, data, folder, hooks);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses[2], losses[0]);
  Tensor x = data.test.all(DType::kFloat32).x;
  Prediction prediction = predict(e, x, folder.best());
  EXPECT_EQ(prediction.probabilities.shape(), (Shape{40, 10}));
}

}  // namespace
}  // namespace thtrain
