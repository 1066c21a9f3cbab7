// `thtrain sweep`: its runs are those of `thtrain train`, also after signals and kills, and what it says of them.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <thread>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"
#include "trainers/run_lock.h"
#include "trainers/run_record.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// "0.0  finished" and "0.001 s  finished" -> "S finished"
std::string without_times(const std::string& text) {
  static const std::regex time(" +[0-9.]+( s)?  (finished|not finite|failed|interrupted|killed)"),
      columns("epochs  seconds +end");
  return std::regex_replace(std::regex_replace(text, time, " S $2"), columns, "epochs S end");
}
// sweep.csv without its column of seconds.
std::string without_seconds_column(const std::string& csv) {
  static const std::regex seconds(",[0-9]+\\.[0-9]{3},");
  return std::regex_replace(csv, seconds, ",S,");
}

bool waits_for(const std::function<bool()>& what, double seconds = 60) {
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() < seconds) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// The processes whose parent is this one.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state;
    pid_t its_parent = 0;
    if (rest >> state >> its_parent && its_parent == parent && state != "Z") out.push_back(std::stoi(name));
  }
  return out;
}

class CliSweep : public testing::Test {
 protected:
  CliSweep() {
    workshop.write("tiny.toml", tiny_experiment() + "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  // Sweeps whose runs take a while, two at once.
  static std::vector<std::string> slow(const std::string& folder) {
    return {"sweep",
            "tiny.toml",
            "--run-dir",
            folder,
            "--jobs",
            "2",
            "--threads",
            "1",
            "trainer.learning_rate=0.1,0.05",
            "seed=1..2",
            "trainer.epochs=30"};
  }
  static std::vector<std::string> slow_runs() {
    return {"learning_rate=0.1,seed=1", "learning_rate=0.1,seed=2", "learning_rate=0.05,seed=1",
            "learning_rate=0.05,seed=2"};
  }
  void expect_same_runs(const std::string& folder, const std::string& other) {
    for (const std::string& run : slow_runs()) {
      SCOPED_TRACE(run);
      const std::string a = str(folder, '/', run, '/'), b = str(other, '/', run, '/');
      EXPECT_EQ(workshop.read(a + "best.npz"), workshop.read(b + "best.npz"));
      EXPECT_EQ(without_seconds(workshop.read(a + "metrics.jsonl")),
                without_seconds(workshop.read(b + "metrics.jsonl")));
    }
    EXPECT_EQ(without_seconds_column(workshop.read(folder + "/sweep.csv")),
              without_seconds_column(workshop.read(other + "/sweep.csv")));
  }
  bool has_epochs(const std::string& folder, const std::string& run) {
    const std::string metrics = workshop.read(str(folder, '/', run, "/metrics.jsonl"));
    return std::count(metrics.begin(), metrics.end(), '\n') > 2;
  }
  Workshop workshop;
};

TEST_F(CliSweep, ItsRunsAreThoseOfTrain) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "trainer.learning_rate=0.1,0.01", "seed=1..2",
                                    "trainer.epochs=2", "--jobs", "1", "--threads", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  for (const auto& [rate, seed] : {std::pair("0.1", "1"), {"0.1", "2"}, {"0.01", "1"}, {"0.01", "2"}}) {
    const std::string one = str("one-", rate, '-', seed),
                      of_sweep = str("runs/tiny-sweep-1/learning_rate=", rate, ",seed=", seed);
    EXPECT_EQ(workshop
                  .run({"train", "tiny.toml", "--run-dir", one, str("trainer.learning_rate=", rate), str("seed=", seed),
                        "trainer.epochs=2", "compiler.threads=1"})
                  .code,
              0);
    EXPECT_EQ(workshop.read(one + "/best.npz"), workshop.read(of_sweep + "/best.npz"));
    EXPECT_EQ(without_seconds(workshop.read(one + "/metrics.jsonl")),
              without_seconds(workshop.read(of_sweep + "/metrics.jsonl")));
  }
  std::vector<RunRecord> records;
  for (const char* name : {"learning_rate=0.1,seed=1", "learning_rate=0.1,seed=2", "learning_rate=0.01,seed=1",
                           "learning_rate=0.01,seed=2"})
    records.push_back(read_run(workshop.path(str("runs/tiny-sweep-1/", name))));
  std::string csv = "run,trainer.learning_rate,seed,metric,best,best_epoch,test,epochs,seconds,end,message\n";
  const char* values[] = {"0.1,1", "0.1,2", "0.01,1", "0.01,2"};
  const char* names[] = {"learning_rate=0.1,seed=1", "learning_rate=0.1,seed=2", "learning_rate=0.01,seed=1",
                         "learning_rate=0.01,seed=2"};
  for (size_t i = 0; i < 4; ++i)
    csv += str('"', names[i], "\",", values[i], ",error,", json_number(*records[i].best), ',', records[i].best_epoch,
               ',', json_number(*records[i].test), ",2,S,finished,\n");
  EXPECT_EQ(without_seconds_column(workshop.read("runs/tiny-sweep-1/sweep.csv")), csv);
  EXPECT_FALSE(workshop.exists("runs/tiny-sweep-1/lock"));
  EXPECT_TRUE(workshop.exists("runs/tiny-sweep-1/logs/learning_rate=0.1,seed=1.log"));

  std::string text =
      "sweep runs/tiny-sweep-1: 4 runs, 1 at once, 1 thread each\n"
      "  1  learning_rate=0.1,seed=1\n"
      "  2  learning_rate=0.1,seed=2\n"
      "  3  learning_rate=0.01,seed=1\n"
      "  4  learning_rate=0.01,seed=2\n";
  for (size_t i = 0; i < 4; ++i)
    text += str(i + 1, " of 4  ", names[i], "  validation error ", json_fixed(*records[i].best, 6), " % (epoch ",
                records[i].best_epoch, ") S finished\n");
  text += "  learning_rate  seed  validation error  epoch  test error   epochs S end\n";
  std::vector<size_t> order = {0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return *records[a].best < *records[b].best; });
  for (size_t i : order)
    text += str(i < 2 ? "            0.1" : "           0.01", "     ", i % 2 + 1, "       ",
                json_fixed(*records[i].best, 6), " %      ", records[i].best_epoch, "  ",
                json_fixed(*records[i].test, 6), " %       2 S finished\n");
  text += "4 of 4 runs finished\nsweep folder runs/tiny-sweep-1\ntable runs/tiny-sweep-1/sweep.csv\n";
  EXPECT_EQ(without_times(ended.out), text);
}

