// `thtrain tune`: what it prints, and that what it found is used.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// Numbers that are measured become "#", names of candidates "CANDIDATE"; whether the machine was busy is left out.
std::string without_measurements(std::string text) {
  text = std::regex_replace(text, std::regex("library|oneDNN|tile [0-9x]+|rows [0-9x]+|filters [0-9x]+"), "CANDIDATE");
  text = std::regex_replace(text, std::regex("CANDIDATE: (not installed|[0-9.]+ sec, [0-9.]+ GFLOP/s)\n"),
                            "CANDIDATE #\n");
  text = std::regex_replace(text, std::regex("(\\* CANDIDATE #\n)+"), "* CANDIDATE #\n");
  text = std::regex_replace(text, std::regex("\\([0-9]+ choices?\\)"), "(#)");
  text = std::regex_replace(text, std::regex("the machine was busy: .*\n"), "");
  return std::regex_replace(text, std::regex("remembered in .*\n"), "remembered in FOLDER\n");
}

TEST(CliTune, SaysWhyThereIsNothingToMeasure) {
  Workshop workshop;
  workshop.write("tiny.toml", tiny_experiment());
  Ended ended = workshop.run({"tune", "tiny.toml", "compiler.mode=reference", "compiler.threads=1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "0 choices for 1 thread: compiler.mode = \"reference\" computes without native code\n");
}

// Into another cache folder, as on another machine with this processor.
TEST(CliTune, TimesAreExchanged) {
  Workshop workshop;
  EnvironmentVariable threads("OMP_NUM_THREADS", "1");
  workshop.write("tiny.toml", tiny_experiment());
  {
    EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("first").c_str());
    const Ended nothing = workshop.run({"tune", "--export", "node.times"});
    EXPECT_EQ(nothing.code, 2);
    EXPECT_FALSE(workshop.exists("node.times"));
    EXPECT_EQ(nothing.err,
              "error: thtrain tune: nothing is remembered of this machine for 1 thread\n"
              "  expected: times to export\n"
              "  hint:     `thtrain tune lab.toml` measures them; OMP_NUM_THREADS is the number of threads\n");
    ASSERT_EQ(workshop.run({"tune", "tiny.toml"}).code, 0);
    const Ended out = workshop.run({"tune", "--export", "node.times"});
    EXPECT_TRUE(std::regex_match(out.out, std::regex("times of [0-9]+ choices for 1 thread written to node.times\n")))
        << out.out << out.err;
  }
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("second").c_str());
  const Ended in = workshop.run({"tune", "--import", "node.times"});
  EXPECT_TRUE(std::regex_match(in.out, std::regex("times of [0-9]+ choices for 1 thread taken over from node.times\n")))
      << in.out << in.err;
  ASSERT_EQ(workshop.run({"tune", "--export", "again.times"}).code, 0);
  ASSERT_EQ(workshop.run({"tune", "--export", "again.times"}).code, 0);
  const std::string experiment = workshop.read("tiny.toml");
  EXPECT_EQ(workshop.run({"tune", "--export", "tiny.toml"}).err,
            "error: thtrain tune: --export would write over tiny.toml, which is no file of times\n"
            "  expected: a new name, or that of a file of times\n"
            "  hint:     the times of all experiments are exported: no experiment file is named\n");
  EXPECT_EQ(workshop.read("tiny.toml"), experiment);
  EXPECT_EQ(workshop.read("again.times"), workshop.read("node.times"));
}

