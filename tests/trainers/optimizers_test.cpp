// Optimizers, schedules and what surrounds a step, in whole runs: they go on to the same bits, and do what they
// say.
#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "tests/support/training_support.h"
#include "trainers/check_checkpoint.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

Experiment float64_experiment() {
  Experiment out = small_experiment();
  out.compiler.mode = CompilerConfig::Mode::kReference;
  out.compiler.floatX = DType::kFloat64;
  out.trainer.validation_frequency = 4;
  return out;
}

Checkpoint checkpoint_of(const Experiment& e, const Dataset& data, const std::string& path) {
  RunFolder folder = RunFolder::create(path, e);
  train(e, data, folder);
  return read_checkpoint(folder.checkpoint());
}

// Stopped after every step.
Checkpoint trained_in_parts(const Experiment& e, const Dataset& data, const std::string& path) {
  RunFolder folder = RunFolder::create(path, e);
  std::atomic<int> stop{1};
  TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
  for (int i = 0; summary.interrupted && i < 100; ++i) {
    RunFolder again = RunFolder::open(path);
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  EXPECT_FALSE(summary.interrupted);
  return read_checkpoint(folder.checkpoint());
}

void expect_resumes(const Experiment& e, const std::string& kept) {
  TemporaryFolder temporary;
  Dataset data = load_data(e, "");
  Checkpoint whole = checkpoint_of(e, data, temporary.path("whole")),
             parts = trained_in_parts(e, data, temporary.path("parts"));
  expect_same(whole.weights, parts.weights);
  expect_same(whole.optimizer, parts.optimizer);
  expect_same(whole.best, parts.best);
  EXPECT_EQ(whole.state.monitor, parts.state.monitor);
  EXPECT_EQ(join(whole.optimizer, " ", [](const auto& entry) { return entry.first; }), kept);
}

TEST(Optimizers, AdamGoesOnToTheSameBits) {
  Experiment e = float64_experiment();
  e.trainer.optimizer = OneOf<OptimizerOptions>(OptimizerOptions::kinds()[4]);
  EXPECT_EQ(e.trainer.optimizer.name(), "adam");
  expect_resumes(e,
                 "step mean/hidden/W mean/hidden/b mean/softmax/W mean/softmax/b square/hidden/W square/hidden/b "
                 "square/softmax/W square/softmax/b");
}

OneOf<ScheduleOptions> schedule_of(const std::string& text) {
  for (const Kind<ScheduleOptions>& kind : ScheduleOptions::kinds())
    if (kind.name == text) return OneOf<ScheduleOptions>(kind);
  ADD_FAILURE() << "no schedule " << text;
  return {};
}

TEST(Schedules, APlateauGoesOnToTheSameBits) {
  Experiment e = float64_experiment();
  OneOf<ScheduleOptions> plateau = schedule_of("plateau");
  ConfigNode table = resolved_config(plateau.kind_of().schema(), plateau.object());
  table.find("patience")->integer = 0;
  table.find("threshold")->number = 0.75;
  Findings findings;
  read_config(plateau.kind_of().schema(), plateau.object(), table, findings);
  findings.raise();
  e.trainer.schedule = plateau;
  expect_resumes(e,
                 "velocity/hidden/W velocity/hidden/b velocity/softmax/W velocity/softmax/b schedule/plateau/best "
                 "schedule/plateau/waited schedule/plateau/cooldown schedule/plateau/factor");
}

TEST(TrainingSteps, AveragesAndAccumulatedGradientsGoOnToTheSameBits) {
  Experiment e = float64_experiment();
  sgd_of(e).momentum = 0;
  e.trainer.average = TrainingStep::Average::kExponential;
  e.trainer.average_decay = 0.9;
  e.trainer.accumulate = 3;
  e.trainer.clip_norm = 0.5;
  e.trainer.max_norm = 1;
  expect_resumes(e,
                 "accumulated/hidden/W accumulated/hidden/b accumulated/softmax/W accumulated/softmax/b accumulated "
                 "average/hidden/W average/hidden/b average/softmax/W average/softmax/b averaged");
}

// A run with half the rate in its second epoch is one that is edited between them.
TEST(Schedules, ChangeTheRateBetweenEpochs) {
  TemporaryFolder temporary;
  Experiment e = float64_experiment();
  e.trainer.epochs = 2;
  sgd_of(e).learning_rate = 0.05;
  Dataset data = load_data(e, "");
  Experiment scheduled = e;
  scheduled.trainer.schedule = schedule_of("exponential");  // 0.95
  Checkpoint whole = checkpoint_of(scheduled, data, temporary.path("scheduled"));
  Experiment first = e;
  first.trainer.epochs = 1;
  RunFolder folder = RunFolder::create(temporary.path("edited"), first);
  train(first, data, folder);
  sgd_of(e).learning_rate = 0.05 * 0.95;
  resume(e, data, folder, {}, {.accept_edits = true});
  expect_same(whole.weights, read_checkpoint(folder.checkpoint()).weights);
}

TEST(Averages, AreWhatIsMeasuredAndKeptAsTheBest) {
  TemporaryFolder temporary;
  Experiment e = float64_experiment();
  e.trainer.average = TrainingStep::Average::kEqual;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainSummary summary = train(e, data, folder);
  Checkpoint end = read_checkpoint(folder.checkpoint());
  EXPECT_FALSE(same_bits(array_named(end.best, "hidden/W"), array_named(end.weights, "hidden/W")));
  EXPECT_EQ(evaluate(e, data, Part::kValid, folder.best()).error, *summary.valid_error);
  EXPECT_EQ(evaluate(e, data, Part::kTest, folder.best()).error, *summary.test_error);
}

TEST(LayerRates, AFactorOfZeroKeepsTheLayer) {
  TemporaryFolder temporary;
  Experiment e = float64_experiment(), untrained = e;
  e.loss.l2 = untrained.loss.l2 = 0;
  e.model.layers[0]->rate_factor = 0;
  untrained.model.layers[0]->trained = false;
  Dataset data = load_data(e, "");
  expect_same(checkpoint_of(e, data, temporary.path("a")).weights,
              checkpoint_of(untrained, data, temporary.path("b")).weights);
}

// The decay of all layers, and the same said by each of them.
TEST(LayerDecays, StandForTheOptimizers) {
  TemporaryFolder temporary;
  Experiment e = float64_experiment(), by_layer = e;
  sgd_of(e).weight_decay = 0.125;
  for (OneOf<LayerOptions>& layer : by_layer.model.layers) layer->weight_decay = 0.125;
  Dataset data = load_data(e, "");
  expect_same(checkpoint_of(e, data, temporary.path("a")).weights,
              checkpoint_of(by_layer, data, temporary.path("b")).weights);
}

TEST(Schedules, APlateauNeedsValidationExamples) {
  Experiment e = float64_experiment();
  e.data.get<DigitsConfig>().n_valid = 0;
  e.trainer.validation_frequency.reset();
  e.trainer.schedule = schedule_of("plateau");
  Dataset data = load_data(e, "");
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: a plateau schedule needs validation examples\n  got:      none in the data\n"
            "  hint:     it goes by the validation values; other schedules need none");
}

}  // namespace
}  // namespace thtrain
