// Sequences at the command line: what `data` tells of them, `predict` of what they give at each step, and the bar.
#include <gtest/gtest.h>

#include "cli/progress.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

constexpr const char* kStrings =
    "[data]\nsource = \"reber\"\nn_train = 40\nn_valid = 20\nn_test = 0\nseed = 5\n"
    "[[model.layers]]\ntype = \"rnn\"\nunits = 4\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 8\nepochs = 1\nfull_batches_only = false\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";

TEST(CliSequences, DataTellsOfTheirStepsAndWhatIsBehindTheirEnds) {
  Workshop workshop;
  workshop.write("e.toml", kStrings);
  Ended ended = workshop.run({"data", "e.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(
      ended.out.starts_with("reber: 7 classes by step, in memory\n\n"
                            "train\n"
                            "  sequences  40 of 8 to 20 steps, of [7] each; 423 steps\n"
                            "  x          uint8[40, 20 steps, 7], the generator \"reber\", seed 5\n"
                            "  y          int64[40, 20 steps], the generator \"reber\", seed 5\n"
                            "  lengths    int64[40], the generator \"reber\", seed 5\n"
                            "  range      0 to 1, mean 0.142857 (scaled)\n"))
      << ended.out;
  // A mean of one seventh: nothing that follows an end is counted. So are the classes.
  std::map<std::string, std::string> facts = one_json_line(workshop.run({"data", "e.toml", "--json"}).out);
  int64_t sum = 0;
  for (int c = 0; c < 7; ++c) sum += std::stoll(facts.at("train.labels." + std::to_string(c)));
  EXPECT_EQ(std::to_string(sum), facts.at("train.steps"));
}

TEST(CliSequences, PredictionsOfStepsHaveALineForEach) {
  Workshop workshop;
  workshop.write("e.toml", kStrings);
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"}).code, 0);
  write_npy(workshop.path("x.npy"), Tensor::zeros(DType::kUInt8, {3, 5, 7}));
  Ended ended = workshop.run({"predict", "run", "--input", "x.npy", "--output", "p.npy", "--probabilities"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(read_npy(workshop.path("p.npy")).type_text(), "float32[3, 5, 7]");
  ended = workshop.run({"predict", "run", "--input", "x.npy", "--output", "p.csv"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string table = workshop.read("p.csv");
  EXPECT_TRUE(table.starts_with("id,step,class\n0,0,")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 16) << table;
  write_npy(workshop.path("x.npy"), Tensor::zeros(DType::kUInt8, {3}));
  ended = workshop.run({"predict", "run", "--input", "x.npy", "--output", "p.npy"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: x.npy: the examples are no sequences\n"
            "  expected: an array of sequences, steps and numbers of a step\n"
            "  got:      uint8[3]\n");
}

TEST(CliSequences, LengthsNeedSequences) {
  Workshop workshop;
  workshop.write("e.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\ntrain_lengths = \"l.npy\"\n"
                 "valid_lengths = \"v.npy\"\n[[model.layers]]\ntype = \"softmax\"\n");
  EXPECT_EQ(workshop.run({"data", "e.toml"}).err,
            "error: data.train_lengths has no effect\n"
            "  expected: data.sequences = true\n"
            "  config:   e.toml:5:17\n"
            "      5 | train_lengths = \"l.npy\"\n"
            "        |                 ^^^^^^^\n"
            "error: data.valid_lengths has no effect\n"
            "  expected: data.sequences = true\n"
            "  config:   e.toml:6:17\n"
            "      6 | valid_lengths = \"v.npy\"\n"
            "        |                 ^^^^^^^\n");
  EXPECT_EQ(workshop.run({"data", "e.toml", "data.sequences=true"}).err,
            "error: data.valid is missing\n"
            "  expected: a file to go with data.valid_lengths\n"
            "  config:   e.toml:6:17\n"
            "      6 | valid_lengths = \"v.npy\"\n"
            "        |                 ^^^^^^^\n");
}

TEST(CliSequences, TheBarCountsSteps) {
  EXPECT_EQ(bar_text({.epoch = 2,
                      .batch = 1,
                      .batches = 10,
                      .train_loss = 0.5,
                      .examples_per_second = 10,
                      .steps = 250,
                      .steps_of_epoch = 1000,
                      .steps_per_second = 12345},
                     9, 200),
            "epoch 2/9 [======                  ]  25 %  loss 0.5000  12,345 steps/s");
}

}  // namespace
}  // namespace thtrain