TEST_F(CliSweep, TheSameCommandAfterItsEndIsANewSweep) {
  const std::vector<std::string> command = {"sweep", "tiny.toml", "seed=1,2", "trainer.epochs=1", "--quiet"};
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_TRUE(workshop.exists("runs/tiny-sweep-2/sweep.csv"));
  // A run that is taken away is run again, and nothing else is.
  fs::remove_all(workshop.path("runs/tiny-sweep-2/seed=2"));
  const std::string before = workshop.read("runs/tiny-sweep-2/seed=1/run.json");
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_FALSE(workshop.exists("runs/tiny-sweep-3"));
  EXPECT_EQ(workshop.read("runs/tiny-sweep-2/seed=1/run.json"), before);
  EXPECT_TRUE(workshop.exists("runs/tiny-sweep-2/seed=2/best.npz"));
  // With its folder the sweep is named: nothing is left to do, and the table is printed again.
  const Ended again = workshop.run({"sweep", "--resume", "runs/tiny-sweep-2/"});
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(again.out.starts_with("sweep runs/tiny-sweep-2: 2 runs, ")) << again.out;
  EXPECT_NE(again.out.find("\n  1  seed=1  finished\n  2  seed=2  finished\n  seed  validation error"),
            std::string::npos)
      << again.out;
}

TEST_F(CliSweep, ARunThatFailsIsToldAndTheOthersGoOn) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "trainer.learning_rate=0.1,1e30,0.01",
                                    "trainer.epochs=1", "--jobs", "1"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, "");
  const std::string why = "a weight is not finite: epoch 1, minibatch 2 of 10, step 2";
  EXPECT_NE(without_times(ended.out).find("\n2 of 3  learning_rate=1e30 S not finite: " + why + "\n3 of 3  "),
            std::string::npos)
      << ended.out;
  EXPECT_NE(without_times(ended.out).find(" S not finite: " + why + "\n2 of 3 runs finished, 1 failed\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(workshop.read("s/sweep.csv").find(",not finite,\"" + why + "\"\n"), std::string::npos);
  const auto values = one_json_line(workshop.run({"sweep", "--resume", "s", "--json"}).out);
  EXPECT_EQ(values.at("finished"), "2");
  EXPECT_EQ(values.at("failed"), "1");
  EXPECT_EQ(values.at("runs.2.exit_code"), "3");
  EXPECT_EQ(values.at("runs.2.message"), why);
  EXPECT_EQ(values.at("runs.2.values.trainer.learning_rate"), "1e30");
}

