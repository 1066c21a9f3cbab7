// Sampling a trained model from C++: text, with recurrent layers of a program's own too.
#include <fstream>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/cumulative.h"
#include "datasets/sources/text.h"
#include "nn/layers/lstm.h"
#include "nn/optimizers/adam.h"
#include "nn/recurrent.h"
#include "nn/sequences.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"
#include "trainers/sample_piano_roll.h"
#include "trainers/sample_text.h"

namespace thtrain::sample_test {

// A recurrent layer that nothing else in the tree knows: h_t = tanh(x_t W + b + h_(t-1) U) + h_(t-1) / 2.
class Leaky : public Recurrent {
 public:
  struct Options : RecurrentOptions {
    using Makes = Leaky;
    static constexpr std::string_view kName = "leaky";
    static void describe(Fields<Options>& f) { describe_recurrent(f); }
  };
  Leaky(const Options& options, const LayerInput& input) : Recurrent(Options::kName, options, input, 1, {"h"}) {}

 protected:
  std::vector<Expr> step(const Expr& z, const std::vector<Expr>& before) const override {
    return {tanh(z + dot(before[0], u())) + before[0] / 2};
  }
};

// Computes with whole sequences and keeps no state: the sum of all steps so far.
class SumOfSteps : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = SumOfSteps;
    static constexpr std::string_view kName = "sum_of_steps";
    static void describe(Fields<Options>& f) { describe_layer(f); }
  };
  SumOfSteps(const Options& options, const LayerInput& input)
      : Layer(Options::kName, options, only_input(Options::kName, options, input)) {}
  bool takes_sequences() const override { return true; }

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass&) const override { return cumsum(inputs[0], 0); }
};

// Of "aabaab...": what follows an a is decided by the symbol before it.
class SampleText : public testing::Test {
 protected:
  static Experiment of_epochs(int64_t epochs) {
    Experiment out;
    out.trainer.epochs = epochs;
    return out;
  }
  template <class Options>
  std::string trained(Options recurrent) {
    recurrent.name = "memory";
    Softmax::Options softmax{{.name = "softmax"}};
    experiment.model.layers = {recurrent, softmax};
    TextConfig text;
    text.file = write("t.txt");
    text.steps = 8;
    experiment.data = text;
    OptimizerKind<Adam> adam;
    adam.learning_rate = 0.05;
    experiment.trainer.optimizer = adam;
    experiment.trainer.batch_size = 4;
    experiment.trainer.checkpoint_seconds = 0;
    experiment.compiler.mode = CompilerConfig::Mode::kReference;
    experiment.output.plots = false;
    const Dataset data = load_data(experiment, temporary.path());
    symbols = data.class_names;
    RunFolder folder = RunFolder::create(temporary.path("run"), experiment);
    train(experiment, data, folder);
    return folder.best();
  }
  std::string write(const std::string& name) {
    std::ofstream out(temporary.path(name));
    for (int i = 0; i < 80; ++i) out << "aab";
    return temporary.path(name);
  }
  TemporaryFolder temporary;
  Experiment experiment = of_epochs(30);
  std::vector<std::string> symbols;
};

TEST_F(SampleText, RecurrentLayerOfAProgramGoesOnFromItsState) {
  Leaky::Options leaky;
  leaky.units = 8;
  const std::string weights = trained(leaky);
  EXPECT_EQ(sample_text(experiment, symbols, weights, {.start = "aaba", .length = 6, .temperature = 0}), "aabaabaaba");
  const TextSampling drawn{.length = 40, .temperature = 2, .seed = 3};
  const std::string text = sample_text(experiment, symbols, weights, drawn);
  EXPECT_EQ(text.size(), 40U);
  EXPECT_EQ(sample_text(experiment, symbols, weights, drawn), text);
}

TEST_F(SampleText, LayerThatCannotGoStepByStepIsAnErrorThatNamesIt) {
  SumOfSteps::Options sums;
  const std::string weights = trained(sums);
  EXPECT_EQ(error_text([&] { sample_text(experiment, symbols, weights); }),
            "error: layer memory (sum_of_steps) computes with whole sequences: it cannot go on from step to step\n"
            "  expected: layers that keep a state from step to step, or look at one step alone");
  Lstm::Options lstm;
  lstm.units = 2;
  lstm.name = "memory";
  lstm.go_backwards = true;
  experiment.model.layers[0] = lstm;
  EXPECT_EQ(error_text([&] { sample_text(experiment, symbols, weights); }),
            "error: layer memory walks sequences backwards: it cannot write text\n  expected: go_backwards = false");
}

TEST_F(SampleText, StartsAndLengthsThatAreNone) {
  Leaky::Options leaky;
  leaky.units = 2;
  experiment.trainer.epochs = 1;
  const std::string weights = trained(leaky);
  EXPECT_EQ(error_text([&] { sample_text(experiment, symbols, weights, {.start = "ax"}); }),
            "error: start has a symbol that the model does not know\n  expected: \"a\", \"b\"\n  got:      \"x\"");
  EXPECT_EQ(error_text([&] { sample_text(experiment, symbols, weights, {.length = -1}); }),
            "error: there is no such text\n  expected: symbols, and a length of at least 0\n  got:      2 symbols, "
            "length -1");
  EXPECT_FALSE(gives_piano_rolls(experiment));
}

}  // namespace thtrain::sample_test
