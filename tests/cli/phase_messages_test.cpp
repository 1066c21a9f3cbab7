// What is wrong with phases is told before anything is trained, at its location in the file.
#include <gtest/gtest.h>

#include "nn/optimizers/adam.h"
#include "nn/optimizers/rmsprop.h"
#include "tests/support/cli_support.h"
#include "tests/support/phases_support.h"

namespace thtrain {
namespace {

/// The text of the mistakes in kSmallTop, which `phases` follows.
std::string mistakes(const std::string& phases, const std::vector<std::string>& overrides = {}) {
  return "\n" + error_text([&] { experiment_in(kSmallTop + phases, overrides); }) + "\n";
}

/// Those that training finds.
std::string refused(const std::string& phases, const std::vector<std::string>& overrides = {}) {
  TemporaryFolder temporary;
  const Experiment e = experiment_in(kSmallTop + phases, overrides);
  int64_t epochs = 0;
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) { ++epochs; }};
  const std::string text = "\n" + error_text([&] { train_in(temporary.path("run"), e, hooks); }) + "\n";
  EXPECT_EQ(epochs, 0);
  return text;
}

TEST(PhaseMessages, KeysThatAreNone) {
  EXPECT_EQ(mistakes("[[phase]]\nnmae = \"a\"\nepochs = 3\nthreads = 2\nseed = 3\n[phase.trainr]\n[phase.compiler]\n"),
            R"(
error: unknown key phase.0.nmae
  config:   e.toml:25:1
     25 | nmae = "a"
        | ^^^^
  hint:     did you mean name?
error: unknown key phase.0.epochs
  config:   e.toml:26:1
     26 | epochs = 3
        | ^^^^^^
  hint:     epochs is a key of [phase.trainer]
error: unknown key phase.0.threads
  config:   e.toml:27:1
     27 | threads = 2
        | ^^^^^^^
  hint:     compiler.threads is the same in all phases: it belongs outside of [[phase]]
error: unknown key phase.0.seed
  config:   e.toml:28:1
     28 | seed = 3
        | ^^^^
  hint:     seed is the same in all phases: it belongs outside of [[phase]]
error: unknown key phase.0.trainr
  config:   e.toml:29:8
     29 | [phase.trainr]
        |        ^^^^^^
  hint:     did you mean trainer?
error: unknown key phase.0.compiler
  config:   e.toml:30:8
     30 | [phase.compiler]
        |        ^^^^^^^^
  hint:     compiler is the same in all phases: it belongs outside of [[phase]]
)");
}

TEST(PhaseMessages, ValuesThatAreWrong) {
  EXPECT_EQ(mistakes("[[phase]]\nname = \"a/b\"\npass_on = \"first\"\ntrained = \"hidden\"\n"),
            R"(
error: phase.0.name cannot be part of a file's name
  expected: at most 100 letters, digits, _ and -
  got:      "a/b"
  config:   e.toml:25:8
     25 | name = "a/b"
        |        ^^^^^
error: phase.0.pass_on has an unknown value
  expected: one of "last", "best"
  got:      "first"
  config:   e.toml:26:11
     26 | pass_on = "first"
        |           ^^^^^^^
  hint:     pass_on: which weights the next phase begins with: the last ones, or those with the best validation )"
            R"(value, which needs validation examples
error: phase.0.trained is not an array
  expected: an array, each element a string
  got:      a string, "hidden"
  config:   e.toml:27:11
     27 | trained = "hidden"
        |           ^^^^^^^^
  hint:     trained: names of the layers whose parameters are trained. Empty: all but those with `trained = false`
)");
  EXPECT_EQ(mistakes("[phase]\nname = \"a\"\n"), R"(
error: phase is not an array
  expected: an array, each element a table
  got:      a table
  config:   e.toml:24:1
     24 | [phase]
        | ^^^^^^^
  hint:     write [[phase]], with two brackets, before each element
)");
  EXPECT_EQ(mistakes("[[phase]]\nname = \"a\"\n[[phase]]\nname = \"a\"\npass_on = \"best\"\n"), R"(
error: two phases are called a
  expected: a name for each phase
  config:   e.toml:27:8
     27 | name = "a"
        |        ^^^
  hint:     the other one is phase.0
error: phase.1.pass_on has no effect: no phase comes after a
  expected: pass_on = "best" in a phase before the last one
  got:      pass_on = "best"
  config:   e.toml:28:11
     28 | pass_on = "best"
        |           ^^^^^^
  hint:     leave it out: the best weights of the last phase are those of the run, in best.npz
)");
}

