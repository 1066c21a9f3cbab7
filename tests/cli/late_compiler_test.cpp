// The compiler is stopped, ended or fails when steps were done already: none of them is lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <sstream>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// Compiles and links the first program that it is given at once: the training step. With all others it does what
// `later` says, until the file "go" is there.
class LateCompiler : public testing::Test {
 protected:
  LateCompiler()
      : compiler_("THTRAIN_CXX", workshop.path("late-g++").c_str()),
        cache_("THTRAIN_CACHE_DIR", workshop.path("cache").c_str()) {
    workshop.write("tiny.toml", tiny_experiment());
  }

  void write_compiler(const std::string& later) {
    workshop.write("late-g++",
                   "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\nhere=${0%/*}\n"
                   "[ -e \"$here/go\" ] && exec g++ \"$@\"\n"
                   "if [ ! -e \"$here/first\" ]; then\n"
                   "  g++ \"$@\" || exit\n"
                   "  case $* in *' -c '*) ;; *) touch \"$here/first\";; esac\n"
                   "  exit 0\nfi\n" +
                       later);
    ASSERT_EQ(::chmod(workshop.path("late-g++").c_str(), 0755), 0);
  }
  Tensor position(const std::string& folder) {
    return read_npz(workshop.path(folder + "/checkpoint.npz")).at("run.position");
  }
  // The stopped run "run" goes on to the bits of one that was not stopped.
  void expect_same_end() {
    workshop.write("go", "");
    Ended ended = workshop.run({"resume", "run", "--quiet"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "whole", "--quiet"}).code, 0);
    EXPECT_TRUE(workshop.read("run/best.npz") == workshop.read("whole/best.npz"));
    EXPECT_EQ(without_seconds(workshop.read("run/metrics.jsonl")),
              without_seconds(workshop.read("whole/metrics.jsonl")));
    auto left = read_npz(workshop.path("run/checkpoint.npz")), right = read_npz(workshop.path("whole/checkpoint.npz"));
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [name, value] : left)
      if (name != "run.history" && name != "run.epoch") {  // they hold seconds
        EXPECT_TRUE(right.contains(name) && same_bits(value, right.at(name))) << name;
      }
  }

  Workshop workshop;
  EnvironmentVariable compiler_, cache_;
};

// The first error count waits, behind a checkpoint of the step that the run has reached.
TEST_F(LateCompiler, AnInterruptWhileItIsWaitedForKeepsEveryStep) {
  write_compiler("touch \"$here/begun\"\nwhile [ ! -e \"$here/go\" ]; do sleep 0.01; done\nexec g++ \"$@\"\n");
  pid_t process = workshop.start({"train", "tiny.toml", "--run-dir", "run", "--quiet"});
  ASSERT_TRUE(wait_until([&] {
    return workshop.exists("begun") && workshop.exists("run/checkpoint.npz") && position("run").as_int(2) == 10;
  })) << workshop.read("log");
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  std::string log = workshop.read("log");
  EXPECT_TRUE(log.starts_with("stopping; the compiler is ended\ninterrupted in epoch 1, 10 steps, ")) << log;
  EXPECT_TRUE(log.ends_with("\n`thtrain resume run` continues the run\n")) << log;
  EXPECT_EQ(position("run").as_int(0), 0);  // the epoch is not over: its errors are still to be counted
  EXPECT_EQ(position("run").as_int(2), 10);
  EXPECT_FALSE(workshop.exists("run/metrics.jsonl"));
  expect_same_end();
}

// Neither in an epoch's seconds nor in the budget of them: each program takes longer than all of it.
TEST_F(LateCompiler, WaitingForItIsNoTrainingTime) {
  write_compiler("sleep 3\nexec g++ \"$@\"\n");
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "run", "--json", "--quiet", "trainer.max_seconds=2"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::map<std::string, std::string> summary = one_json_line(ended.out);
  EXPECT_EQ(summary["epochs"], "3");
  EXPECT_FALSE(summary.contains("out_of_time"));
  std::istringstream lines(workshop.read("run/metrics.jsonl"));
  double seconds = 0;
  for (std::string line; std::getline(lines, line);) seconds += std::stod(read_json(line, "metrics.jsonl")["seconds"]);
  EXPECT_LT(seconds, 2);
  EXPECT_NEAR(std::stod(summary["seconds"]), seconds, 1e-5);
}

TEST_F(LateCompiler, ThatTakesTooLongLeavesACheckpoint) {
  write_compiler("exec sleep 100\n");
  EnvironmentVariable limit("THTRAIN_COMPILE_LIMIT", "5");
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.starts_with("error: the compiler did not end within 5 s, and was ended\n")) << ended.err;
  EXPECT_TRUE(
      ended.err.ends_with(";\n            the checkpoint of step 10 is kept: `thtrain resume run` goes on from it\n"))
      << ended.err;
  EXPECT_EQ(position("run").as_int(2), 10);
  expect_same_end();
}

// As soon as it is known, though the errors are counted at the end of an epoch that takes long.
TEST_F(LateCompiler, ThatFailsEndsTheRunInItsFirstEpoch) {
  // One that compiles small programs: else it would be called incomplete.
  write_compiler(
      "case $* in *small_program*) exec g++ \"$@\";; esac\necho 'internal compiler error: in f' >&2; exit 4\n");
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet", "trainer.epochs=1",
                              "trainer.batch_size=1", "data.n_train=20000"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(
      ended.err.starts_with("error: generated code did not compile\n"
                            "  got:      internal compiler error: in f\n"))
      << ended.err;
  int64_t step = position("run").as_int(2);
  EXPECT_GT(step, 0);
  EXPECT_LT(step, 20000);
  std::string kept = ";\n            the checkpoint of step " + std::to_string(step) +
                     " is kept: `thtrain resume run` goes on from it\n"
                     "  hint:     this is a fault of thtrain, not of your input: please report it\n";
  EXPECT_TRUE(ended.err.ends_with(kept)) << ended.err;
}

}  // namespace
}  // namespace thtrain
