// Restricted Boltzmann machines, autoencoders and stacks of them, trained.
#include "nn/objectives/contrastive_divergence.h"

#include <cmath>

#include "datasets/sources/digits.h"
#include "nn/layers/corrupt.h"
#include "nn/layers/dropout.h"
#include "nn/layers/flatten.h"
#include "nn/layers/rbm.h"
#include "nn/layers/transposed.h"
#include "nn/objectives/binary_crossentropy.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"

namespace thtrain {
namespace {

Rbm::Options rbm(const std::string& name, int64_t units) {
  Rbm::Options out;
  out.name = name;
  out.units = units;
  return out;
}

Dense::Options sigmoids(const std::string& name, int64_t units) {
  Dense::Options out;
  out.name = name;
  out.units = units;
  out.activation = "sigmoid";
  return out;
}

Transposed::Options back(const std::string& name, const std::string& of) {
  Transposed::Options out;
  out.name = name;
  out.of = of;
  out.activation = "sigmoid";
  return out;
}

Corrupt::Options noise() {
  Corrupt::Options out;
  out.name = "noise";
  return out;
}

Softmax::Options softmax() {
  Softmax::Options out;
  out.name = "softmax";
  return out;
}

// Persistent chains on 200 digits.
Experiment machine() {
  Experiment out = small_experiment();
  out.model.layers = {rbm("rbm", 6)};
  ContrastiveDivergence::Options objective;
  objective.k = 2;
  objective.persistent = true;
  out.loss.objective = objective;
  out.loss.l2 = 0;
  sgd_of(out).momentum = 0;
  return out;
}

std::map<std::string, Tensor> arrays_of(const NamedArrays& arrays) {
  return {arrays.begin(), arrays.end()};
}

struct Trained {
  TrainSummary summary;
  Checkpoint end;
};
Trained trained(const Experiment& e, const std::string& path) {
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(path, e);
  Trained out{train(e, data, folder), {}};
  out.end = read_checkpoint(folder.checkpoint());
  return out;
}

// Chains and the next unit are kept with the optimizer's state, generators with the weights.
TEST(Machines, AResumedRunHasTheSameChains) {
  TemporaryFolder temporary;
  const Experiment e = machine();
  const Trained whole = trained(e, temporary.path("whole"));
  EXPECT_EQ(join(whole.end.weights, " ", [](const auto& entry) { return entry.first; }),
            "rbm/W rbm/b rbm/a rbm/visible_random rbm/hidden_random");
  auto kept = arrays_of(whole.end.optimizer);
  EXPECT_EQ(kept.at("chains").type_text(), "float32[20, 6]");
  EXPECT_EQ(kept.at("bit").as_int(), 30 * 20 % 784);  // steps of 20 examples
  const Dataset data = load_data(e, "");
  RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};  // one step in each process
  TrainSummary summary;
  for (int i = 0; i < 31; ++i) {
    RunFolder again = RunFolder::open(temporary.path("parts"));
    summary = i == 0 ? train(e, data, again, {}, {.stop = &stop}) : resume(e, data, again, {}, {.stop = &stop});
    if (!summary.interrupted) break;
  }
  EXPECT_FALSE(summary.interrupted);
  const Checkpoint end = read_checkpoint(RunFolder::open(temporary.path("parts")).checkpoint());
  for (const auto& [name, value] : end.weights)
    EXPECT_TRUE(same_bits(value, arrays_of(whole.end.weights).at(name))) << name;
  for (const auto& [name, value] : end.optimizer) EXPECT_TRUE(same_bits(value, kept.at(name))) << name;
}

// What is shown is a loss as others are: positive, and measured without drawing.
TEST(Machines, AreMeasuredByTheirPseudoLikelihood) {
  TemporaryFolder temporary;
  Experiment e = machine();
  e.trainer.epochs = 6;
  const Trained result = trained(e, temporary.path("run"));
  EXPECT_EQ(result.summary.metric.name, "loss");
  const Dataset data = load_data(e, "");
  const double first = evaluate(e, data, Part::kValid, temporary.path("run/best.npz")).error;
  EXPECT_EQ(first, *result.summary.valid_error);
  EXPECT_EQ(first, evaluate(e, data, Part::kValid, temporary.path("run/best.npz")).error);
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 784 * std::log(2.0));  // of a machine that knows nothing
}