TEST(PhaseMessages, LayersThatCannotBeTrained) {
  EXPECT_EQ(
      mistakes("[[phase]]\ntrained = [\"hiden\"]\n[[phase]]\ntrained = [\"flat\"]\n"
               "[[phase.model.layers]]\ntype = \"flatten\"\nname = \"flat\"\n"
               "[[phase.model.layers]]\ntype = \"softmax\"\n"
               "[[phase]]\ntrained = [\"softmax\"]\n[[phase.model.layers]]\ntype = \"softmax\"\ntrained = false\n"),
      R"(
error: phase phase1: phase.0.trained names a layer that is not there
  expected: hidden, softmax
  got:      hiden
  config:   e.toml:25:11
     25 | trained = ["hiden"]
        |           ^^^^^^^^^
  hint:     did you mean hidden?
error: phase phase2: phase.1.trained names a layer with nothing to train
  expected: layers with parameters, and without trained = false
  got:      flat, of type flatten
  config:   e.toml:27:11
     27 | trained = ["flat"]
        |           ^^^^^^^^
error: phase phase3: phase.2.trained names a layer with nothing to train
  expected: layers with parameters, and without trained = false
  got:      softmax, with trained = false
  config:   e.toml:34:11
     34 | trained = ["softmax"]
        |           ^^^^^^^^^^^
)");
}

TEST(PhaseMessages, ALayerThatIsTrainedTwice) {
  EXPECT_EQ(mistakes("[[phase]]\nname = \"a\"\ntrained = [\"softmax\", \"softmax\"]\n"), R"(
error: phase.0.trained names a layer twice
  expected: each layer once
  got:      softmax
  config:   e.toml:26:11
     26 | trained = ["softmax", "softmax"]
        |           ^^^^^^^^^^^^^^^^^^^^^^
)");
}

// The keys of a phase's tables are read as those of the experiment's own; what all phases share is told once.
TEST(PhaseMessages, KeysOfItsTables) {
  EXPECT_EQ(mistakes("[[phase]]\nname = \"a\"\n[phase.trainer]\nepochs = 0\nlearnig_rate = 1.0\n"
                     "[[phase]]\nname = \"b\"\n[phase.trainer]\noptimizer = \"adam\"\nmomentum = 0.5\n",
                     {"trainer.batch_size=0"}),
            R"(
error: phase a: trainer.epochs is out of range
  expected: an integer, at least 1 (epochs)
  got:      0
  config:   e.toml:27:10
     27 | epochs = 0
        |          ^
  hint:     epochs: largest number of passes over the training set
error: phase a: unknown key trainer.learnig_rate
  config:   e.toml:28:1
     28 | learnig_rate = 1.0
        | ^^^^^^^^^^^^
  hint:     did you mean learning_rate?
error: phase b: unknown key trainer.momentum
  config:   e.toml:33:1
     33 | momentum = 0.5
        | ^^^^^^^^
  hint:     momentum is a key of optimizer = "sgd" or "rmsprop"
error: trainer.batch_size is out of range
  expected: an integer, at least 1 (examples)
  got:      0
  config:   command line:1:20
      1 | trainer.batch_size=0
        |                    ^
  hint:     batch_size: number of examples in a minibatch
)");
}

