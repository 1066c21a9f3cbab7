// `thtrain sweep`: its runs are those of `thtrain train`, and what it says of them.
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_FALSE(is_locked(workshop.path("runs/tiny-sweep-1")));
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
  const auto mean = [&](size_t i, auto value) { return (value(records[i]) + value(records[i + 1])) / 2; };
  const auto deviation = [&](size_t i, auto value) {
    const double a = value(records[i]) - mean(i, value), b = value(records[i + 1]) - mean(i, value);
    return std::sqrt(a * a + b * b);  // n - 1 is 1
  };
  const auto best = [](const RunRecord& r) { return *r.best; };
  const auto test = [](const RunRecord& r) { return *r.test; };
  const size_t first = mean(0, best) <= mean(2, best) ? 0 : 2;
  std::string seeds =
      "trainer.learning_rate,metric,runs,mean,deviation,test_runs,test_mean,test_deviation,left_out,"
      "left_out_runs\n";
  std::vector<std::vector<std::string>> rows = {
      {"learning_rate", "runs", "validation error", "deviation", "test error", "deviation"}};
  for (size_t i : {first, 2 - first}) {
    const std::string rate = i < 2 ? "0.1" : "0.01";
    rows.push_back({rate, "2"});
    seeds += str(rate, ",error,2");
    for (double value : {mean(i, best), deviation(i, best), mean(i, test), deviation(i, test)}) {
      rows.back().push_back(json_fixed(value, 6) + " %");
      seeds += str(rows.back().size() == 5 ? ",2," : ",", json_number(value));
    }
    seeds += ",0,\n";
  }
  text += "over the seeds, mean and standard deviation (n - 1)\n";
  for (const std::vector<std::string>& row : rows) {
    for (size_t k = 0; k < row.size(); ++k) {
      const size_t width = std::max({rows[0][k].size(), rows[1][k].size(), rows[2][k].size()});
      const std::string space(width - row[k].size(), ' ');
      const bool is_title = row[0] == rows[0][0];  // numbers are on the right
      text += str("  ", is_title ? row[k] : space + row[k], is_title && k + 1 < row.size() ? space : "");
    }
    text += '\n';
  }
  EXPECT_EQ(workshop.read("runs/tiny-sweep-1/seeds.csv"), seeds);
  text +=
      "4 of 4 runs finished\nsweep folder runs/tiny-sweep-1\ntable runs/tiny-sweep-1/sweep.csv\n"
      "means runs/tiny-sweep-1/seeds.csv\n";
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
  const Ended ended = workshop.run(short_sweep("s", {"trainer.learning_rate=0.1,1e30,0.01"}));
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, "");
  const std::string why = "a weight is not finite: epoch 1, minibatch 2 of 10, step 2";
  EXPECT_NE(without_times(ended.out).find("\n2 of 3  learning_rate=1e30 S not finite: " + why + "\n3 of 3  "),
            std::string::npos)
      << ended.out;
  EXPECT_NE(without_times(ended.out).find(" S not finite\n2 of 3 runs finished, 1 failed\n"), std::string::npos)
      << ended.out;
  EXPECT_NE(workshop.read("s/sweep.csv").find(",not finite,\"" + why + "\"\n"), std::string::npos);
  const auto values = one_json_line(workshop.run({"sweep", "--resume", "s", "--json"}).out);
  EXPECT_EQ(values.at("finished"), "2");
  EXPECT_EQ(values.at("failed"), "1");
  EXPECT_EQ(values.at("runs.2.exit_code"), "3");
  EXPECT_EQ(values.at("runs.2.message"), why);
  EXPECT_EQ(values.at("runs.2.values.trainer.learning_rate"), "1e30");
  // Where no lines tell it, standard error does.
  const Ended quiet = workshop.run({"sweep", "--resume", "s", "--quiet", "--json"});
  EXPECT_EQ(quiet.code, 3);
  EXPECT_EQ(quiet.err, str("error: 1 of 3 runs of the sweep failed\n"
                           "  expected: runs that end by themselves\n"
                           "  got:      learning_rate=1e30: not finite: ",
                           why, "\n  hint:     what they printed is in s/logs\n"));
}

