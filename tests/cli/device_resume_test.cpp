// Runs on a device that go on: with the bits that they would have had, and elsewhere only where that is asked for.
#include <gtest/gtest.h>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

TEST(CliDeviceResume, TheFolderPinsTheDevice) {
  Workshop workshop;
  auto trained = [&](const char* run, const char* epochs) {
    return workshop.run({"train", THTRAIN_SOURCE_DIR "/configs/labs/mlp_digits.toml", "compiler.device=emulated",
                         std::string("trainer.epochs=") + epochs, "data.n_train=200", "data.n_valid=100",
                         "data.n_test=100", "--run-dir", run, "--quiet"});
  };
  ASSERT_EQ(trained("whole", "3").code, 0);
  ASSERT_EQ(trained("parts", "1").code, 0);
  const std::string facts = workshop.read("parts/run.json");
  for (const char* pin : {"\"device\": \"emulated device, sm_75\"", "\"driver\": \"12.4\"", "\"kernels by\""})
    EXPECT_NE(facts.find(pin), std::string::npos) << pin << facts;
  ASSERT_EQ(workshop.shell("sed -i 's/^epochs = 1/epochs = 3/' parts/config.toml").code, 0);
  Ended ended = workshop.run({"resume", "parts", "--accept-edits", "--quiet"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(workshop.read("parts/best.npz"), workshop.read("whole/best.npz"));

  ASSERT_EQ(
      workshop.shell("sed -i 's/^epochs = 3/epochs = 4/; s/^device = \"emulated\"/device = \"cpu\"/' parts/config.toml")
          .code,
      0);
  ended = workshop.run({"resume", "parts", "--accept-edits"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("device: emulated device, sm_75 then, not known now"), std::string::npos) << ended.err;
  EXPECT_TRUE(
      ended.err.ends_with("  hint:     the run began on another device, or on the processor: with that "
                          "compiler.device, on that card, it goes\n"
                          "            on with the same bits;\n"
                          "            --allow-different-bits goes on all the same\n"))
      << ended.err;
  ended = workshop.run({"resume", "parts", "--accept-edits", "--allow-different-bits", "--quiet"});
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace thtrain
