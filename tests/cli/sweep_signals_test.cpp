// `thtrain sweep` after signals and kills.
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

TEST_F(CliSweep, SignalsAndKillsLeaveTheSameTable) {
  const Ended whole = workshop.run(slow("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;

  // Ctrl-C: runs end with a checkpoint, and none is begun.
  pid_t process = workshop.start(slow("stopped"));
  ASSERT_TRUE(waits_for([&] { return has_epochs("stopped", slow_runs()[0]) && has_epochs("stopped", slow_runs()[1]); }))
      << workshop.read("log");
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  const std::string log = workshop.read("log");
  EXPECT_NE(log.find("stopping 2 runs after the minibatch, with a checkpoint; Ctrl-C again stops at once\n"),
            std::string::npos)
      << log;
  EXPECT_TRUE(
      log.ends_with("0 of 4 runs finished\nsweep folder stopped\ntable stopped/sweep.csv\n"
                    "means stopped/seeds.csv\n"
                    "`thtrain sweep --resume stopped` goes on with it\n"))
      << log;
  EXPECT_EQ(read_run(workshop.path("stopped/" + slow_runs()[0])).end, RunEnd::kInterrupted);
  EXPECT_FALSE(workshop.exists("stopped/" + slow_runs()[2]));
  const Ended resumed = workshop.run({"sweep", "--resume", "stopped"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_same_runs("stopped", "whole");
  const std::string table = "  learning_rate  seed  ";
  EXPECT_EQ(
      without_times(
          resumed.out.substr(resumed.out.find(table), resumed.out.find("\nsweep folder") - resumed.out.find(table))),
      without_times(whole.out.substr(whole.out.find(table), whole.out.find("\nsweep folder") - whole.out.find(table))));

  // kill -9 of the leader: its runs stop by themselves, and the same command goes on.
  process = workshop.start(slow("killed"));
  ASSERT_TRUE(waits_for([&] { return has_epochs("killed", slow_runs()[1]); }));
  const std::vector<pid_t> children = children_of(process);
  EXPECT_EQ(children.size(), 2u);
  ::kill(process, SIGKILL);
  EXPECT_EQ(Workshop::wait(process), 128 + SIGKILL);
  EXPECT_EQ(workshop.run(slow("killed")).code, 0);
  for (pid_t child : children) EXPECT_NE(::kill(child, 0), 0);
  expect_same_runs("killed", "whole");

  // kill -9 of a run: it is told, the others go on, and the same command goes on with it.
  process = workshop.start(slow("child"));
  ASSERT_TRUE(waits_for([&] { return has_epochs("child", slow_runs()[0]) && children_of(process).size() == 2; }));
  ::kill(children_of(process).at(0), SIGKILL);
  EXPECT_EQ(Workshop::wait(process), 128 + SIGKILL);
  EXPECT_NE(workshop.read("log").find("ended by signal 9\n"), std::string::npos) << workshop.read("log");
  EXPECT_NE(workshop.read("log").find("\n3 of 4 runs finished, 1 failed\n"), std::string::npos);
  EXPECT_EQ(workshop.run(slow("child")).code, 0);
  expect_same_runs("child", "whole");
}

TEST_F(CliSweep, TheSecondSignalEndsItAtOnce) {
  std::vector<std::string> command = slow("s");
  command.insert(command.end(), {"trainer.momentum=0.1,0.2"});
  const pid_t process = workshop.start(command);
  ASSERT_TRUE(waits_for([&] { return children_of(process).size() == 2; }));
  const std::vector<pid_t> children = children_of(process);
  ::kill(process, SIGTERM);
  ::kill(process, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(process, SIGTERM);
  EXPECT_EQ(Workshop::wait(process), 128 + SIGTERM);
  for (pid_t child : children) EXPECT_NE(::kill(child, 0), 0);
  EXPECT_FALSE(is_locked(workshop.path("s")));
}

// What a killed leader left that still runs is waited for.
TEST_F(CliSweep, ItWaitsForAProcessThatWritesToARun) {
  EXPECT_EQ(workshop.run(short_sweep("s", {"seed=1,2", "--quiet"})).code, 0);
  fs::remove_all(workshop.path("s/seed=2"));
  fs::create_directory(workshop.path("s/seed=2"));
  pid_t process = 0;
  {
    const RunLock lock(workshop.path("s/seed=2"));
    process = workshop.start({"sweep", "--resume", "s"});
    EXPECT_TRUE(waits_for([&] {
      return workshop.read("log").find("waiting for the process that writes to s/seed=2\n") != std::string::npos;
    })) << workshop.read("log");
  }
  EXPECT_EQ(Workshop::wait(process), 0);
  EXPECT_TRUE(workshop.exists("s/seed=2/best.npz"));
}

// A reader of standard output that goes away ends the sweep like a signal.
TEST_F(CliSweep, NobodyReadsItsLines) {
  const Ended ended = workshop.shell(
      "(\"$THTRAIN\" sweep tiny.toml --run-dir s --jobs 1 'seed=1..50' trainer.epochs=1; echo $? > code) | head -1");
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(ended.out.starts_with("sweep s: 50 runs, 1 at once, 1 thread each\n")) << ended.out;
  EXPECT_EQ(workshop.read("code"), "141\n");
  EXPECT_FALSE(workshop.exists("s/seed=50"));
}

}  // namespace
}  // namespace thtrain
