// Runs of restricted Boltzmann machines: what their visible units take, their chains, and the picture of their samples.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

std::string experiment(const std::string& data, const std::string& layers, const std::string& more = "") {
  return "[data]\nsource = \"digits\"\nn_train = 60\nn_valid = 20\nn_test = 20\n" + data + layers +
         "[loss]\ntype = \"contrastive_divergence\"\npersistent = true\n"
         "[trainer]\nlearning_rate = 0.1\nbatch_size = 10\nepochs = 1\n"
         "[compiler]\nmode = \"reference\"\n" +
         more;
}

const std::string kRbm = "[[model.layers]]\ntype = \"rbm\"\nunits = 4\n";

std::string error_of(const Ended& ended) {
  EXPECT_EQ(ended.code, 2) << ended.err;
  return ended.err.substr(std::min(ended.err.find("error: "), ended.err.size()));
}

TEST(CliMachines, BinaryUnitsTakeSharesThroughLayersThatReshape) {
  Workshop workshop;
  workshop.write("e.toml", experiment("scale = 1.0\n", "[[model.layers]]\ntype = \"flatten\"\n" + kRbm));
  const std::string error = error_of(workshop.run({"check", "e.toml"}));
  EXPECT_NE(error.find(": the visible units of rbm1 are binary\n  expected: numbers from 0 to 1\n  got:      "),
            std::string::npos)
      << error;
  EXPECT_TRUE(
      error.ends_with("  hint:     data.scale brings the examples there; data.standardize does not; visible = "
                      "\"gaussian\" takes other numbers\n"))
      << error;
  workshop.write("e.toml", experiment("standardize = \"all\"\n", kRbm));
  const std::string standardized = error_of(workshop.run({"check", "e.toml"}));
  EXPECT_TRUE(standardized.ends_with(
      "  hint:     data.standardize = \"none\" leaves the examples as they are; visible = \"gaussian\" takes other "
      "numbers\n"))
      << standardized;
}

TEST(CliMachines, BinaryUnitsDoNotTakeWhatOtherKindsOfLayersGive) {
  for (const char* activation : {"relu", "tanh", "linear"}) {
    Workshop workshop;
    workshop.write("e.toml", experiment("", str("[[model.layers]]\ntype = \"dense\"\nunits = 5\nactivation = \"",
                                                activation, "\"\n") +
                                                kRbm));
    EXPECT_EQ(error_of(workshop.run({"check", "e.toml"})),
              str("error: the visible units of rbm1 are binary\n"
                  "  expected: numbers from 0 to 1\n"
                  "  got:      what the layer dense1 gives, with activation = \"",
                  activation,
                  "\"\n"
                  "  config:   e.toml:10:1\n"
                  "     10 | [[model.layers]]\n"
                  "        | ^^^^^^^^^^^^^^^^\n"
                  "  hint:     visible = \"gaussian\" takes other numbers\n"));
  }
}

TEST(CliMachines, NoWeightsOfExamplesOrClasses) {
  Workshop workshop;
  write_npy(workshop.path("x.npy"), Tensor::zeros(DType::kFloat32, {4, 3}));
  write_npy(workshop.path("y.npy"), Tensor::zeros(DType::kInt64, {4}));
  write_npy(workshop.path("w.npy"), Tensor::vector({1.0, 2.0, 1.0, 1.0}));
  const std::string files = "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\n",
                    loss = "[loss]\ntype = \"contrastive_divergence\"\n",
                    more = "[trainer]\nbatch_size = 2\n[compiler]\nmode = \"reference\"\n";
  workshop.write("e.toml", files + "train_weights = \"w.npy\"\n" + kRbm + loss + more);
  EXPECT_EQ(without_folder(error_of(workshop.run({"check", "e.toml"})), workshop),
            "error: objective \"contrastive_divergence\" takes no weights of the examples\n"
            "  expected: examples that count alike\n"
            "  got:      weights in w.npy\n"
            "  config:   e.toml:5:17\n"
            "      5 | train_weights = \"w.npy\"\n"
            "        |                 ^^^^^^^\n");
  workshop.write("e.toml", files + kRbm + loss + "class_weights = [1, 2]\n" + more);
  EXPECT_EQ(error_of(workshop.run({"check", "e.toml"})),
            "error: loss.class_weights has no effect\n"
            "  expected: an objective of targets\n"
            "  got:      type = \"contrastive_divergence\"\n"
            "  config:   e.toml:10:17\n"
            "     10 | class_weights = [1, 2]\n"
            "        |                 ^^^^^^\n");
  // Nobody learns the labels, which are all alike.
  workshop.write("e.toml", files + kRbm + loss + more);
  const Ended ended = workshop.run({"check", "e.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err.find("warning"), std::string::npos) << ended.err;
}

TEST(CliMachines, ChainsAreAsManyAsAMinibatchHasExamples) {
  Workshop workshop;
  workshop.write("e.toml", experiment("", kRbm));
  const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(error_of(workshop.run({"resume", "run", "trainer.batch_size=5", "trainer.epochs=2"})),
            "error: run/checkpoint.npz: the persistent chains of the run are of 10 examples; trainer.batch_size cannot "
            "change\n"
            "  expected: trainer.batch_size = 10\n"
            "  got:      5\n"
            "  config:   command line:1:20\n"
            "      1 | trainer.batch_size=5\n"
            "        |                    ^\n"
            "  hint:     a new run with model.weights begins with the weights of this one, and with new chains;\n"
            "            the experiment was edited since the checkpoint: trainer.batch_size: 10 then, 5 now; "
            "trainer.epochs: 1 then, 2 now;\n"
            "            weights of another model cannot go on: undo the edit, or train another run\n");
  EXPECT_EQ(error_of(workshop.run({"resume", "run", "loss.persistent=false", "trainer.epochs=2"})),
            "error: run/checkpoint.npz: the chains of the run persist; loss.persistent cannot change\n"
            "  expected: loss.persistent = true\n"
            "  got:      false\n"
            "  config:   command line:1:17\n"
            "      1 | loss.persistent=false\n"
            "        |                 ^^^^^\n"
            "  hint:     a new run with model.weights begins with the weights of this one, and with new chains;\n"
            "            the experiment was edited since the checkpoint: loss.persistent: true then, false now; "
            "trainer.epochs: 1 then, 2 now;\n"
            "            weights of another model cannot go on: undo the edit, or train another run\n");
}

TEST(CliMachines, ASignalEndsTheSamplingBetweenTwoRows) {
  Workshop workshop;
  workshop.write("e.toml", experiment("", kRbm,
                                      "[output]\nplots = false\nsamples = \"rbm1\"\nsample_chains = 4\n"
                                      "sample_rows = 1000\nsample_steps = 200\n"));
  const std::string line = "drawing samples of rbm1: 1000 rows of 200 steps of Gibbs sampling\n";
  const pid_t process = workshop.start({"train", "e.toml", "--run-dir", "run"});
  for (int i = 0; i < 6000 && workshop.read("log").find(line) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(process, SIGTERM);
  EXPECT_EQ(Workshop::wait(process), 143);
  const std::string log = workshop.read("log");
  EXPECT_NE(log.find(line), std::string::npos) << log;
  EXPECT_NE(log.find("interrupted in epoch 1"), std::string::npos) << log;
  EXPECT_NE(log.find("` continues the run"), std::string::npos) << log;
  EXPECT_FALSE(workshop.exists("run/plots/samples.png"));
  const Ended resumed = workshop.run({"resume", "run", "output.sample_rows=2", "output.sample_steps=1"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(workshop.exists("run/plots/samples.png"));
}

}  // namespace
}  // namespace thtrain
