// What is in the folder of a sweep that its runs cannot go on with.
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class SweepFolders : public CliSweep {
 protected:
  // What `--dry-run` says; it changes nothing.
  std::string plan() {
    const std::vector<std::string> before = workshop.list();
    const Ended ended = workshop.run({"sweep", "--resume", "s", "--dry-run", "--jobs", "1"});
    EXPECT_EQ(workshop.list(), before);
    return ended.out + ended.err;
  }
  void sweep(const std::string& seeds) {
    const Ended ended = workshop.run(short_sweep("s", {seeds, "--quiet"}));
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
};

TEST_F(SweepFolders, ARunThatLostItsFilesCannotGoOn) {
  sweep("seed=1..6");
  fs::remove(workshop.path("s/seed=1/run.json"));
  fs::remove(workshop.path("s/seed=2/config.toml"));
  // The checkpoint of a run that did not end.
  std::string facts = workshop.read("s/seed=3/run.json");
  const std::string how = "\"how\": \"finished\"";
  ASSERT_NE(facts.find(how), std::string::npos) << facts;
  workshop.write("s/seed=3/run.json", facts.replace(facts.find(how), how.size(), "\"how\": \"interrupted\""));
  fs::remove(workshop.path("s/seed=3/checkpoint.npz"));
  fs::remove_all(workshop.path("s/seed=4"));
  workshop.write("s/seed=4", "a file");
  fs::remove_all(workshop.path("s/seed=5"));
  fs::create_symlink("nowhere", workshop.path("s/seed=5"));
  EXPECT_EQ(
      plan(),
      "sweep s: 6 runs, 1 at once, 1 thread each\n"
      "  1  seed=1  failed    cannot go on: s/seed=1: this is no run folder, or no longer: it holds no run.json\n"
      "  2  seed=2  failed    cannot go on: s/seed=2: this is no run folder: it holds no config.toml\n"
      "  3  seed=3  failed    cannot go on: s/seed=3: the checkpoint of this run is gone\n"
      "  4  seed=4  failed    cannot go on: s/seed=4: there is a run in this folder already, or something else\n"
      "  5  seed=5  failed    cannot go on: s/seed=5: there is a link to a folder that is not there at this path: "
      "a link to nowhere\n"
      "  6  seed=6  finished  nothing to do\n"
      "nothing to do: 1, cannot go on: 5\n");
  // So it is.
  const std::vector<std::string> before = workshop.list();
  const Ended ended = workshop.run({"sweep", "--resume", "s", "--jobs", "1"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("\n1 of 6 runs finished, 5 failed\n"), std::string::npos) << ended.out;
  EXPECT_EQ(workshop.list(), before);
}

// Killed before its first checkpoint: at each of these moments a new run begins in its folder.
TEST_F(SweepFolders, ARunThatWasKilledAtItsStartBegins) {
  sweep("seed=1..5");
  const std::string config = workshop.read("s/seed=2/config.toml");
  std::string facts = workshop.read("s/seed=4/run.json");
  for (const char* seed : {"2", "3", "4", "5"}) fs::remove_all(workshop.path(str("s/seed=", seed)));
  workshop.write("s/seed=3/lock", "");  // of an earlier version
  // run.json as it is before the first checkpoint: without "pins".
  const size_t ended = facts.find("\"ended\""), pins = facts.find("\"pins\"");
  ASSERT_NE(ended, std::string::npos) << facts;
  ASSERT_NE(pins, std::string::npos) << facts;
  facts = facts.substr(0, std::min(ended, pins)) + "\"ended\": {\"how\": \"running\"}\n}\n";
  workshop.write("s/seed=2/run.json", facts);
  workshop.write("s/seed=4/run.json", facts);
  workshop.write("s/seed=4/config.toml", config);
  fs::create_directory(workshop.path("s/seed=5"));
  EXPECT_EQ(plan(),
            "sweep s: 5 runs, 1 at once, 1 thread each\n"
            "  1  seed=1  finished   nothing to do\n"
            "  2  seed=2  not begun  begins\n"
            "  3  seed=3  not begun  begins\n"
            "  4  seed=4  killed     begins\n"
            "  5  seed=5  not begun  begins\n"
            "nothing to do: 1, begins: 4\n");
  const Ended resumed = workshop.run({"sweep", "--resume", "s", "--jobs", "1"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("\n5 of 5 runs finished\n"), std::string::npos) << resumed.out;
}

TEST_F(SweepFolders, TheFolderOfAnotherRunDoesNotCount) {
  const std::vector<std::string> command = short_sweep("s", {"trainer.learning_rate=0.1,0.01", "seed=1..2", "--quiet"});
  ASSERT_EQ(workshop.run(command).code, 0);
  const std::string run = "s/learning_rate=";
  fs::remove_all(workshop.path(run + "0.1,seed=2"));
  fs::create_directory_symlink("learning_rate=0.1,seed=1", workshop.path(run + "0.1,seed=2"));
  fs::remove_all(workshop.path(run + "0.01,seed=2"));
  fs::copy(workshop.path(run + "0.1,seed=1"), workshop.path(run + "0.01,seed=2"), fs::copy_options::recursive);
  // A link to the run itself, which is elsewhere, is one.
  fs::rename(workshop.path(run + "0.01,seed=1"), workshop.path("elsewhere"));
  fs::create_directory_symlink("../elsewhere", workshop.path(run + "0.01,seed=1"));
  const std::string another = ": the run in this folder is another one: ";
  EXPECT_EQ(plan(), str("sweep s: 4 runs, 1 at once, 1 thread each\n"
                        "  1  learning_rate=0.1,seed=1   finished  nothing to do\n"
                        "  2  learning_rate=0.1,seed=2   failed    cannot go on: ",
                        run, "0.1,seed=2", another,
                        "seed=1\n"
                        "  3  learning_rate=0.01,seed=1  finished  nothing to do\n"
                        "  4  learning_rate=0.01,seed=2  failed    cannot go on: ",
                        run, "0.01,seed=2", another,
                        "trainer.learning_rate=0.1 seed=1\n"
                        "nothing to do: 2, cannot go on: 2\n"));
  EXPECT_EQ(workshop.run(command).code, 2);
  const std::string csv = workshop.read("s/sweep.csv");
  EXPECT_NE(
      csv.find(str("\"learning_rate=0.1,seed=2\",0.1,2,,,,,,,failed,\"", run, "0.1,seed=2", another, "seed=1\"\n")),
      std::string::npos)
      << csv;
  // A run of other origin says nothing of the seed.
  fs::remove_all(workshop.path(run + "0.01,seed=2"));
  ASSERT_EQ(workshop
                .run({"train", "tiny.toml", "--run-dir", run + "0.01,seed=2", "trainer.learning_rate=0.01",
                      "trainer.epochs=1", "--quiet"})
                .code,
            0);
  EXPECT_NE(plan().find(str("cannot go on: ", run, "0.01,seed=2", another, "no seed\n")), std::string::npos) << plan();
}

TEST_F(SweepFolders, LogsThatAreNoFolderAreToldOnce) {
  sweep("seed=1,2");
  fs::remove_all(workshop.path("s/logs"));
  workshop.write("s/logs", "text");
  // Nothing is to be run: the table is printed.
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).code, 0);
  fs::remove_all(workshop.path("s/seed=2"));
  const std::string error =
      "error: s/logs: the logs of the runs cannot be written: this is no folder\n"
      "  expected: a folder, or nothing: it is made then\n"
      "  got:      a file of that name\n"
      "  hint:     give it another name, and go on by `thtrain sweep --resume s`\n";
  EXPECT_EQ(plan(), error);
  const Ended ended = workshop.run({"sweep", "--resume", "s"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, error);
  EXPECT_FALSE(is_locked(workshop.path("s")));
  fs::rename(workshop.path("s/logs"), workshop.path("s/logs.txt"));
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).code, 0);
  EXPECT_TRUE(workshop.exists("s/logs/seed=2.log"));
}

}  // namespace
}  // namespace thtrain