// With another kind, the keys that it does not have go, and the learning rate; with the same kind they stay.
TEST(PhaseMessages, AnotherKindReplacesTheKeysOfTheOldOne) {
  const Experiment e =
      experiment_in(kSmallTop +
                    "[[phase]]\n[phase.trainer]\noptimizer = \"sgd\"\nmomentum = 0.25\n"
                    "[[phase]]\n[phase.trainer]\noptimizer = \"adam\"\n"
                    "[[phase]]\n[phase.data]\nsource = \"two_digits\"\n"
                    "[phase.loss]\ntype = \"binary_crossentropy\"\n"
                    "[[phase.model.layers]]\ntype = \"dense\"\nunits = 10\nactivation = \"sigmoid\"\n");
  EXPECT_EQ(e.phases[0].trainer.learning_rate(), 0.05);
  EXPECT_EQ(e.phases[0].trainer.optimizer.get<OptimizerKind<Sgd>>().momentum, 0.25);
  EXPECT_EQ(e.phases[1].trainer.learning_rate(), 0.001);
  EXPECT_EQ(e.phases[1].trainer.batch_size, 20);
  EXPECT_EQ(e.phases[2].trainer.optimizer.get<OptimizerKind<Sgd>>().momentum, 0.9);
  EXPECT_EQ(e.phases[2].data.name(), "two_digits");
  EXPECT_EQ(e.phases[2].model.layers.size(), 1u);
  EXPECT_EQ(phase_name(e.phases[2]), "phase3");
}

TEST(PhaseMessages, KeysThatBothKindsHaveStay) {
  const Experiment e = experiment_in(kSmallTop +
                                         "[[phase]]\n"
                                         "[[phase]]\n[phase.trainer]\noptimizer = \"adam\"\n"
                                         "[[phase]]\n[phase.trainer]\noptimizer = \"rmsprop\"\nlearning_rate = 0.5\n"
                                         "[[phase]]\n[phase.data]\nsource = \"two_digits\"\n",
                                     {"trainer.weight_decay=0.25"});
  const auto& adam = e.phases[1].trainer.optimizer.get<OptimizerKind<Adam>>();
  EXPECT_EQ(adam.weight_decay, 0.25);
  EXPECT_EQ(adam.learning_rate, 0.001);
  const auto& rmsprop = e.phases[2].trainer.optimizer.get<OptimizerKind<RmsProp>>();
  EXPECT_EQ(rmsprop.weight_decay, 0.25);
  EXPECT_EQ(rmsprop.momentum, 0.9);
  EXPECT_EQ(rmsprop.learning_rate, 0.5);
  EXPECT_EQ(e.phases[3].data->sizes().train, 200);
}

TEST(PhaseMessages, KeysThatEveryPhaseReplaces) {
  EXPECT_EQ(mistakes("[[phase]]\n[phase.trainer]\nepochs = 1\noptimizer = \"adam\"\n"
                     "[[phase]]\n[phase.trainer]\nepochs = 2\n"),
            R"(
error: trainer.epochs has no effect: every phase has its own, or replaces what it belongs to
  config:   e.toml:18:1
     18 | epochs = 3
        | ^^^^^^
  hint:     phase.1.trainer.epochs is that of phase2
)");
}

TEST(PhaseMessages, WeightsFromAFileAreOfTheFirstPhase) {
  const Experiment e = experiment_in(kSmallTop + "[[phase]]\n[[phase]]\n", {"model.weights=w.npz"});
  EXPECT_EQ(e.phases[0].model.weights, "w.npz");
  EXPECT_EQ(e.phases[1].model.weights, std::nullopt);
  EXPECT_EQ(mistakes("[[phase]]\n[[phase]]\n[phase.model]\nweights = \"w.npz\"\n"), R"(
error: phase.1.model.weights: only the first phase takes weights from a file
  config:   e.toml:27:11
     27 | weights = "w.npz"
        |           ^^^^^^^
  hint:     a later phase begins with those of the phase before it
)");
}

// ---- what only the data tells ----

TEST(PhaseMessages, WeightsOfAnotherShape) {
  EXPECT_EQ(refused("[[phase]]\n[[phase]]\nname = \"wide\"\n"
                    "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 9\n"
                    "[[phase.model.layers]]\ntype = \"softmax\"\n"),
            R"(
error: phase wide: hidden/W has another shape than in phase phase1
  expected: [784, 8]
  got:      [784, 9]
  config:   e.toml:27:1
     27 | [[phase.model.layers]]
        | ^^^^^^^^^^^^^^^^^^^^^^
  hint:     a layer of another name begins with weights of its own
)");
}

