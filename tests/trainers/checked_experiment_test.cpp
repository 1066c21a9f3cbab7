// Experiments built in a program are held to what a file may say.
#include "tests/support/error_text.h"
#include "tests/support/training_support.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

std::string mistakes(const std::function<void(Experiment&)>& edit) {
  Experiment experiment = reference_experiment();
  edit(experiment);
  return text_without_node([&] { checked_experiment(experiment); });
}

TEST(CheckedExperiment, NumbersAndNamesThatNoFileMaySay) {
  EXPECT_EQ(mistakes([](Experiment&) {}), "no error");
  EXPECT_EQ(mistakes([](Experiment& e) { e.trainer.batch_size = 0; }),
            "error: trainer.batch_size is out of range\n  expected: an integer, at least 1 (examples)\n"
            "  got:      0\n  hint:     batch_size: number of examples in a minibatch");
  EXPECT_EQ(mistakes([](Experiment& e) { e.trainer.epochs = -3; }),
            "error: trainer.epochs is out of range\n  expected: an integer, at least 1 (epochs)\n  got:      -3\n"
            "  hint:     epochs: largest number of passes over the training set");
  const std::string text = mistakes([](Experiment& e) { e.model.layers[0].get<Dense::Options>().activation = "tahn"; });
  EXPECT_TRUE(text.starts_with("error: model.layers.0.activation has an unknown value\n")) << text;
  EXPECT_TRUE(text.ends_with("did you mean \"tanh\"?")) << text;
  EXPECT_EQ(mistakes([](Experiment& e) { e.data = {}; }).substr(0, 23), "error: data is missing\n");
  EXPECT_EQ(mistakes([](Experiment& e) { e.model.layers.clear(); }).substr(0, 12), "error: model");
  EXPECT_EQ(mistakes([](Experiment& e) { e.trainer.batch_size = 500; }),
            "error: trainer.batch_size is larger than the training set\n  expected: at most 200 (examples)\n"
            "  got:      500\n"
            "  hint:     trainer.batch_size = 200 or less fits; trainer.full_batches_only = false allows this one\n"
            "error: trainer.batch_size is larger than the validation set\n  expected: at most 60 (examples)\n"
            "  got:      500\n"
            "  hint:     trainer.batch_size = 60 or less fits; trainer.full_batches_only = false allows this one\n"
            "error: trainer.batch_size is larger than the test set\n  expected: at most 40 (examples)\n"
            "  got:      500\n"
            "  hint:     trainer.batch_size = 40 or less fits; trainer.full_batches_only = false allows this one");
}

TEST(CheckedExperiment, LayersGetNames) {
  Experiment experiment = reference_experiment();
  for (OneOf<LayerOptions>& layer : experiment.model.layers) layer->name = "";
  const Experiment checked = checked_experiment(experiment);
  EXPECT_EQ(checked.model.layers[0]->name, "dense1");
  EXPECT_EQ(checked.model.layers[1]->name, "softmax");
}

// All that a program calls says so, before it does anything.
TEST(CheckedExperiment, EveryFunctionOfTrainersAsks) {
  TemporaryFolder temporary;
  Experiment good = reference_experiment(), bad = good;
  bad.trainer.batch_size = 0;
  const Dataset data = load_data(good, "");
  const std::string text = mistakes([](Experiment& e) { e.trainer.batch_size = 0; });
  RunFolder folder = RunFolder::create(temporary.path("run"), good);
  EXPECT_EQ(text_without_node([&] { RunFolder::create(temporary.path("bad"), bad); }), text);
  EXPECT_FALSE(std::filesystem::exists(temporary.path("bad")));
  EXPECT_EQ(text_without_node([&] { train(bad, data, folder); }), text);
  EXPECT_EQ(text_without_node([&] { resume(bad, data, folder); }), text);
  EXPECT_EQ(text_without_node([&] { evaluate(bad, data, Part::kTest, "w.npz"); }), text);
  EXPECT_EQ(text_without_node([&] { predict(bad, Tensor::zeros(DType::kFloat32, {1, 784}), "w.npz"); }), text);
  EXPECT_EQ(text_without_node([&] { check_experiment(bad, data, ""); }), text);
  EXPECT_EQ(text_without_node([&] { explain_training(bad, data, ""); }), text);
  EXPECT_EQ(text_without_node([&] { explain_errors(bad, data, ""); }), text);
  EXPECT_EQ(text_without_node([&] { choices_of(bad, data, ""); }), text);
}

TEST(CheckedExperiment, TrainingWithoutDataIsAMistakeOfTheProgram) {
  TemporaryFolder temporary;
  const Experiment experiment = reference_experiment();
  RunFolder folder = RunFolder::create(temporary.path("run"), experiment);
  EXPECT_EQ(text_without_node([&] { train(experiment, Dataset(), folder); }),
            "error: there are no training examples\n  hint:     load_data() reads those that the experiment names");
}

}  // namespace
}  // namespace thtrain
