// `thtrain report`: the page of runs.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliReport : public testing::Test {
 protected:
  CliReport() { workshop.write("tiny.toml", tiny_experiment()); }
  void train(const std::string& folder, const std::vector<std::string>& overrides = {}) {
    std::vector<std::string> words = {"train", "tiny.toml", "--run-dir", folder, "--quiet"};
    words.insert(words.end(), overrides.begin(), overrides.end());
    ASSERT_EQ(workshop.run(words).code, 0);
  }
  std::string page_of(const std::vector<std::string>& words) {
    std::vector<std::string> all = {"report"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = workshop.run(all);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(ended.out.find("report of "), 0u) << ended.out;
    return workshop.read("report.html");
  }
  static void expect_parts(const std::string& page, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  Workshop workshop;
};

TEST_F(CliReport, OfARunHasCurvesConfigurationAndPictures) {
  train("run", {"--profile"});
  const std::vector<std::string> before = workshop.list();
  const std::string page = page_of({"run"});
  expect_parts(page, {"<h1>report of run</h1>", "\"valid_error\": [[1,2,3],[", "\"test_error\"", "\"learning_rate\"",
                      "<span>best validation error</span><b>", "units = 20",
                      "how many test examples of each class are taken for each</figcaption>",
                      "the profile of the training step: ", "what is not shown"});
  std::vector<std::string> after = workshop.list();
  std::erase(after, "report.html");
  EXPECT_EQ(after, before);  // nothing is written into the run's folder
  EXPECT_EQ(page, std::string(page));
}

TEST_F(CliReport, ClassesMayHaveTheNamesOfScripts) {
  std::string table = "width,height,kind\n";
  for (int i = 0; i < 60; ++i)
    table += str(i % 7, ".5,", i % 5, ",", i % 2 ? "<script>alert(1)</script>" : "a&b", "\n");
  workshop.write("t.csv", table);
  workshop.write("tiny.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"t.csv\"\nvalid = \"t.csv\"\ntest = \"t.csv\"\n"
                 "[[model.layers]]\nname = \"softmax\"\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\nepochs = 2\n");
  train("run<b>");
  const std::string page = page_of({"run<b>"});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("run<b>"), std::string::npos);
  expect_parts(page, {"<h3>the worst mistakes</h3>", "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>",
                      "<h1>report of run&lt;b&gt;</h1>", "\"name\": \"run\\u003cb\\u003e\""});
}

TEST_F(CliReport, OfSeveralRunsTellsWhereTheyDiffer) {
  train("a");
  train("b", {"trainer.learning_rate=0.05", "model.layers.0.units=7"});
  const std::string page = page_of({"a", "b/"});
  expect_parts(page, {"<h1>report of 2 runs</h1>", "<h2>comparison</h2>", "<td>trainer.learning_rate</td>",
                      "\"axes\": [\"units\",\"learning_rate\",\"validation error\"]", "[\"20\",\"0.1\",\"",
                      "[\"7\",\"0.05\",\"", "<section id=\"run-1\">"});
}

TEST_F(CliReport, EpochsOfPhasesAreCountedOverAllOfThem) {
  workshop.write("tiny.toml", tiny_experiment() + "[[phase]]\nname = \"first\"\n[[phase]]\nname = \"second\"\n");
  train("run");
  expect_parts(page_of({"run"}), {"\"valid_error\": [[1,2,3,4,5,6],[", "\"phases\": [[0.5,\"first\"],[3.5,\"second\"]]",
                                  "<span>phase</span><b>second</b>"});
}

TEST_F(CliReport, OfASweepHasATableAndAPlotAndItsBestRun) {
  ASSERT_EQ(workshop
                .run({"sweep", "tiny.toml", "trainer.learning_rate=0.1,0.0001", "seed=1,2", "trainer.epochs=1",
                      "--run-dir", "sweep", "--quiet"})
                .code,
            0);
  const std::string page = page_of({"sweep"});
  expect_parts(page, {"<h2>sweep sweep</h2>", "4 runs, 4 begun", "<h3>results</h3>",
                      "<h3>over the seeds, mean and standard deviation (n - 1)</h3>",
                      "\"axes\": [\"learning_rate\",\"seed\",\"validation error\"]", "[\"0.0001\",\"2\",\""});
  EXPECT_EQ(page.find("<section id=\"run-1\">"), std::string::npos);  // one run alone has a section
  expect_parts(page, {"<section id=\"run-0\">\n<h2>learning_rate=0.1,seed="});
}

TEST_F(CliReport, AFileThatCameFromElsewhereIsNotOverwritten) {
  train("run");
  workshop.write("report.html", "mine");
  const Ended ended = workshop.run({"report", "run"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: report.html: there is a file of this name already\n"
            "  expected: no file, or one that `thtrain report` wrote\n"
            "  hint:     --output NAME.html writes another one\n");
  EXPECT_EQ(workshop.read("report.html"), "mine");
  // One that it wrote is.
  ASSERT_EQ(workshop.run({"report", "run", "--output", "other.html"}).code, 0);
  ASSERT_EQ(workshop.run({"report", "run", "--output", "other.html"}).code, 0);
}

TEST_F(CliReport, WatchWritesItAnewUntilTheRunsAreOver) {
  const pid_t training = workshop.start({"train", "tiny.toml", "--run-dir", "run", "trainer.epochs=100000",
                                         "trainer.patience=1000000", "trainer.max_seconds=8", "--quiet"});
  for (int i = 0; i < 600 && !workshop.exists("run/metrics.jsonl"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(workshop.exists("run/metrics.jsonl"));
  const Ended watched = workshop.run({"report", "--watch", "run"});
  EXPECT_EQ(watched.code, 0) << watched.err;
  EXPECT_EQ(watched.out.find("report report.html, written again while runs go on\nreport of "), 0u) << watched.out;
  Workshop::wait(training);
  const std::string page = workshop.read("report.html");
  expect_parts(page, {"\"reload\": 0", "<b>max_seconds</b>", "data:image/svg+xml"});
}

}  // namespace
}  // namespace thtrain
