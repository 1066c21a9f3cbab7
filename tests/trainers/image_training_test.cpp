// Models of images are trained: their shapes in the table of layers, and running averages that are part of a run.
#include <atomic>

#include "nn/layers/add.h"
#include "nn/layers/batch_norm.h"
#include "nn/layers/conv.h"
#include "nn/layers/flatten.h"
#include "nn/layers/pool.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

// A small network of digits [1, 28, 28].
Experiment convnet_experiment() {
  Experiment out = small_experiment();
  Conv::Options maps{{.name = "maps"}, 3, {.size = {5}, .stride = {2}}};
  maps.bias = false;
  const BatchNorm::Options norm{{.name = "norm"}, 0.25, 1e-5, true, "relu"};
  const Pool::Options pooled{{.name = "pooled"}};
  const OneOf<LayerOptions> softmax = out.model.layers.back();
  out.model.layers = {maps, norm, pooled, softmax};
  out.trainer.validation_frequency = 7;
  return out;
}

TEST(ImageTraining, TheTableOfLayersHasChannelsRowsAndColumns) {
  const Experiment e = convnet_experiment();
  const Dataset data = load_data(e, "");
  const ModelSummary summary = check_experiment(e, data, "").model;
  EXPECT_EQ(summary.input, "float32[20, 1, 28, 28]");
  EXPECT_EQ(join(summary.layers, "\n",
                 [](const LayerSummary& layer) {
                   return str(layer.name, ' ', layer.type, ' ', layer.output, ' ', layer.parameters);
                 }),
            "maps conv float32[20, 3, 12, 12] 75\n"
            "norm batch_norm float32[20, 3, 12, 12] 6\n"
            "pooled pool float32[20, 3, 6, 6] 0\n"
            "softmax softmax float32[20, 10] 1090");
}

TEST(ImageTraining, RunningAveragesAreKeptAndEvaluatedWith) {
  TemporaryFolder temporary;
  const Experiment e = convnet_experiment();
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::vector<double> losses;
  const TrainHooks hooks{.on_epoch = [&](const EpochReport& report) { losses.push_back(report.train_loss); }};
  const TrainSummary summary = train(e, data, folder, hooks);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses[2], losses[0]);
  const Checkpoint end = read_checkpoint(folder.checkpoint());
  EXPECT_EQ(array_named(end.weights, "norm/mean").type_text(), "float32[3]");
  for (int64_t i = 0; i < 3; ++i) EXPECT_GT(array_named(end.weights, "norm/variance").as_double(i), 0);
  EXPECT_FALSE(same_bits(array_named(end.weights, "norm/mean"), Tensor::zeros(DType::kFloat32, {3})));
  EXPECT_EQ(evaluate(e, data, Part::kValid, folder.best()).error, summary.valid_error);
}

TEST(ImageTraining, AResumedRunEndsWithItsBits) {
  TemporaryFolder temporary;
  const Experiment e = convnet_experiment();
  const Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  train(e, data, whole);
  RunFolder parts = RunFolder::create(temporary.path("parts"), e);
  const std::atomic<int> stop{1};  // always: one step, then a checkpoint
  TrainSummary summary = train(e, data, parts, {}, {.stop = &stop});
  for (int i = 0; i < 4 && summary.interrupted; ++i) {
    RunFolder again = RunFolder::open(parts.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  RunFolder again = RunFolder::open(parts.path());
  resume(e, data, again);
  const Checkpoint expected = read_checkpoint(whole.checkpoint()), got = read_checkpoint(again.checkpoint());
  expect_same(got.weights, expected.weights);
  expect_same(got.optimizer, expected.optimizer);
  expect_same(got.best, expected.best);
}

// The model takes rows where a layer besides the first one does; the filters take the images that these were.
TEST(ImageTraining, ImagesMayComeAsRows) {
  Experiment e = convnet_experiment();
  Dense::Options other;
  other.name = "other";
  other.inputs = {"x"};
  other.units = 108;
  Flatten::Options row;
  row.name = "row";
  Add::Options sum;
  sum.name = "sum";
  sum.inputs = {"row", "other"};
  auto& layers = e.model.layers;
  layers.insert(layers.begin() + 3, {row, other, sum});
  const Dataset data = load_data(e, "");
  const ModelSummary summary = check_experiment(e, data, "").model;
  EXPECT_EQ(summary.input, "float32[20, 784]");
  EXPECT_EQ(summary.layers[0].output, "float32[20, 3, 12, 12]");
  EXPECT_EQ(summary.layers[5].output, "float32[20, 108]");
}

}  // namespace
}  // namespace thtrain