// Their arrays would mean something else. Those of dense, softmax and rbm layers mean the same.
TEST(PhaseMessages, WeightsOfAnotherTypeOfLayer) {
  const std::string hidden = "[[phase.model.layers]]\nname = \"hidden\"\n",
                    top = "[[phase.model.layers]]\ntype = \"softmax\"\n";
  EXPECT_EQ(refused("[[phase]]\n[[phase]]\nname = \"two\"\n" + hidden + "type = \"maxout\"\nunits = 4\n" + top), R"(
error: phase two: hidden/W is of a layer of another type than in phase phase1
  expected: type = "dense"
  got:      type = "maxout"
  config:   e.toml:27:1
     27 | [[phase.model.layers]]
        | ^^^^^^^^^^^^^^^^^^^^^^
  hint:     a layer of another name begins with weights of its own
)");
  const Experiment e = experiment_in(kSmallTop + "[[phase]]\n[[phase]]\n" + hidden + "type = \"rbm\"\nunits = 8\n" +
                                         "[phase.loss]\ntype = \"contrastive_divergence\"\n[[phase]]\n" + hidden +
                                         "type = \"dense\"\nunits = 8\nactivation = \"sigmoid\"\n" + top,
                                     {"trainer.epochs=1", "compiler.mode=reference"});
  TemporaryFolder temporary;
  EXPECT_FALSE(train_in(temporary.path("run"), e).interrupted);
}

// An epoch begins with zeros: the states at the end of the phase before are not passed on.
TEST(PhaseMessages, CarriedStatesOfOtherMinibatchesAreNoWeights) {
  TemporaryFolder temporary;
  std::string text;
  while (text.size() < 400) text += "abcab";
  const Experiment e =
      experiment_in("[data]\nsource = \"text\"\nfile = \"" + temporary.write("t.txt", text) +
                    "\"\nsteps = 1\ntracks = 4\n[trainer]\nbatch_size = 4\nepochs = 1\nshuffle = false\n"
                    "[[model.layers]]\ntype = \"rnn\"\nunits = 3\ncarry = true\n[[model.layers]]\ntype = \"softmax\"\n"
                    "[output]\nplots = false\n[compiler]\nmode = \"reference\"\n"
                    "[[phase]]\n[[phase]]\n[phase.data]\ntracks = 8\n[phase.trainer]\nbatch_size = 8\n");
  EXPECT_FALSE(train_in(temporary.path("run"), e).interrupted);
}

TEST(PhaseMessages, TheBestWeightsNeedValidationExamples) {
  EXPECT_EQ(refused("[[phase]]\nname = \"a\"\npass_on = \"best\"\n[[phase]]\n", {"data.n_valid=0"}), R"(
error: phase a: pass_on = "best" needs validation examples
  got:      none in the data
  config:   e.toml:26:11
     26 | pass_on = "best"
        |           ^^^^^^
  hint:     pass_on = "last" passes the last weights on
)");
}

// A later phase is built before the first one trains.
TEST(PhaseMessages, ALaterPhaseIsCheckedFirst) {
  EXPECT_EQ(
      refused("[[phase]]\n[[phase]]\nname = \"b\"\n[phase.trainer]\nschedule = \"plateau\"\n", {"data.n_valid=0"}),
      R"(
error: phase b: a plateau schedule needs validation examples
  got:      none in the data
  config:   e.toml:28:12
     28 | schedule = "plateau"
        |            ^^^^^^^^^
  hint:     it goes by the validation values; other schedules need none
)");
}

TEST(PhaseMessages, NewKeysOfTheTrainer) {
  EXPECT_EQ(mistakes("", {"trainer.keep_checkpoints=0", "trainer.max_seconds=-1"}),
            R"(
error: trainer.keep_checkpoints is out of range
  expected: an integer, at least 1
  got:      0
  config:   command line:1:26
      1 | trainer.keep_checkpoints=0
        |                          ^
  hint:     keep_checkpoints: how many checkpoints stay in the run folder: the last one is `checkpoint.npz`, )"
            R"(earlier ones are in `checkpoints/`
error: trainer.max_seconds is out of range
  expected: a number, at least 0 (seconds)
  got:      -1
  config:   command line:2:21
      2 | trainer.max_seconds=-1
        |                     ^^
  hint:     max_seconds: seconds of training, those of the processes before a resumption included; )"
            R"(the run ends with the minibatch in which they are spent. 0: no limit
)");
}

}  // namespace
}  // namespace thtrain