TEST(Machines, OfBinaryUnitsLearnSharesAlone) {
  Experiment e = machine();
  DigitsConfig digits = e.data.get<DigitsConfig>();
  digits.scale = 1;
  e.data = digits;
  const Dataset data = load_data(e, "");
  const std::string text = error_text([&] { check_experiment(e, data, ""); });
  EXPECT_NE(text.find(": the visible units of rbm are binary\n  expected: numbers from 0 to 1\n  got:      "),
            std::string::npos)
      << text;
  EXPECT_TRUE(
      text.ends_with("\n  hint:     data.scale brings the examples there; data.standardize does not; visible = "
                     "\"gaussian\" takes other numbers"))
      << text;
  Rbm::Options gaussian = rbm("rbm", 6);
  gaussian.visible = Rbm::Visible::kGaussian;
  e.model.layers = {gaussian};
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }), "no error");
}

// Below a softmax, the bias that only a machine reads stays as it is.
TEST(Machines, AreLayersOfClassifiers) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.model.layers = {rbm("rbm", 6), softmax()};
  const Trained result = trained(e, temporary.path("run"));
  const auto weights = arrays_of(result.end.weights);
  for (int64_t i = 0; i < 784; ++i) EXPECT_EQ(weights.at("rbm/a").as_double(i), 0);
  EXPECT_NE(weights.at("rbm/b").as_double(0), 0);
  EXPECT_EQ(join(result.end.optimizer, " ", [](const auto& entry) { return entry.first; }),
            "velocity/rbm/W velocity/rbm/b velocity/softmax/W velocity/softmax/b");
}

TEST(Machines, ThatGiveGradientsOfTheirOwnHaveNoContraction) {
  Experiment e = machine();
  e.loss.contraction = 0.5;
  e.loss.contracted = "rbm";
  const Dataset data = load_data(e, "");
  EXPECT_EQ(
      error_text([&] { check_experiment(e, data, ""); }),
      "error: loss.contraction does not go with the objective \"contrastive_divergence\", which gives gradients of "
      "its own\n"
      "  expected: an objective whose gradient is that of its cost");
}

// The first step's loss is that without the penalty, plus the factor times it: its mean over the first minibatch.
TEST(Autoencoders, TheContractionIsPartOfTheTrainingLoss) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.model.layers = {sigmoids("hidden", 5), back("picture", "hidden")};
  e.loss.objective = SquaredError::Options();
  e.loss.compare_with = CompareWith::kInputs;
  e.loss.l2 = 0;
  e.trainer.epochs = 1;
  e.trainer.batch_size = 200;  // one step
  e.trainer.full_batches_only = false;
  sgd_of(e).learning_rate = 1e-12;
  const double without = trained(e, temporary.path("without")).summary.train_loss;
  e.loss.contraction = 0.25;
  e.loss.contracted = "hidden";
  const Trained with = trained(e, temporary.path("with"));
  const Tensor x = load_data(e, "").train.all(DType::kFloat64).x.reshape({200, 784});
  const Tensor w = arrays_of(with.end.weights).at("hidden/W");
  double expected = 0;
  for (int64_t j = 0; j < 5; ++j) {
    double column = 0;
    for (int64_t k = 0; k < 784; ++k) column += w.as_double(k * 5 + j) * w.as_double(k * 5 + j);
    for (int64_t i = 0; i < 200; ++i) {
      double z = 0;
      for (int64_t k = 0; k < 784; ++k) z += x.as_double(i * 784 + k) * w.as_double(k * 5 + j);
      const double h = 1 / (1 + std::exp(-z));
      expected += h * (1 - h) * h * (1 - h) * column / 200;
    }
  }
  EXPECT_NEAR(with.summary.train_loss - without, 0.25 * expected, 1e-5 * expected);
}

