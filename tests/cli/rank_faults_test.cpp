// `mpirun -n N thtrain train` where ranks differ, fail, hang or are killed: what is said, and that jobs go on.
#include <cstdlib>
#include <filesystem>

#include "tests/cli/rank_jobs.h"
#include "tests/support/faulty_run.h"

namespace thtrain::ranks_test {

TEST(ManyRanks, ThatWouldNotComputeAlikeAreNamed) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended = at.shell(str(kLauncher, "2 sh -c 'OMP_NUM_THREADS=$((1 + OMPI_COMM_WORLD_RANK)) ",
                                   "exec \"$THTRAIN\" train e.toml --run-dir run'"));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_NE(ended.err.find(" would not compute alike\n"
                           "  expected: the same binary, experiment, data, threads and kind of processor\n"
                           "  got:      threads: 1 and 2\n"),
            std::string::npos)
      << ended.err;
  EXPECT_FALSE(at.exists("run"));
}

// "/proc/self/cwd/run" is another folder for each of them, as on machines that share no file system.
TEST(ManyRanks, ThatSeeOtherFoldersAreNamed) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  auto expect = [&](const std::string& words, const std::string& text) {
    const Ended ended =
        at.shell(str(kLauncher, "2 sh -c 'cd machine$OMPI_COMM_WORLD_RANK && exec \"$THTRAIN\" ", words, "'"));
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(first_error(ended), str("error: rank 1 (", host(), text,
                                      "/proc/self/cwd/run\n  expected: a file system that all ranks share\n"
                                      "  hint:     --run-dir names a folder on one\n"));
  };
  const std::string train = "train ../e.toml --quiet --run-dir /proc/self/cwd/run";
  const std::string resume = "resume /proc/self/cwd/run --quiet trainer.epochs=4";
  ASSERT_EQ(at.shell("mkdir machine0 machine1").code, 0);
  expect(train, ") does not see the folder of the run: ");
  ASSERT_EQ(launch(at, 1, "train e.toml --quiet --run-dir machine0/run --until-epoch 1").code, 0);
  expect(resume, ") does not see the folder of the run: ");
  // The one there is a step further.
  ASSERT_EQ(at.shell("cp -r machine0/run machine1/run").code, 0);
  ASSERT_EQ(launch(at, 1, "resume machine1/run --quiet --until-epoch 2").code, 0);
  expect(resume, ") sees another folder of a run than rank 0: ");
  ASSERT_EQ(at.shell("rm -r machine0/run").code, 0);
  expect(train, ") sees another folder of a run than rank 0: ");
}

TEST(ManyRanks, ALossThatIsNotFiniteIsTracedToItsShard) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended =
      launch(at, 2, "train e.toml --quiet --run-dir run trainer.optimizer=sgd trainer.learning_rate=1e38");
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_NE(ended.err.find(" not finite: epoch 1, minibatch "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(" is from before it and all finite"), std::string::npos) << ended.err;
}

TEST(ManyRanks, OneThatHangsEndsTheJob) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended = at.shell(
      str("THTRAIN_RANK_SECONDS=2 ", kLauncher, "2 sh -c 'exec \"$THTRAIN\" train e.toml --quiet --run-dir run ",
          "trainer.epochs=1000000' & job=$!\n", "until [ -s run/metrics.jsonl ]; do sleep 0.1; done\n",
          "kill -STOP $(pgrep -P $job | tail -n 1)\nwait $job"));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_NE(ended.err.find("rank 1 ("), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(" seconds, and rank 0 ("), std::string::npos) << ended.err;
}

// A disk that takes longer for a checkpoint, and for the lines of an epoch, than ranks wait for a message.
TEST(ManyRanks, WaitForASlowDisk) {
  TH_NEEDS_MPI();
  if (!kHasFaults) GTEST_SKIP() << "nothing may be loaded before a sanitizer";
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer + "checkpoint_epochs = 1\n");
  for (const char* fault : {"fsync run/checkpoint.npz*", "write run/metrics.jsonl*"}) {  // after the first epoch
    const Ended ended =
        at.shell(str("rm -rf run; export THTRAIN_RANK_SECONDS=2; ", kLauncher,
                     "2 env LD_PRELOAD=" THTRAIN_FAILING_CALLS " THTRAIN_FAULT='", fault,
                     " 2 1 slow' THTRAIN_FAULT_LOG=\"$PWD\"/slow \"$THTRAIN\" train e.toml --quiet ", "--run-dir run"));
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  const std::string slow = at.read("slow");
  EXPECT_NE(slow.find("checkpoint.npz"), std::string::npos) << slow;
  EXPECT_NE(slow.find("metrics.jsonl"), std::string::npos) << slow;
}

int wanted_kills() {
  const char* text = std::getenv("THTRAIN_RANK_KILLS");
  return text ? std::atoi(text) : 10;
}

// One rank is killed at a random moment; the job ends, and goes on with a random number of ranks.
TEST(ManyRanks, KilledJobsEndWithTheBitsOfOneThatWasNot) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("memory_limit = 1e-7\nshuffle_window = 50\n") + kDense + kTrainer +
                         "checkpoint_seconds = 0.02\ncheckpoint_epochs = 1\n");
  const std::string epochs = str("trainer.epochs=", 120);
  ASSERT_EQ(launch(at, 1, str("train e.toml --quiet --run-dir whole ", epochs)).code, 0);
  RandomState random(7);
  int kills = 0;
  for (int left = wanted_kills(), run = 0; left > 0; ++run) {
    const std::string folder = str("run", run);
    bool has_begun = false;
    for (;; has_begun = has_begun || at.exists(folder + "/checkpoint.npz")) {
      const int size = 2 << random.integer(0, 2);
      const std::string words =
          has_begun ? str("resume ", folder, " --quiet") : str("train e.toml --quiet --run-dir ", folder, ' ', epochs);
      const double seconds = left > 0 ? random.uniform(0.3, 4) : 1000;
      const Ended ended = at.shell(str(kLauncher, size, " \"$THTRAIN\" ", words, " & job=$!\n(sleep ", seconds,
                                       "; kill -9 $(pgrep -P $job | ", "tail -n ", random.integer(1, size + 1),
                                       " | head -n 1)) >/dev/null 2>&1 & killer=$!\n",
                                       "wait $job; code=$?\nkill $killer 2>/dev/null\nexit $code"));
      if (ended.code == 0) break;
      --left;
      ++kills;
      ASSERT_EQ(ended.err.find("error: "), std::string::npos) << ended.err;
    }
    expect_same_run(at, "whole", folder);
  }
  EXPECT_GE(kills, wanted_kills());
}

}  // namespace thtrain::ranks_test