TEST_F(CliSweep, WhatARunMeetsWhereNothingCanBeWrittenIsTold) {
  workshop.write("s/file", "");
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s/file/x", "seed=1,2"}).err,
            "error: s/file/x: the folder cannot be made\n"
            "  got:      a part of the path is not a folder\n"
            "  hint:     choose another folder with --run-dir, or another place for new ones with output.root\n");
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2"}).err,
            "error: s: there is something else at this place\n"
            "  expected: a folder that does not exist yet, or that of this sweep\n"
            "  hint:     --run-dir names another folder\n");
  // The place of one run is taken: the others go on.
  workshop.write("t.toml", workshop.read("tiny.toml"));
  EXPECT_EQ(workshop.run({"sweep", "t.toml", "--run-dir", "t", "seed=1,2", "trainer.epochs=1", "--quiet"}).code, 0);
  fs::remove_all(workshop.path("t/seed=1"));
  workshop.write("t/seed=1/file", "");
  const Ended ended = workshop.run({"sweep", "--resume", "t"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("\n2 of 2  seed=1  failed: t/seed=1: there is a run in this folder already, or something "
                           "else\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(CliSweep, NothingIsMadeWhereAPointIsBad) {
  const std::vector<std::string> before = workshop.list();
  auto text = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"sweep", "tiny.toml"});
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(workshop.list(), before);
    return ended.err;
  };
  EXPECT_EQ(text({"seed=1..2", "trainer.learning_rate=0.1,fast,-1"}),
            "error: trainer.learning_rate has the wrong type\n"
            "  expected: a number above 0\n"
            "  got:      a string, \"fast\"\n"
            "  config:   command line:2:27\n"
            "      2 | trainer.learning_rate=0.1,fast,-1\n"
            "        |                           ^^^^\n"
            "  hint:     learning_rate: factor of the gradient in each step\n"
            "error: trainer.learning_rate is out of range\n"
            "  expected: a number above 0\n"
            "  got:      -1\n"
            "  config:   command line:2:32\n"
            "      2 | trainer.learning_rate=0.1,fast,-1\n"
            "        |                                ^^\n"
            "  hint:     learning_rate: factor of the gradient in each step\n");
  EXPECT_EQ(text({"seeds=1..2"}),
            "error: unknown key seeds\n"
            "  config:   command line:1:1\n"
            "      1 | seeds=1..2\n"
            "        | ^^^^^\n"
            "  hint:     did you mean seed?\n");
  EXPECT_EQ(text({"seed=1,2", "trainer.epochs="}),
            "error: \"trainer.epochs=\" has no value behind the =\n"
            "  config:   command line:2:1\n"
            "      2 | trainer.epochs=\n"
            "        | ^^^^^^^^^^^^^^^\n"
            "  hint:     write several values as key=0.1,0.03 or key=1..5\n");
  // What only the data and the model show.
  EXPECT_EQ(text({"trainer.batch_size=20,100", "data.n_valid=150", "data.n_test=0", "trainer.test_at=never",
                  "data.n_train=50..90..40"}),
            "error: trainer.batch_size is larger than the training set\n"
            "  expected: at most 50 (examples)\n"
            "  got:      100\n"
            "  config:   command line:1:23\n"
            "      1 | trainer.batch_size=20,100\n"
            "        |                       ^^^\n"
            "  hint:     trainer.full_batches_only = false allows it\n");
  EXPECT_EQ(text({"seed=1,2", "compiler.threads=2", "--threads", "1"}),
            "error: thtrain sweep: --threads has no effect on a run that has threads of its own\n"
            "  expected: no --threads, or 2\n"
            "  got:      1\n"
            "  hint:     compiler.threads = 0 leaves the number to --threads\n");
}