TEST_F(CliSweep, WhatARunMeetsWhereNothingCanBeWrittenIsTold) {
  workshop.write("s/file", "");
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s/file/x", "seed=1,2"}).err,
            "error: s/file/x: the folder cannot be made\n"
            "  got:      a part of the path is not a folder\n"
            "  hint:     choose another folder with --run-dir, or another root for new ones with output.root\n");
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1,2"}).err,
            "error: s: there is something else at this path\n"
            "  expected: a folder that does not exist yet, an empty one, or that of this sweep\n"
            "  hint:     --run-dir names another folder\n");
  // The path of one run is taken: the others go on.
  workshop.write("t.toml", workshop.read("tiny.toml"));
  EXPECT_EQ(workshop.run({"sweep", "t.toml", "--run-dir", "t", "seed=1,2", "trainer.epochs=1", "--quiet"}).code, 0);
  fs::remove_all(workshop.path("t/seed=1"));
  workshop.write("t/seed=1/file", "");
  const Ended ended = workshop.run({"sweep", "--resume", "t"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("\n  1  seed=1  failed: t/seed=1: there is a run in this folder already, or something else\n"
                           "  2  seed=2  finished\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(CliSweep, NothingIsMadeWhereAPointIsBad) {
  EXPECT_EQ(refused({"seed=1..2", "trainer.learning_rate=0.1,fast,-1"}),
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
  EXPECT_EQ(refused({"seeds=1..2"}),
            "error: unknown key seeds\n"
            "  config:   command line:1:1\n"
            "      1 | seeds=1..2\n"
            "        | ^^^^^\n"
            "  hint:     did you mean seed?\n");
  EXPECT_EQ(refused({"seed=1,2", "trainer.epochs="}),
            "error: \"trainer.epochs=\" has no value behind the =\n"
            "  config:   command line:2:1\n"
            "      2 | trainer.epochs=\n"
            "        | ^^^^^^^^^^^^^^^\n"
            "  hint:     write several values as key=0.1,0.03 or key=1..5\n");
  // What only the data and the model show.
  EXPECT_EQ(refused({"trainer.batch_size=20,100", "data.n_valid=150", "data.n_test=0", "trainer.test_at=never",
                     "data.n_train=50..90..40"}),
            "error: trainer.batch_size is larger than the training set\n"
            "  expected: at most 50 (examples)\n"
            "  got:      100\n"
            "  config:   command line:1:23\n"
            "      1 | trainer.batch_size=20,100\n"
            "        |                       ^^^\n"
            "  hint:     trainer.batch_size = 50 or less fits; trainer.full_batches_only = false allows this one\n");
  EXPECT_EQ(refused({"seed=1,2", "compiler.threads=2", "--threads", "1"}),
            "error: thtrain sweep: --threads has no effect on a run that has threads of its own\n"
            "  expected: no --threads, or 2\n"
            "  got:      1\n"
            "  hint:     compiler.threads = 0 leaves the number to --threads\n");
}

TEST_F(CliSweep, FoldersOfOtherThingsAreRefused) {
  EXPECT_EQ(workshop.run(short_sweep("s", {"seed=1,2", "--quiet"})).code, 0);
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

TEST_F(CliSweep, ItDoesNotGoOnWithOtherData) {
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

TEST_F(CliSweep, ATableThatCannotBeWrittenIsAWarning) {
  const std::vector<std::string> command = short_sweep("s", {"seed=1,2"});
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

TEST_F(CliSweep, PointsThatAreOneExperimentAreRefused) {
  EXPECT_EQ(workshop.run({"sweep", "tiny.toml", "seed=1..2", "trainer.learning_rate=0.1,0.10,1e-1"}).err,
            "error: trainer.learning_rate has the value 0.1 twice, the second time as 0.10\n"
            "  expected: each value once\n"
            "  config:   command line:2:27\n"
            "      2 | trainer.learning_rate=0.1,0.10,1e-1\n"
            "        |                           ^^^^\n"
            "error: trainer.learning_rate has the value 0.1 twice, the second time as 1e-1\n"
            "  expected: each value once\n"
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

TEST_F(CliSweep, AMessageOfARunWithoutPhasesNamesNone) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "seed=1,2", "data.class_names=[\"a\"]"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.starts_with("error: data.class_names ")) << ended.err;
}

TEST_F(CliSweep, OneProcessLeadsASweep) {
  EXPECT_EQ(workshop.run(short_sweep("s", {"seed=1,2", "--quiet"})).code, 0);
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

}  // namespace
}  // namespace thtrain
