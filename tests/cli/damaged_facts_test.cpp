// A run whose run.json is damaged has its experiment and its weights all the same.
#include <gtest/gtest.h>

#include "compiler/base/build_info.h"
#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliDamagedFacts : public testing::Test {
 protected:
  CliDamagedFacts() {
    workshop.write("tiny.toml", tiny_experiment());
    EXPECT_EQ(workshop
                  .run({"train", "tiny.toml", "--run-dir", "run", "--quiet", "compiler.mode=reference",
                        "trainer.epochs=1", "output.plots=false"})
                  .code,
              0);
    facts = workshop.read("run/run.json");
    workshop.write("x.npy", npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 784), }",
                                      std::string(2 * 784, '\x50')));
  }
  Ended predict() { return workshop.run({"predict", "run", "--input", "x.npy", "--output", "p.csv"}); }
  Workshop workshop;
  std::string facts;
};

TEST_F(CliDamagedFacts, EvalPredictAndShowGoOnWithAWarning) {
  const std::string evaluated = workshop.run({"eval", "run"}).out;
  ASSERT_EQ(predict().code, 0);
  const std::string predicted = workshop.read("p.csv");
  const std::string unknown = ": the command line of the run and how it ended are not known",
                    no_folder =
                        ", nor is the folder of its experiment: data is looked for in the working folder instead\n";
  struct Row {
    std::string text, warning;
  };
  const std::string half = facts.substr(0, facts.size() / 2);
  for (const auto& [text, warning] :
       std::vector<Row>{{"", ": no valid JSON: it ends too early" + unknown + no_folder},
                        {"{}", ": this is not what a run writes: it has no config_file" + unknown + no_folder},
                        {replaced(facts, "\"finished\"", "\"tired\""),
                         ": this is not what a run writes: its ended.how is unknown" + unknown + "\n"}}) {
    workshop.write("run/run.json", text);
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"eval", "run"}, {"predict", "run", "--input", "x.npy", "--output", "p.csv"}, {"show", "run"}}) {
      const Ended ended = workshop.run(words);
      EXPECT_EQ(ended.code, 0) << ended.err;
      EXPECT_EQ(ended.err.substr(0, ended.err.find('\n') + 1), "warning: run/run.json" + warning) << words[0];
    }
    EXPECT_EQ(workshop.run({"eval", "run"}).out, evaluated);
    EXPECT_EQ(workshop.read("p.csv"), predicted);
    EXPECT_EQ(workshop.read("run/run.json"), text);
    EXPECT_EQ(workshop.run({"resume", "run"}).code, 2);  // it would write what it does not know
  }
  workshop.write("run/run.json", half);
  EXPECT_EQ(workshop.run({"eval", "run"}).out, evaluated);
}

TEST_F(CliDamagedFacts, WhatANewerOneWroteIsStillRefused) {
  workshop.write("run/run.json", "{\"version\": \"1000.2\"}");
  EXPECT_EQ(workshop.run({"eval", "run"}).err,
            str("error: run/run.json: thtrain 1000.2 wrote this run, which is newer than this one\n"
                "  expected: a run of thtrain ",
                version, " or an earlier one\n  hint:     use thtrain 1000.2 or a newer one\n"));
}

}  // namespace
}  // namespace thtrain
