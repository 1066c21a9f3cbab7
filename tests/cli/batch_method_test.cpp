// Batch methods on the command line: what an epoch's line, the end, metrics.jsonl and the other commands say.
#include <gtest/gtest.h>

#include <regex>

#include "cli/progress.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

const char* const kExperiment =
    "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 40\nn_test = 40\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\noptimizer = \"lbfgs\"\ngradient_tolerance = 0.02\nbatch_size = 30\nepochs = 100\n"
    "[compiler]\nthreads = 1\nmode = \"reference\"\n"
    "[output]\nplots = false\n";

TEST(CliBatchMethods, AnEpochSaysItsEvaluationsAndTheEndWhyItEnded) {
  Workshop workshop;
  workshop.write("e.toml", kExperiment);
  Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(std::regex_search(ended.out, std::regex("epoch   1  train loss .*  [0-9]+ evaluations?  [0-9]")))
      << ended.out;
  EXPECT_TRUE(
      std::regex_search(ended.out, std::regex("\nconverged after epoch [0-9]+: the largest element of the gradient "
                                              "is at most gradient_tolerance, [0-9]+ steps, [0-9]+ "
                                              "evaluations, ")))
      << ended.out;
  EXPECT_TRUE(
      std::regex_search(workshop.read("run/metrics.jsonl"), std::regex("\"evaluations\": [0-9]+, \"seconds\"")));
  ended = workshop.run({"train", "e.toml", "trainer.epochs=2", "--json"});
  const auto summary = one_json_line(ended.out);
  EXPECT_EQ(summary.at("converged"), "");
  EXPECT_GE(std::stoi(summary.at("evaluations")), 3);
}

TEST(CliBatchMethods, CheckAndExplainShowTheFunctionOfAChunk) {
  Workshop workshop;
  workshop.write("e.toml", kExperiment);
  Ended ended = workshop.run({"check", "e.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("loss of the first minibatch: 2.302585"), std::string::npos) << ended.out;
  ended = workshop.run({"explain", "e.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("gradient_sum/softmax/W"), std::string::npos) << ended.out;
}

TEST(CliBatchMethods, TheLineOfAnEpoch) {
  EpochReport report{.epoch = 3, .train_loss = 0.5, .valid_error = 7.5, .seconds = 1.25};
  report.evaluations = 1;
  EXPECT_EQ(epoch_text(report, 20), "epoch  3  train loss 0.5000  valid error 7.50 %  1 evaluation  1.250 s");
  report = {.epoch = 3,
            .train_loss = 0.412345,
            .valid_error = 7.5,
            .test_error = 7.25,
            .seconds = 1.25,
            .best = true,
            .train_error = 7.0,
            .valid_loss = 0.0512341};
  EXPECT_EQ(epoch_text(report, 1000),
            "epoch    3  train loss 0.4123, error 7.00 %  valid 0.051234, 7.50 %  test 7.25 %  1.250 s  best");
  report.others = {{.valid = 0.875}};
  EXPECT_EQ(epoch_text(report, 3, {{}, {"f1", "", true}}),
            "epoch 3  train loss 0.4123, error 7.00 %  valid 0.051234, 7.50 %, f1 0.8750  test 7.25 %  1.250 s  best");
  report = {.epoch = 1, .train_loss = 1e9, .valid_error = 2e-5, .seconds = 1.25};  // of the loss alone
  EXPECT_EQ(epoch_text(report, 9, {{"loss", "", false}}), "epoch 1  train loss 1.0000e+09  valid 0.000020  1.250 s");
}

}  // namespace
}  // namespace thtrain