TEST_F(CliSweep, FoldersOfOtherThingsAreRefused) {
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2", "trainer.epochs=1", "--quiet"}).code, 0);
  const std::string here = fs::canonical(workshop.path()).string();
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2,3", "trainer.epochs=1"}).err,
            str("error: s: the sweep in this folder is another one\n"
                "  expected: ",
                here,
                "/tiny.toml seed=1,2 trainer.epochs=1\n"
                "  got:      ",
                here,
                "/tiny.toml seed=1,2,3 trainer.epochs=1\n"
                "  hint:     `thtrain sweep --resume s` goes on with it; --run-dir names another folder\n"));
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s", "--threads", "7"}).err,
            "error: s: --threads differs from what the sweep began with\n"
            "  expected: 1\n"
            "  got:      7\n"
            "  hint:     the number of threads decides the last bits of results\n");
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s/seed=1"}).err,
            "error: s/seed=1: this is no folder of a sweep: it holds no sweep.json\n"
            "  expected: a folder that `thtrain sweep` made\n"
            "  hint:     `thtrain resume s/seed=1` goes on with the run\n");
  EXPECT_EQ(workshop.run({"sweep", "--resume", "nowhere"}).err,
            "error: nowhere: there is no such folder of a sweep\n"
            "  expected: a folder that `thtrain sweep` made\n");
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s", "tiny.toml"}).err,
            "error: thtrain sweep: --resume and an experiment file are both given\n"
            "  expected: one of them\n"
            "  hint:     the folder of the sweep holds what its command line said\n");
  workshop.write("tiny.toml", workshop.read("tiny.toml") + "# changed\n");
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).code, 0);  // a comment changes nothing
  std::string other = workshop.read("tiny.toml");
  workshop.write("tiny.toml", other.replace(other.find("momentum = 0.5"), 14, "momentum = 0.6"));
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).err,
            str("error: s: the experiments are no longer those that the sweep began with\n"
                "  expected: what ",
                here,
                "/tiny.toml said then\n"
                "  hint:     put the file back as it was, or begin a sweep in another folder\n"));
  workshop.write("bad/sweep.json", "{\"words\": []}");
  EXPECT_EQ(workshop.run({"sweep", "--resume", "bad"}).err,
            "error: bad/sweep.json: this is not what a sweep writes\n"
            "  expected: the object that `thtrain sweep` wrote\n"
            "  hint:     put it back from a copy\n");
}

TEST_F(CliSweep, OneProcessLeadsASweep) {
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2", "trainer.epochs=1", "--quiet"}).code, 0);
  fs::remove_all(workshop.path("s/seed=2"));
  {
    const RunLock lock(workshop.path("s"));
    const Ended ended = workshop.run({"sweep", "--resume", "s"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err, str("error: s: another process leads this sweep\n"
                             "  expected: one process for each sweep\n"
                             "  got:      process ",
                             ::getpid(), "\n  hint:     wait until it is done, or stop it first\n"));
  }
  EXPECT_EQ(workshop.run({"sweep", "--resume", "s"}).code, 0);
}

TEST_F(CliSweep, DryRunsListAndMakeNothing) {
  const std::vector<std::string> before = workshop.list();
  const Ended ended = workshop.run({"sweep", "tiny.toml", "--dry-run", "--jobs=3", "--threads=2",
                                    "trainer.shuffle=true,false", "data.digits_file=a,b"});
  EXPECT_EQ(ended.code, 2);
  const Ended listed =
      workshop.run({"sweep", "tiny.toml", "--dry-run", "--jobs=3", "--threads=2", "trainer.shuffle=true,false",
                    "trainer.schedule={type=\"constant\"},{type=\"step\",every=2}"});
  EXPECT_EQ(listed.err, "");
  EXPECT_EQ(listed.out,
            "sweep of tiny.toml: 4 runs, 3 at once, 2 threads each\n"
            "  1  run-1  shuffle=true   schedule={type=\"constant\"}\n"
            "  2  run-2  shuffle=true   schedule={type=\"step\",every=2}\n"
            "  3  run-3  shuffle=false  schedule={type=\"constant\"}\n"
            "  4  run-4  shuffle=false  schedule={type=\"step\",every=2}\n");
  EXPECT_EQ(workshop.list(), before);
}

// ---- signals and kills ----

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
  EXPECT_FALSE(workshop.exists("s/lock"));
}

// What a killed leader left that still runs is waited for.
TEST_F(CliSweep, ItWaitsForAProcessThatWritesToARun) {
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2", "trainer.epochs=1", "--quiet"}).code, 0);
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
