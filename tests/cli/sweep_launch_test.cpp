// `thtrain sweep --launch`: each run by a launcher.
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

const std::vector<std::string> kWords = {
    "sweep", "tiny.toml", "trainer.learning_rate=0.1,0.01", "--jobs", "2", "--threads", "1", "--run-dir"};

TEST_F(CliSweep, ALauncherStartsItsRuns) {
  workshop.write("launch.sh", "echo \"$1\" >> launched\nshift\nexec \"$@\"\n");
  std::vector<std::string> plain = kWords, launched = kWords;
  plain.push_back("plain");
  launched.insert(launched.end(), {"by", "--launch", "sh launch.sh  -n1"});
  ASSERT_EQ(workshop.run(plain).code, 0);
  const Ended ended = workshop.run(launched);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(workshop.read("launched"), "-n1\n-n1\n");
  EXPECT_EQ(without_seconds_column(workshop.read("by/sweep.csv")),
            without_seconds_column(workshop.read("plain/sweep.csv")));
  for (const char* run : {"/learning_rate=0.1/best.npz", "/learning_rate=0.01/best.npz"})
    EXPECT_EQ(workshop.read(str("by", run)), workshop.read(str("plain", run)));
}

// As ssh does.
TEST_F(CliSweep, ALauncherMayBeginInAnotherFolderAndEnvironment) {
  workshop.write("launch.sh", "cd /\nexec env -u OMP_NUM_THREADS \"$@\"\n");
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"by", "--launch", "sh launch.sh"});
  const Ended ended = workshop.run(words);
  ASSERT_EQ(ended.code, 0) << ended.err << ended.out;
  for (const char* run : {"by/learning_rate=0.1/run.json", "by/learning_rate=0.01/run.json"})
    EXPECT_NE(workshop.read(run).find("\"threads\": \"1\""), std::string::npos) << workshop.read(run);
}

TEST_F(CliSweep, ALauncherThatIsNotThereFailsItsRuns) {
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"by", "--launch", "no-such-launcher -n1"});
  const Ended ended = workshop.run(words);
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("the process of a run cannot be started"), std::string::npos) << ended.out;
}

constexpr const char* kNothingBegan =
    "error: the launcher ended before any run began\n"
    "  expected: a launcher that runs the command behind its own words, and waits for its end\n"
    "  got:      true -n1\n"
    "  hint:     `srun` and `ssh` wait; `sbatch` does with --wait\n";

TEST_F(CliSweep, ALauncherThatRunsNothingIsOneMistake) {
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"by", "--quiet", "--launch", "true -n1"});
  const Ended ended = workshop.run(words);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, kNothingBegan);
}

// One that ends before its command does: the others go on.
TEST_F(CliSweep, ALauncherThatLosesARunFailsThat) {
  workshop.write("launch.sh",
                 "case $* in *=0.01*) until [ -e by/learning_rate=0.1 ]; do sleep 0.1; done; exit 0;; esac\n"
                 "exec \"$@\"\n");
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"by", "--launch", "sh launch.sh"});
  const Ended ended = workshop.run(words);
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("failed: the launcher ended before its run did: sh launch.sh\n"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("1 of 2 runs finished, 1 failed\n"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace thtrain