TEST(Autoencoders, TheLossOfAnExampleMayBeASum) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.model.layers = {noise(), sigmoids("hidden", 5), back("picture", "hidden")};
  e.model.layers.insert(e.model.layers.begin(), Flatten::Options{});
  e.model.layers[0]->name = "flatten";
  e.loss.compare_with = CompareWith::kInputs;
  e.loss.l2 = 0;
  e.trainer.epochs = 1;
  sgd_of(e).learning_rate = 1e-12;
  double losses[2];
  for (bool is_sum : {false, true}) {
    BinaryCrossentropy::Options objective;
    objective.sum_outputs = is_sum;
    e.loss.objective = objective;
    losses[is_sum] = trained(e, temporary.path(is_sum ? "sum" : "mean")).summary.train_loss;
  }
  EXPECT_NEAR(losses[1] / losses[0], 784, 1e-2);
}

// Layer by layer: what is not trained stays, the second layer restores what the first one gives, and all of them learn
// at last.
TEST(Stacks, ArePretrainedLayerByLayer) {
  TemporaryFolder temporary;
  Experiment first = small_experiment();
  first.loss.l2 = 0;
  first.model.layers = {sigmoids("hidden1", 7), back("back1", "hidden1")};
  first.loss.objective = SquaredError::Options();
  first.loss.compare_with = CompareWith::kInputs;
  Experiment second = first;
  second.model.layers = {sigmoids("hidden1", 7), noise(), sigmoids("hidden2", 5), back("back2", "hidden2")};
  second.loss.compare_with = CompareWith::kLayer;
  second.loss.compare_layer = "hidden1";
  Experiment last = small_experiment();
  last.loss.l2 = 0;
  last.model.layers = {sigmoids("hidden1", 7), sigmoids("hidden2", 5), softmax()};
  first.phase = second.phase = last.phase = {PhaseConfig()};
  first.phase[0].name = "first";
  second.phase[0].name = "second";
  second.phase[0].trained = {"hidden2", "back2"};
  last.phase[0].name = "last";
  const Experiment e = experiment_of({first, second, last});

  std::vector<std::map<std::string, Tensor>> ends;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainHooks hooks{.on_phase_end = [&](const TrainSummary&) {
    ends.push_back(arrays_of(read_checkpoint(folder.checkpoint()).weights));
  }};
  PhaseData data(e, [](const Experiment& phase) { return load_data(phase, ""); });
  train_phases(data, folder, hooks);
  ends.push_back(arrays_of(read_checkpoint(folder.checkpoint()).weights));
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_TRUE(same_bits(ends[0].at("hidden1/W"), ends[1].at("hidden1/W")));
  EXPECT_TRUE(same_bits(ends[0].at("hidden1/b"), ends[1].at("hidden1/b")));
  EXPECT_FALSE(same_bits(ends[1].at("hidden1/W"), ends[2].at("hidden1/W")));
  EXPECT_FALSE(same_bits(ends[1].at("hidden2/W"), ends[2].at("hidden2/W")));

  // The validation loss of the second phase, computed here.
  const Tensor x = data.of(2).valid.all(DType::kFloat64).x.reshape({60, 784});
  auto layer = [](const Tensor& in, const Tensor& w, const Tensor& b, bool is_transposed) {
    const int64_t n = in.dim(0), length = in.dim(1), units = b.dim(0);
    Tensor out = Tensor::empty(DType::kFloat64, {n, units});
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < units; ++j) {
        double z = b.as_double(j);
        for (int64_t k = 0; k < length; ++k)
          z += in.as_double(i * length + k) * w.as_double(is_transposed ? j * length + k : k * units + j);
        out.data<double>()[i * units + j] = 1 / (1 + std::exp(-z));
      }
    return out;
  };
  const auto& w = ends[1];
  const Tensor h1 = layer(x, w.at("hidden1/W"), w.at("hidden1/b"), false),
               h2 = layer(h1, w.at("hidden2/W"), w.at("hidden2/b"), false),
               restored = layer(h2, w.at("hidden2/W"), w.at("back2/b"), true);
  double expected = 0;
  for (int64_t i = 0; i < h1.size(); ++i)
    expected += std::pow(restored.as_double(i) - h1.as_double(i), 2) / static_cast<double>(h1.size());
  const Checkpoint end = read_checkpoint(folder.checkpoint());
  ASSERT_EQ(end.before.size(), 2u);
  EXPECT_NEAR(*end.before[1].epochs.back().valid_loss, expected, 1e-6);
}

}  // namespace
}  // namespace thtrain
