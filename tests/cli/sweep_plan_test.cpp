// What `thtrain sweep` checks and tells before it starts, and how it goes on where a run cannot be started.
#include "cli/sweep/leader.h"
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

TEST_F(CliSweep, ADryRunOfASweepThatWasBegunTellsWhatIsLeft) {
  const std::vector<std::string> command = {"sweep",
                                            "tiny.toml",
                                            "--run-dir",
                                            "s",
                                            "trainer.learning_rate=0.1,1e30,0.01,0.02,0.03,0.04",
                                            "trainer.epochs=2",
                                            "--quiet",
                                            "--jobs",
                                            "1",
                                            "--threads",
                                            "1"};
  EXPECT_EQ(workshop.run(command).code, 3);
  const std::string run = "s/learning_rate=";
  fs::remove_all(workshop.path(run + "0.01"));
  std::string facts = workshop.read(run + "0.02/run.json");
  const std::string how = "\"how\": \"finished\"";
  ASSERT_NE(facts.find(how), std::string::npos) << facts;
  workshop.write(run + "0.02/run.json", facts.replace(facts.find(how), how.size(), "\"how\": \"interrupted\""));
  workshop.write(run + "0.03/run.json", "{");
  const std::vector<std::string> before = workshop.list();
  {
    const RunLock lock(workshop.path(run + "0.04"));
    const std::string text =
        "sweep s: 6 runs, 1 at once, 1 thread each\n"
        "  1  learning_rate=0.1   finished     nothing to do\n"
        "  2  learning_rate=1e30  not finite   is not tried again\n"
        "  3  learning_rate=0.01  not begun    begins\n"
        "  4  learning_rate=0.02  interrupted  goes on, 2 of 2 epochs done\n"
        "  5  learning_rate=0.03  failed       cannot go on: s/learning_rate=0.03/run.json: no valid JSON: it ends too "
        "early: byte 1\n"
        "  6  learning_rate=0.04  running      is waited for\n"
        "nothing to do: 1, goes on: 1, begins: 1, is waited for: 1, is not tried again: 1, cannot go on: 1\n";
    EXPECT_EQ(workshop.run({"sweep", "--resume", "s", "--dry-run", "--jobs", "1"}).out, text);
    std::vector<std::string> same = command;
    same.push_back("--dry-run");
    EXPECT_EQ(workshop.run(same).out, text);
    same.push_back("--json");
    const auto values = one_json_line(workshop.run(same).out);
    EXPECT_EQ(values.at("sweep_dir"), "s");
    EXPECT_EQ(values.at("jobs"), "1");
    EXPECT_EQ(values.at("runs.3.name"), "learning_rate=0.02");
    EXPECT_EQ(values.at("runs.3.run_dir"), "s/learning_rate=0.02");
    EXPECT_EQ(values.at("runs.3.values.trainer.learning_rate"), "0.02");
    EXPECT_EQ(values.at("runs.3.end"), "interrupted");
    EXPECT_EQ(values.at("runs.3.next"), "goes on");
    EXPECT_EQ(values.at("runs.4.message"), "s/learning_rate=0.03/run.json: no valid JSON: it ends too early: byte 1");
    EXPECT_EQ(values.at("runs.5.next"), "is waited for");
  }
  EXPECT_EQ(workshop.list(), before);

  // The run that cannot be read is told, and the others go on.
  const Ended ended = workshop.run({"sweep", "--resume", "s", "--jobs", "1"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("\n  5  learning_rate=0.03  failed: s/learning_rate=0.03/run.json: no valid JSON: it ends "
                           "too early: byte 1\n"),
            std::string::npos)
      << ended.out;
  EXPECT_TRUE(ended.out.find("\n4 of 6 runs finished, 2 failed\n") != std::string::npos) << ended.out;
}

TEST_F(CliSweep, ADryRunThatWouldBeginANewSweepSaysSo) {
  const std::vector<std::string> command = {"sweep", "tiny.toml", "seed=1,2", "trainer.epochs=1", "--jobs", "1"};
  std::vector<std::string> dry = command;
  dry.push_back("--dry-run");
  const std::string fresh = "sweep of tiny.toml: 2 runs, 1 at once, 1 thread each\n  1  seed=1\n  2  seed=2\n";
  EXPECT_EQ(workshop.run(dry).out, fresh);
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_EQ(workshop.run(dry).out, fresh);  // all of the last one is done
  fs::remove_all(workshop.path("runs/tiny-sweep-1/seed=2"));
  EXPECT_EQ(workshop.run(dry).out,
            "sweep runs/tiny-sweep-1: 2 runs, 1 at once, 1 thread each\n"
            "  1  seed=1  finished   nothing to do\n"
            "  2  seed=2  not begun  begins\n"
            "nothing to do: 1, begins: 1\n");
  // One that cannot be read is none of this command.
  workshop.write("runs/tiny-sweep-1/sweep.json", "{\"version\": \"1000.1\"}");
  EXPECT_EQ(workshop.run(dry).out, fresh);
  EXPECT_TRUE(
      workshop.run({"sweep", "--resume", "runs/tiny-sweep-1"})
          .err.starts_with("error: runs/tiny-sweep-1/sweep.json: thtrain 1000.1 wrote this sweep, which is newer "
                           "than this one\n  expected: a sweep of thtrain "));
}

TEST_F(CliSweep, CombinationsThatCannotBeAreToldBeforeTheFirstRun) {
  // Each value is right with the first ones of the others.
  EXPECT_EQ(refused({"trainer.batch_size=20,40", "seed=1,2", "data.n_train=200,30"}),
            "error: trainer.batch_size is larger than the training set\n"
            "  expected: at most 30 (examples)\n"
            "  got:      40\n"
            "  config:   command line:1:23\n"
            "      1 | trainer.batch_size=20,40\n"
            "        |                       ^^\n"
            "  hint:     trainer.batch_size = 30 or less fits; trainer.full_batches_only = false allows this one;\n"
            "            of the run trainer.batch_size=40 seed=1 data.n_train=30\n");
}

TEST_F(CliSweep, FirstWeightsAreReadBeforeTheFirstRun) {
  EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "a", "trainer.epochs=1", "--quiet"}).code, 0);
  fs::copy(workshop.path("a/best.npz"), workshop.path("w.npz"));
  workshop.write("text.npz", "no weights");
  const std::string text = fs::canonical(workshop.path("text.npz")).string();
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "model.weights=w.npz,text.npz"}).err,
            str("error: ", text,
                ": these are no weights\n"
                "  expected: an .npz file that training wrote: best.npz in the folder of a run\n"
                "  got:      text that begins with \"no weights\"\n"
                "  config:   command line:1:21\n"
                "      1 | model.weights=w.npz,text.npz\n"
                "        |                     ^^^^^^^^\n"));
  EXPECT_FALSE(workshop.exists("s"));
  const std::vector<std::string> command = short_sweep("s", {"model.weights=w.npz", "seed=1,2", "--quiet"});
  EXPECT_EQ(workshop.run(command).code, 0);
  // A sweep does not go on from other weights.
  fs::remove_all(workshop.path("s/seed=2"));
  EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "b", "trainer.epochs=2", "--quiet"}).code, 0);
  const std::string weights = fs::canonical(workshop.path("w.npz")).string();
  fs::copy(workshop.path("b/best.npz"), workshop.path("w.npz"), fs::copy_options::overwrite_existing);
  const Ended ended = workshop.run(command);
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(std::regex_match(
      ended.err, std::regex("error: s: " + weights +
                            ": the first weights are not what they were when the sweep began\n"
                            "  expected: first weights: [0-9,]+ bytes [0-9a-f]+\n"
                            "  got:      first weights: [0-9,]+ bytes [0-9a-f]+\n"
                            "  hint:     put the file back as it was, or begin a sweep in another folder\n")))
      << ended.err;
}

