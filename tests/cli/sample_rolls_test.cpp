// `thtrain sample`: piano rolls from an rnn_rbm and from a model of the next keys, and what it refuses.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "datasets/sources/piano_rolls.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// Pieces of 5 keys in which one key follows another: 0, 1 and 2, 3, 4, 0, ...
class CliSampleRolls : public testing::Test {
 protected:
  CliSampleRolls() {
    const std::string steps[] = {"0", "1 2", "3", "4"};
    std::string text;
    for (const char* set : {"train", "train", "train", "train", "valid", "test"})
      for (size_t first : {0u, 1u, 2u, 3u}) {
        text += str("@ ", set, ' ', 5 + first, " 5\n");
        for (size_t t = 0; t < 5 + first; ++t) text += steps[(first + t) % 4] + "\n";
      }
    workshop.write("pieces.txt", text);
    workshop.write("machine.toml", experiment(kMachine, "type = \"contrastive_divergence\"\nk = 2\n"));
    workshop.write("keys.toml", experiment(kKeys, "type = \"binary_crossentropy\"\n"));
  }
  static constexpr const char* kMachine =
      "[[model.layers]]\ntype = \"rnn_rbm\"\nname = \"machine\"\nunits = 6\nrecurrent_units = 4\n";
  static constexpr const char* kKeys =
      "[[model.layers]]\ntype = \"rnn\"\nunits = 12\n"
      "[[model.layers]]\ntype = \"dense\"\nname = \"next\"\nunits = 5\nactivation = \"sigmoid\"\n";
  static std::string experiment(const std::string& layers, const std::string& loss) {
    return "[data]\nsource = \"piano_rolls\"\nfile = \"pieces.txt\"\n" + layers + "[loss]\n" + loss +
           "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.05\nbatch_size = 4\nepochs = 2\n"
           "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
  }
  void train(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train", file, "--run-dir", "run", "--quiet", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = workshop.run(words);
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  std::string sample(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"sample", "run"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }
  std::string refused(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"sample", "run"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.out.empty());
    return without_resolved_lines(ended.err, workshop);
  }
  // As the source reads it; a piece of `steps` steps.
  PianoRolls read(std::string roll, int64_t steps) {
    const std::string first = str("@ sample ", steps, " 5\n");
    EXPECT_EQ(roll.substr(0, first.size()), first);
    const std::string file = workshop.path("roll.txt");
    workshop.write("roll.txt", roll.replace(0, 8, "@ train"));
    return read_piano_rolls(file).train;
  }
  Workshop workshop;
};

TEST_F(CliSampleRolls, DrawsStepsOfAMachine) {
  train("machine.toml");
  const std::string roll = sample({"--length", "30", "--gibbs", "4", "--seed", "3"});
  EXPECT_EQ(read(roll, 30).shape(), (Shape{1, 29, 5}));
  EXPECT_EQ(sample({"--length", "30", "--gibbs", "4", "--seed", "3"}), roll);
  EXPECT_NE(sample({"--length", "30", "--gibbs", "4", "--seed", "4"}), roll);
  EXPECT_NE(sample({"--length", "30", "--gibbs", "5", "--seed", "3"}), roll);
  EXPECT_EQ(read(sample({}), 200).shape(), (Shape{1, 199, 5}));
}

// Each step follows from the one before it, and the first one from steps that are left out.
TEST_F(CliSampleRolls, GoesOnWithTheKeysThatFollow) {
  train("keys.toml", {"trainer.epochs=60"});
  const PianoRolls roll = read(sample({"--length", "12", "--temperature", "0"}), 12);
  const std::map<std::string, std::string> next = {
      {"10000", "01100"}, {"01100", "00010"}, {"00010", "00001"}, {"00001", "10000"}};
  auto step = [](const Tensor& of, int64_t t) {
    std::string out;
    for (int64_t key = 0; key < 5; ++key) out += of.as_double(t * 5 + key) != 0 ? '1' : '0';
    return out;
  };
  EXPECT_TRUE(next.contains(step(roll.steps, 0))) << step(roll.steps, 0);
  int64_t followed = 0;
  for (int64_t t = 0; t < 11; ++t)
    if (auto found = next.find(step(roll.steps, t)); found != next.end()) {
      EXPECT_EQ(step(roll.steps, t + 1), found->second) << t;
      ++followed;
    }
  EXPECT_GE(followed, 8);
  const std::string drawn = sample({"--length", "40", "--temperature", "2", "--seed", "5"});
  EXPECT_EQ(sample({"--length", "40", "--temperature", "2", "--seed", "5"}), drawn);
  EXPECT_NE(sample({"--length", "40", "--temperature", "2", "--seed", "6"}), drawn);
}

TEST_F(CliSampleRolls, RefusesOptionsWithoutUse) {
  train("machine.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({"--start", "0"}),
            "error: thtrain sample: --start has no use: the run's model gives piano rolls, which no text begins\n"
            "  expected: no --start\n");
  EXPECT_EQ(refused({"--temperature", "2"}),
            "error: thtrain sample: --temperature has no use: an rnn_rbm draws its steps from a chain\n"
            "  expected: no --temperature\n");
}

TEST_F(CliSampleRolls, RefusesStepsOfChainsWithoutAMachine) {
  train("keys.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({"--gibbs", "2"}),
            "error: thtrain sample: --gibbs has no use: the run's model has no layer of type rnn_rbm\n"
            "  expected: no --gibbs\n");
}

TEST_F(CliSampleRolls, RefusesModelsThatTellNoKeys) {
  workshop.write("squares.toml", experiment(kKeys, "type = \"squared_error\"\n"));
  train("squares.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({}),
            "error: the output next does not tell the next keys of a piano roll\n"
            "  expected: the objective \"binary_crossentropy\", and at each step of a sequence the probabilities of 5 "
            "keys, or their logits\n"
            "  got:      the objective \"squared_error\", and at each step float32[1, 5]\n"
            "  config:   run/config.toml:LINE:1\n"
            "     LINE | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n");
}

TEST_F(CliSampleRolls, RefusesMachinesOnOtherLayers) {
  workshop.write("stack.toml",
                 experiment(str("[[model.layers]]\ntype = \"dense\"\nunits = 3\nactivation = \"sigmoid\"\n", kMachine),
                            "type = \"contrastive_divergence\"\n"));
  train("stack.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({}),
            "error: layer machine (rnn_rbm) takes what another layer gives: its visible units are no keys\n"
            "  expected: an rnn_rbm layer that takes the examples\n"
            "  config:   run/config.toml:LINE:1\n"
            "     LINE | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n");
}

TEST_F(CliSampleRolls, RefusesLayersThatGoBackwards) {
  train("keys.toml", {"trainer.epochs=1", "model.layers.0.go_backwards=true", "model.layers.0.name=memory"});
  EXPECT_EQ(refused({}),
            "error: layer memory walks sequences backwards: it cannot write piano rolls\n"
            "  expected: go_backwards = false\n"
            "  config:   run/config.toml:LINE:16\n"
            "     LINE | go_backwards = true\n"
            "        |                ^^^^\n");
}

}  // namespace
}  // namespace thtrain