// Those of the emulated device are of that alone.
TEST(CliTune, TimesOfADeviceAreExchanged) {
  Workshop workshop;
  workshop.write("tiny.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 40\nn_test = 40\n"
                 "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\n");
  {
    EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("first").c_str());
    EXPECT_EQ(workshop.run({"tune", "--export", "gpu.times", "--device", "emulated"}).err,
              "error: thtrain tune: nothing is remembered of this machine on emulated device, sm_75\n"
              "  expected: times to export\n"
              "  hint:     `thtrain tune lab.toml compiler.device=emulated` measures them\n");
    const Ended tuned = workshop.run({"tune", "tiny.toml", "compiler.device=emulated", "--only", "cuBLAS"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    const Ended out = workshop.run({"tune", "--export", "gpu.times", "--device", "emulated"});
    EXPECT_TRUE(std::regex_match(
        out.out, std::regex("times of [0-9]+ choices on emulated device, sm_75 written to gpu.times\n")))
        << out.out << out.err;
  }
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("second").c_str());
  const Ended in = workshop.run({"tune", "--import", "gpu.times", "--device", "emulated"});
  EXPECT_TRUE(std::regex_match(
      in.out, std::regex("times of [0-9]+ choices on emulated device, sm_75 taken over from gpu.times\n")))
      << in.out << in.err;
  EXPECT_EQ(workshop.run({"tune", "--import", "gpu.times"}).code, 2) << "of another machine";
  ASSERT_EQ(workshop.run({"tune", "--export", "again.times", "--device", "emulated"}).code, 0);
  EXPECT_EQ(workshop.read("again.times"), workshop.read("gpu.times"));
}

TEST(CliTune, MeasuresEveryProductAndRemembersTheFastest) {
  Workshop workshop;  // with a cache of its own: what is measured again is remembered
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("cache").c_str());
  workshop.write("tiny.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 40\nn_test = 40\n"
                 "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\n");
  Ended ended = workshop.run({"tune", "tiny.toml", "compiler.threads=1"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  auto product = [](const std::string& name) { return name + " (#):\n* CANDIDATE #\n= CANDIDATE\n\n"; };
  EXPECT_EQ(without_measurements(ended.out),
            product("matrix_product float32 20x784x10 NN") + product("matrix_product float32 784x20x10 TN added") +
                product("matrix_product float32 40x784x10 NN") + "3 choices for 1 thread, remembered in FOLDER\n");

  Ended json = workshop.run({"tune", "tiny.toml", "compiler.threads=1", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  std::map<std::string, std::string> values = one_json_line(json.out);
  EXPECT_EQ(values["threads"], "1");
  EXPECT_EQ(values["choices.0.computation"] + ": " + values["choices.0.properties"],
            "matrix_product: float32 20x784x10 NN");
  EXPECT_EQ(values["choices.0.choice"], values["choices.0.trials.0.candidate"]);

  std::string program = workshop.run({"explain", "tiny.toml", "compiler.threads=1", "--stage=program"}).out;
  std::string choice = values["choices.0.choice"];
  std::string shown = choice == "library"            ? "-- gemm_f32"
                      : choice.starts_with("oneDNN") ? "-- onednn_f32"
                                                     : "kernel gemm_" + choice.substr(5);
  EXPECT_NE(program.find(shown), std::string::npos) << choice << "\n" << program;
}

TEST(CliTune, TimesConvolutionsAndObeysLists) {
  Workshop workshop;
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("cache").c_str());
  workshop.write("tiny.toml",
                 "[data]\nsource = \"digits\"\nn_train = 40\nn_valid = 0\nn_test = 20\n"
                 "[[model.layers]]\ntype = \"conv\"\nunits = 2\nsize = 5\n"
                 "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\n");
  Ended ended = workshop.run({"tune", "tiny.toml", "compiler.threads=1", "compiler.only_candidates=[\"conv*:patches\"]",
                              "compiler.exclude_candidates=[\"tile *\", \"oneDNN\"]"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.find("* filters "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("* tile "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("* oneDNN"), std::string::npos) << ended.out;
  const std::string text = without_measurements(ended.out);
  const std::regex one("(^|\n)conv float32 b20 i1x28x28 k2x5x5 \\(#\\):\n\\* patches: [^\n]*\n= patches\n\n");
  EXPECT_TRUE(std::regex_search(text, one)) << text;
  EXPECT_NE(text.find("conv_weight_gradient float32 b20 i1x28x28 k2x5x5 (#):\n"), std::string::npos) << text;

  Ended wrong = workshop.run({"tune", "tiny.toml", "compiler.threads=1", "compiler.exclude_candidates=[\"libary\"]"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_TRUE(wrong.err.starts_with(
      "error: compiler.exclude_candidates: there is no candidate libary here\n  expected: conv: "))
      << wrong.err;
}

}  // namespace
}  // namespace thtrain
