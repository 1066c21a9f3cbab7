// `thtrain sweep` where data changes, the table cannot be written, or two points are one experiment.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class CliSweepFaults : public testing::Test {
 protected:
  CliSweepFaults() {
    workshop.write("tiny.toml", tiny_experiment() + "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  Workshop workshop;
};

TEST_F(CliSweepFaults, ItDoesNotGoOnWithOtherData) {
  std::string table = "x,y\n";
  for (int i = 0; i < 40; ++i) table += str(i, ",", i % 2, "\n");
  workshop.write("rows.csv", table);
  workshop.write("rows.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"rows.csv\"\nlabel_column = \"y\"\n[[model.layers]]\n"
                 "type = \"softmax\"\n[trainer]\nbatch_size = 20\nepochs = 1\n[compiler]\nmode = \"reference\"\n"
                 "[output]\nplots = false\n");
  const std::vector<std::string> command = {"sweep", "rows.toml", "--run-dir", "s", "seed=1,2", "--quiet"};
  Ended ended = workshop.run(command);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s", "--quiet"}).code, 0);
  fs::remove_all(workshop.path("s/seed=2"));
  workshop.write("rows.csv", table.replace(4, 1, "7"));
  const std::string path = fs::canonical(workshop.path("rows.csv")).string();
  for (const std::vector<std::string>& words : {command, {"sweep", "--resume", "s"}}) {
    ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(std::regex_match(
        ended.err, std::regex("error: s: " + path +
                              ".*: the data is not what it was when the sweep began\n"
                              "  expected: training data: [0-9]+ examples [0-9a-f]+\n"
                              "  got:      training data: [0-9]+ examples [0-9a-f]+\n"
                              "  hint:     put the data back as it was, or begin a sweep in another folder\n")))
        << ended.err;
    EXPECT_FALSE(workshop.exists("s/seed=2"));
  }
}

TEST_F(CliSweepFaults, ATableThatCannotBeWrittenIsAWarning) {
  const std::vector<std::string> command = {"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2", "trainer.epochs=1"};
  ASSERT_EQ(workshop.run(command).code, 0);
  fs::remove(workshop.path("s/sweep.csv"));
  fs::create_directories(workshop.path("s/sweep.csv/inner"));
  fs::remove_all(workshop.path("s/seed=2"));
  const Ended ended = workshop.run({"sweep", "--resume", "s"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "thtrain: warning: s/sweep.csv: the file cannot be written: a folder\n");
  EXPECT_NE(ended.out.find("\n2 of 2  seed=2  "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n  seed  validation error  "), std::string::npos) << ended.out;
  EXPECT_TRUE(ended.out.ends_with("\n2 of 2 runs finished\nsweep folder s\n")) << ended.out;
}

TEST_F(CliSweepFaults, PointsThatAreOneExperimentAreRefused) {
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "seed=1..2", "trainer.learning_rate=0.1,0.10,1e-1"}).err,
            "error: two runs of the sweep are one experiment\n"
            "  expected: values that differ once they are read\n"
            "  got:      seed=1 trainer.learning_rate=0.1, and seed=1 trainer.learning_rate=0.10\n"
            "  config:   command line:2:27\n"
            "      2 | trainer.learning_rate=0.1,0.10,1e-1\n"
            "        |                           ^^^^\n"
            "error: two runs of the sweep are one experiment\n"
            "  expected: values that differ once they are read\n"
            "  got:      seed=1 trainer.learning_rate=0.1, and seed=1 trainer.learning_rate=1e-1\n"
            "  config:   command line:2:32\n"
            "      2 | trainer.learning_rate=0.1,0.10,1e-1\n"
            "        |                                ^^^^\n");
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "model.layers.0.units=4,5", "model.layers.00.units=4,5"}).err,
            "error: two runs of the sweep are one experiment\n"
            "  expected: values that differ once they are read\n"
            "  got:      model.layers.0.units=4 model.layers.00.units=4, and model.layers.0.units=5 "
            "model.layers.00.units=4\n"
            "  config:   command line:1:24\n"
            "      1 | model.layers.0.units=4,5\n"
            "        |                        ^\n");
}

TEST_F(CliSweepFaults, AMessageOfARunWithoutPhasesNamesNone) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "seed=1,2", "data.class_names=[\"a\"]"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.starts_with("error: data.class_names ")) << ended.err;
}

}  // namespace
}  // namespace thtrain
