// `thtrain train --folds`: a run for each part of the training examples.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "cli/text.h"
#include "tests/support/cli_support.h"
#include "trainers/checkpoint.h"

namespace thtrain {
namespace {

class CliFolds : public testing::Test {
 protected:
  CliFolds() {
    std::string table = "a,b,l\n";
    for (int i = 0; i < 31; ++i) table += str(i * 7 % 11, ',', i * 5 % 13, ',', i % 3 == 0 ? i % 2 : i % 3, '\n');
    workshop.write("t.csv", table);
    workshop.write("e.toml",
                   "[data]\nsource = \"csv\"\ntrain = \"t.csv\"\nsplit = \"shuffled\"\n"
                   "[[model.layers]]\ntype = \"softmax\"\n"
                   "[trainer]\nbatch_size = 5\nepochs = 2\nfull_batches_only = false\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  double best(const std::string& folder) {
    return read_checkpoint(workshop.path(folder + "/checkpoint.npz")).state.monitor.best_error;
  }
  Workshop workshop;
};

TEST_F(CliFolds, TrainOnAllPartsButOne) {
  Ended ended = workshop.run({"train", "e.toml", "--folds", "3", "--run-dir", "kf"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  double mean = 0, deviation = 0;
  const std::vector<double> values = {best("kf/fold-1"), best("kf/fold-2"), best("kf/fold-3")};
  for (double v : values) mean += v / 3;
  for (double v : values) deviation += (v - mean) * (v - mean) / 2;
  auto text = [](double v) { return error_text(v); };
  const std::string last =
      str("3 folds: best validation error ", text(mean), " on average, standard deviation ", text(std::sqrt(deviation)),
          " (", text(values[0]), ", ", text(values[1]), ", ", text(values[2]), ")\nruns kf/fold-1 to fold-3\n");
  EXPECT_TRUE(ended.out.ends_with(last)) << ended.out << last;
  for (double v : values)  // as in the lines of the runs
    EXPECT_NE(ended.out.find(str("\nbest validation error ", error_text(v), " (epoch ")), std::string::npos) << v;
  for (const char* part :
       {"fold 1 of 3\n", "fold 3 of 3\n", "20 training, 11 validation", "21 training, 10 validation"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  EXPECT_NE(workshop.read("kf/fold-2/config.toml").find("fold = 2\n"), std::string::npos);
}

TEST_F(CliFolds, OneRunOfAPartIsTheSame) {
  EXPECT_EQ(workshop.run({"train", "e.toml", "--folds", "2", "--run-dir", "kf", "--json"}).code, 0);
  EXPECT_EQ(workshop.run({"train", "e.toml", "--run-dir", "one", "data.folds=2", "data.fold=2"}).code, 0);
  EXPECT_EQ(workshop.read("kf/fold-2/best.npz"), workshop.read("one/best.npz"));
}

TEST_F(CliFolds, TheSameCommandGoesOnAfterAnInterruption) {
  auto words = [](const std::string& folder, const std::string& epochs = "400") {
    return std::vector<std::string>{"train", "e.toml", "--folds", "3", "--run-dir", folder, "trainer.epochs=" + epochs};
  };
  ASSERT_EQ(workshop.run(words("whole")).code, 0);
  const pid_t process = workshop.start(words("parts"));
  ASSERT_TRUE(wait_until([&] {
    return workshop.exists("parts/fold-2/metrics.jsonl") && workshop.read("parts/fold-2/metrics.jsonl").size() > 1000;
  }));
  ::kill(process, SIGTERM);
  EXPECT_EQ(Workshop::wait(process), 143);
  EXPECT_TRUE(
      workshop.read("log").ends_with("`thtrain resume parts/fold-2` continues the run\n"
                                     "the same command with --run-dir parts goes on with the folds\n"))
      << workshop.read("log");
  EXPECT_FALSE(workshop.exists("parts/fold-3"));
  EXPECT_EQ(workshop.run({"resume", "parts"}).err,
            "error: parts: this is no run folder: it holds no config.toml\n"
            "  expected: a folder that `thtrain train` made\n"
            "  hint:     this is the folder of the runs of --folds; `thtrain train CONFIG --folds K --run-dir parts` "
            "goes on with them\n");
  const Ended other = workshop.run(words("parts", "500"));
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("error: parts/fold-1: the run in this folder is of another experiment\n"), std::string::npos)
      << other.err;
  EXPECT_NE(other.err.find("trainer.epochs: 400 then, 500 now\n"), std::string::npos) << other.err;
  const std::string first = workshop.read("parts/fold-1/metrics.jsonl");
  const Ended ended = workshop.run(words("parts"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("fold 1 of 3\nthe run is over: 1,600 steps done\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("fold 2 of 3\ngoes on after step "), std::string::npos) << ended.out;
  EXPECT_EQ(workshop.read("parts/fold-1/metrics.jsonl"), first);
  for (const char* fold : {"fold-1", "fold-2", "fold-3"}) {
    EXPECT_EQ(workshop.read(str("parts/", fold, "/best.npz")), workshop.read(str("whole/", fold, "/best.npz"))) << fold;
    EXPECT_EQ(without_seconds(workshop.read(str("parts/", fold, "/metrics.jsonl"))),
              without_seconds(workshop.read(str("whole/", fold, "/metrics.jsonl"))));
  }
}

TEST_F(CliFolds, WhatCannotBe) {
  auto text = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"train", "e.toml"});
    return workshop.run(words).err;
  };
  for (const char* word : {"1", "0", "-2", "99999999999999999999", "2.5"})
    EXPECT_EQ(text({"--folds", word}), str("error: thtrain train: --folds cannot be \"", word,
                                           "\"\n  expected: an integer from 2 to the number of examples\n"
                                           "  hint:     `thtrain help train` lists the options\n"));
  EXPECT_EQ(text({"--folds", "2", "--resume", "--run-dir", "kf"}),
            "error: --folds and --resume are both given\n"
            "  expected: --folds without --resume\n"
            "  got:      --folds 2 --resume\n"
            "  hint:     --folds K --run-dir DIR goes on with the runs that are in DIR already\n");
  EXPECT_EQ(text({"--folds", "2", "data.n_valid=4"}),
            "error: data.folds and data.n_valid are both given\n"
            "  expected: one of them\n"
            "  config:   command line:1:14\n"
            "      1 | data.n_valid=4\n"
            "        |              ^\n"
            "  hint:     one part of data.train validates\n");
  EXPECT_EQ(text({"--folds", "40"}), str("error: there are more folds than examples\n"
                                         "  expected: at most 31, the examples in ",
                                         workshop.path("t.csv"),
                                         "\n  got:      40\n"
                                         "  config:   command line:1:12\n"
                                         "      1 | data.folds=40\n"
                                         "        |            ^^\n"));
}

}  // namespace
}  // namespace thtrain