TEST(SweepProgress, FitsItsLine) {
  std::vector<SweepRun> runs(3);
  runs[0].state = SweepRun::State::kDone;
  runs[1].state = SweepRun::State::kRunning;
  EXPECT_EQ(progress_text(runs, -1, 79), "3 runs: 1 finished, 1 running");
  EXPECT_EQ(progress_text(runs, 12.3, 79), "3 runs: 1 finished, 1 running, about 12 s left");
  runs[2].state = SweepRun::State::kFailed;
  EXPECT_EQ(progress_text(runs, 12.3, 39), "3 runs: 1 finished, 1 running, 1 failed");
}

TEST_F(CliSweep, AFolderIsNoExperimentFile) {
  EXPECT_EQ(workshop.run(short_sweep("s", {"seed=1,2", "--quiet"})).code, 0);
  EXPECT_EQ(workshop.run({"sweep", "s", "seed=1,2"}).err,
            "error: s: this is the folder of a sweep, and no experiment file\n"
            "  expected: a TOML file\n"
            "  hint:     `thtrain sweep --resume s` goes on with that sweep\n");
  EXPECT_EQ(workshop.run({"sweep", "s/seed=1", "seed=1,2"}).err,
            "error: s/seed=1: this is the folder of a run, and no experiment file\n"
            "  expected: a TOML file\n"
            "  hint:     `thtrain sweep s/seed=1/config.toml key=value,value` begins a sweep of its experiment\n");
}

// There is a folder where the log of one run belongs.
TEST_F(CliSweep, ARunWhoseLogCannotBeOpenedFailsAndTheOthersGoOn) {
  const std::vector<std::string> command = short_sweep("s", {"seed=1..3"});
  EXPECT_EQ(workshop.run(command).code, 0);
  for (const char* seed : {"1", "2", "3"}) fs::remove_all(workshop.path(str("s/seed=", seed)));
  fs::remove(workshop.path("s/logs/seed=2.log"));
  fs::create_directories(workshop.path("s/logs/seed=2.log"));
  const Ended ended = workshop.run(command);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("seed=2  failed: s/logs/seed=2.log: the file cannot be written: a folder\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("\n2 of 3 runs finished, 1 failed\n"), std::string::npos) << ended.out;
  EXPECT_NE(workshop.read("s/sweep.csv").find("failed,s/logs/seed=2.log: the file cannot be written: a folder\n"),
            std::string::npos);
  fs::remove(workshop.path("s/logs/seed=2.log"));
  ASSERT_EQ(::mkfifo(workshop.path("s/logs/seed=2.log").c_str(), 0666), 0);
  EXPECT_NE(
      workshop.run({"sweep", "--resume", "s"})
          .out.find("failed: s/logs/seed=2.log: the log of a run cannot be written: a link, a pipe or a device\n"),
      std::string::npos)
      << "and it waits for nobody who reads";
  fs::remove(workshop.path("s/logs/seed=2.log"));
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).code, 0);
}

}  // namespace
}  // namespace thtrain
