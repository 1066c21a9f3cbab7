// What is told where a run folder, a file of it and an experiment file are taken for each other, and where files of a
// run are gone or damaged.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class RunHints : public testing::Test {
 protected:
  RunHints() {
    workshop.write("tiny.toml",
                   "seed = 7\n[data]\nsource = \"csv\"\ntrain = \"t.csv\"\nn_valid = 4\ntest = \"t.csv\"\n"
                   "[[model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 3\n"
                   "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 4\nepochs = 1\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
    std::string rows = "a,b,label\n";
    for (int i = 0; i < 20; ++i) rows += i % 2 ? "0.5,1.5,1\n" : "1.5,0.25,0\n";
    workshop.write("t.csv", rows);
    EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet"}).code, 0);
  }
  // Standard error, with the workshop's path as HERE, after a line end.
  std::string error_of(const std::vector<std::string>& arguments, int code = 2) {
    Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, code) << ended.err;
    return "\n" + replaced(ended.err, workshop.path(), "HERE");
  }
  Workshop workshop;
};

TEST_F(RunHints, AFolderAndAFileThatAreTakenForEachOther) {
  EXPECT_EQ(error_of({"resume", "run/config.toml"}), R"(
error: run/config.toml: this is a file, and no run folder
  expected: a folder that `thtrain train` made
  hint:     `thtrain resume run` goes on with the run in its folder
)");
  EXPECT_EQ(error_of({"resume", "tiny.toml"}), R"(
error: tiny.toml: this is a file, and no run folder
  expected: a folder that `thtrain train` made
  hint:     `thtrain train tiny.toml` begins a run of this experiment
)");
  EXPECT_EQ(error_of({"train", "run/"}), R"(
error: run: this is the folder of a run, and no experiment file
  expected: a TOML file
  hint:     `thtrain resume run` goes on with that run;
            `thtrain train run/config.toml` begins a new run of its experiment
)");
}

TEST_F(RunHints, DataThatWasMoved) {
  fs::rename(workshop.path("t.csv"), workshop.path("moved.csv"));
  std::string text = error_of({"resume", "run"});
  EXPECT_TRUE(text.starts_with("\nerror: HERE/t.csv: no such file\n")) << text;
  EXPECT_TRUE(
      text.ends_with("\n  hint:     where the data was moved: set data.train in run/config.toml, then "
                     "`thtrain resume run --accept-edits`\n"))
      << text;
  text = error_of({"eval", "run"});
  EXPECT_TRUE(text.ends_with(
      "\n  hint:     where the data was moved: `data.train=NEW` behind the command names the new path\n"))
      << text;
  EXPECT_EQ(error_of({"eval", "run", "data.train=moved.csv", "data.test=moved.csv"}, 0), "\n");
  text = error_of({"train", "tiny.toml"});
  EXPECT_EQ(text.find("moved"), std::string::npos) << text;
}

TEST_F(RunHints, AFolderWithoutRunJson) {
  fs::remove(workshop.path("run/run.json"));
  for (const char* command : {"resume", "eval"})
    EXPECT_EQ(error_of({command, "run"}), R"(
error: run: this is no run folder, or no longer: it holds no run.json
  expected: a folder that `thtrain train` made, with config.toml and run.json
  hint:     put run.json back from a copy; `thtrain train run/config.toml` begins another run;
            `thtrain eval run/config.toml --weights run/best.npz` measures its weights
)");
  EXPECT_EQ(error_of({"eval", "run/config.toml", "--weights", "run/best.npz"}, 0), "\n");
}

TEST_F(RunHints, ADamagedCheckpointWithBestWeights) {
  std::string bytes = workshop.read("run/checkpoint.npz");
  workshop.write("run/checkpoint.npz", bytes.substr(0, bytes.size() / 2));
  std::string text = error_of({"resume", "run"});
  EXPECT_TRUE(text.starts_with("\nerror: run/checkpoint.npz: ")) << text;
  EXPECT_TRUE(
      text.ends_with(";\n            `thtrain train run/config.toml model.weights=run/best.npz` begins a new run with "
                     "the best weights of this one\n"))
      << text;
  EXPECT_EQ(error_of({"train", "run/config.toml", "model.weights=run/best.npz"}, 0), "\n");
  fs::remove(workshop.path("run/best.npz"));
  EXPECT_EQ(error_of({"resume", "run"}).find("best"), std::string::npos);
}

TEST_F(RunHints, AnEditThatTheCheckpointDoesNotFit) {
  std::string config = workshop.read("run/config.toml");
  workshop.write("run/config.toml", replaced(config, "units = 3", "units = 5"));
  std::string text = error_of({"resume", "run", "--accept-edits", "--allow-different-bits"});
  EXPECT_TRUE(text.starts_with("\nerror: run/checkpoint.npz: hidden/W does not fit the model\n")) << text;
  EXPECT_TRUE(
      text.ends_with("the experiment was edited since the checkpoint: model.layers.0.units: 3 then, 5 now;\n"
                     "            weights of another model cannot go on: undo the edit, or train another run\n"))
      << text;
}

TEST_F(RunHints, ASlashBehindTheFolder) {
  Ended ended = workshop.run({"resume", "run//"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nrun folder run\n"), std::string::npos) << ended.out;
}

// A new run whose first step is not done yet, or gave a loss that is not finite, has a checkpoint of step 0 alone.
TEST_F(RunHints, WeightsThatNothingTrained) {
  EXPECT_EQ(
      workshop.run({"train", "tiny.toml", "--run-dir", "bad", "--quiet", "trainer.learning_rate=1e30", "loss.l2=1"})
          .code,
      3);
  ASSERT_FALSE(workshop.exists("bad/best.npz"));
  const std::string warning =
      "\nwarning: bad/checkpoint.npz: these are the first weights of the run, of step 0: nothing was trained yet\n";
  EXPECT_EQ(error_of({"eval", "bad"}, 0), warning);
  workshop.write("x.csv", "a,b\n0.5,1.5\n");
  EXPECT_EQ(error_of({"predict", "bad", "--input", "x.csv", "--output", "p.csv"}, 0), warning);
  EXPECT_EQ(error_of({"eval", "run"}, 0), "\n");
  Ended ended = workshop.run({"predict", "run", "--input", "x.csv", "--output", "p.csv"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nweights run/best.npz\n"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace thtrain
