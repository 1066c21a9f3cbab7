// What the loss of a restricted Boltzmann machine is called, and the objective that it needs.
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

constexpr const char* kMachine =
    "[data]\nsource = \"digits\"\nn_train = 100\nn_valid = 40\nn_test = 20\n"
    "[[model.layers]]\ntype = \"rbm\"\nname = \"machine\"\nunits = 6\n"
    "[loss]\ntype = \"contrastive_divergence\"\n"
    "[trainer]\nepochs = 1\nbatch_size = 20\nlearning_rate = 0.01\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";

TEST(CliMachineLoss, HasANameWhereItIsMeasured) {
  Workshop workshop;
  workshop.write("e.toml", kMachine);
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"}).code, 0);
  Ended ended = workshop.run({"eval", "run"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with("test loss ")) << ended.out;
  EXPECT_TRUE(ended.out.ends_with(" (minus the pseudo-likelihood)\nweights run/best.npz\n")) << ended.out;
  const std::string weights = workshop.path("run/best.npz");
  ended = workshop.run({"eval", "e.toml", "model.layers.0.visible=gaussian", "--weights", weights});
  EXPECT_TRUE(ended.out.ends_with(" (the error of the reconstruction)\nweights " + weights + "\n")) << ended.out;
}

TEST(CliMachineLoss, OtherObjectivesAreToldOfContrastiveDivergence) {
  Workshop workshop;
  workshop.write("e.toml", kMachine);
  const Ended ended = workshop.run({"check", "e.toml", "loss.type=squared_error"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: objective \"squared_error\" cannot take these targets\n"
            "  expected: float32[20, 6] (values)\n"
            "  got:      int64[20] for an output float32[20, 6]\n"
            "  config:   e.toml:10:1\n"
            "     10 | [loss]\n"
            "        | ^^^^^^\n"
            "  hint:     loss.type = \"contrastive_divergence\" trains the layer machine, without targets\n");
}

}  // namespace
}  // namespace thtrain
