// `thtrain sweep --lr-range`: its table, its pictures, what it prints and what it leaves alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliLrRange : public testing::Test {
 protected:
  CliLrRange() { workshop.write("tiny.toml", tiny_experiment()); }
  Ended range(std::vector<std::string> more) {
    more.insert(more.begin(), {"sweep", "tiny.toml", "--lr-range", "compiler.mode=reference"});
    return workshop.run(more);
  }
  Workshop workshop;
};

TEST_F(CliLrRange, WritesATableAndPicturesAndNoRun) {
  const Ended ended = range({"--lr-from", "1e-3", "--lr-to", "1e5", "--lr-steps", "40"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find(" steps, learning rates from 0.001 to "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nstopped at "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nsuggestion: trainer.learning_rate="), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(", the steepest descent: there the smoothed loss falls fastest over the logarithm of the "
                           "rate\ntable lr_range.csv, picture lr_range.png, lr_range.svg\n"),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(workshop.list(), (std::vector<std::string>{"lr_range.csv", "lr_range.png", "lr_range.svg", "tiny.toml"}));
  const std::string table = workshop.read("lr_range.csv"), picture = workshop.read("lr_range.svg");
  EXPECT_TRUE(table.starts_with("step,learning_rate,loss,smoothed_loss\n1,0.001,")) << table;
  EXPECT_NE(picture.find("learning-rate range test of tiny.toml"), std::string::npos);
  EXPECT_NE(picture.find("steepest descent: "), std::string::npos);
  EXPECT_NE(picture.find("diverged at "), std::string::npos);
  // The same again, over what it wrote.
  const Ended again = range({"--lr-from", "1e-3", "--lr-to", "1e5", "--lr-steps", "40"});
  EXPECT_EQ(again.out, ended.out);
  EXPECT_EQ(workshop.read("lr_range.csv"), table);
  EXPECT_EQ(workshop.read("lr_range.svg"), picture);
  const auto json = one_json_line(range({"--lr-from", "1e-3", "--lr-to", "1e5", "--lr-steps", "40", "--json"}).out);
  EXPECT_EQ(json.at("first_rate"), "0.001");
  EXPECT_TRUE(json.contains("suggestion") && json.contains("diverged_at") && json.contains("pictures.1"));
}

TEST_F(CliLrRange, LeavesOtherFilesAlone) {
  workshop.write("lr_range.csv", "mine\n");
  const Ended ended = range({"--lr-steps", "10"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: lr_range.csv: there is a file of this name already\n"
            "  expected: no file, or one that `thtrain sweep --lr-range` wrote\n"
            "  hint:     --output NAME.png writes others\n");
  EXPECT_EQ(workshop.list(), (std::vector<std::string>{"lr_range.csv", "tiny.toml"}));
  ASSERT_EQ(range({"--lr-steps", "10", "--output", "other.png"}).code, 0);
  EXPECT_TRUE(workshop.exists("other.csv") && workshop.exists("other.png") && workshop.exists("other.svg"));
  // The name of the picture was typed, that of the table was not.
  workshop.write("third.csv", "mine\n");
  EXPECT_EQ(range({"--lr-steps", "10", "--output", "third.png"}).code, 2);
  EXPECT_EQ(workshop.read("third.csv"), "mine\n");
  EXPECT_FALSE(workshop.exists("third.png"));
}

// Before the training, not after it; no table is left without its picture.
TEST_F(CliLrRange, RefusesWhatCannotBeReplaced) {
  std::filesystem::create_directory(workshop.path("l.png"));
  const Ended ended = range({"--lr-steps", "10", "--output", "l.png"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: l.png: the file cannot be written\n"
            "  expected: a new name, or that of a file\n"
            "  got:      a folder\n");
  EXPECT_FALSE(workshop.exists("l.csv"));
  EXPECT_EQ(range({"--lr-steps", "1000000"}).err,
            "error: thtrain sweep: --lr-steps cannot be \"1000000\"\n"
            "  expected: an integer from 10 to 100000\n"
            "  hint:     `thtrain help sweep` lists the options\n");
}

TEST_F(CliLrRange, RefusesABatchMethodAndPhases) {
  workshop.write("cg.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 40\nn_test = 40\n"
                 "[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\noptimizer = \"conjugate_gradient\"\nepochs = 2\nbatch_size = 20\n");
  const Ended method = workshop.run({"sweep", "cg.toml", "--lr-range"});
  EXPECT_EQ(method.code, 2);
  EXPECT_EQ(method.err,
            "error: a range test needs an optimizer with a learning rate\n"
            "  expected: trainer.optimizer such as \"sgd\" or \"adam\"\n"
            "  got:      \"conjugate_gradient\", which finds the length of its steps by itself\n");
  workshop.write("phases.toml", tiny_experiment() + "[[phase]]\nname = \"first\"\n[[phase]]\nname = \"second\"\n");
  const Ended phases = workshop.run({"sweep", "phases.toml", "--lr-range"});
  EXPECT_EQ(phases.code, 2);
  EXPECT_EQ(phases.err,
            "error: a range test needs an experiment without [[phase]]\n"
            "  expected: one training, with one learning rate\n"
            "  got:      2 phases, each with its own\n");
  EXPECT_EQ(workshop.list(), (std::vector<std::string>{"cg.toml", "phases.toml", "tiny.toml"}));
}

}  // namespace
}  // namespace thtrain
