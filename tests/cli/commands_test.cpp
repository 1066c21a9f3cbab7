// The commands besides training: check, explain, data, eval, predict, info.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "compiler/base/str.h"
#include "compiler/ops/registry.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliCommands : public testing::Test {
 protected:
  CliCommands() { workshop.write("tiny.toml", tiny_experiment()); }
  // Standard output of a command that must succeed, and must write only what is named in `writes`.
  std::string output(const std::vector<std::string>& arguments, const std::string& writes = "") {
    std::vector<std::string> before = workshop.list();
    if (!writes.empty()) before.push_back(writes);
    std::sort(before.begin(), before.end());
    Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(workshop.list(), before);
    return ended.out;
  }
  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  Workshop workshop;
};

TEST_F(CliCommands, Check) {
  expect_parts(output({"check", "tiny.toml"}), {"tiny.toml: built, compiled, and one step done\n",
                                                "  hidden   dense    float32[20, 20]   15,700 parameters\n",
                                                "parameters   15,910, 62 KiB", "loss of the first minibatch: 2."});
  auto values = one_json_line(output({"check", "tiny.toml", "--json", "compiler.floatX=float64"}));
  EXPECT_EQ(values["parameters"], "15910");
  EXPECT_EQ(values["parameter_bytes"], "127280");
  EXPECT_EQ(values["layers.0.output"], "float64[20, 20]");
  EXPECT_EQ(values["layers.1.name"], "softmax");
}

// A device's counts need the emulated device; they are those of its sheet.
TEST_F(CliCommands, CheckPredictsTheTimeOfAStep) {
  const std::string text = workshop.run({"check", "tiny.toml", "--predict", "cpu", "compiler.mode=native"}).out;
  const std::regex line(
      "\n  predicted    [0-9.]+ us a step on this processor: [0-9.]+ MFLOP, [0-9.]+ KiB, [0-9]+ steps; [0-9.]+ us by "
      "arithmetic, [0-9.]+ us by memory\n  measured     [0-9.]+ [um]s, of which the prediction is [0-9]+ %\n");
  EXPECT_TRUE(std::regex_search(text, line)) << text;
  const auto of = [&](const char* device) {
    const Ended ended = workshop.run({"check", "tiny.toml", "--predict", device, "--json", "compiler.mode=native"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return one_json_line(ended.out);
  };
  auto a100 = of("a100"), t4 = of("t4");
  // A program whose kernels are launched apart, as a profile wants it, needs more memory here.
  workshop.write("logistic.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 100\nn_test = 100\n[[model.layers]]\ntype = "
                 "\"softmax\"\n[trainer]\nbatch_size = 20\n");
  const Ended logistic = workshop.run({"check", "logistic.toml", "--predict", "h100"});
  EXPECT_EQ(logistic.code, 0) << logistic.err;
  // Calls of cuDNN are launches too.
  workshop.write("conv.toml",
                 "[data]\nsource = \"digits\"\nn_train = 40\nn_valid = 20\nn_test = 20\n[[model.layers]]\ntype = "
                 "\"conv\"\nunits = 2\nsize = 5\n[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\n");
  const Ended conv = workshop.run({"check", "conv.toml", "--predict", "h100", "--json", "compiler.mode=native"});
  EXPECT_EQ(conv.code, 0) << conv.err;
  EXPECT_GE(std::stod(one_json_line(conv.out)["predicted.steps"]), 5);
  EXPECT_EQ(a100["predicted.host_steps"], "0");
  EXPECT_EQ(a100["predicted.flops"], t4["predicted.flops"]);
  EXPECT_GT(std::stod(t4["predicted.memory"]), std::stod(a100["predicted.memory"]));
  EXPECT_NEAR(std::stod(a100["predicted.launches"]), 2e-6 * std::stod(a100["predicted.steps"]), 1e-9);
}

TEST_F(CliCommands, DryRunsOfTrainAreCheck) {
  const std::vector<std::string> words = {"tiny.toml", "compiler.mode=reference", "model.layers.0.units=7"};
  auto with = [&](std::vector<std::string> first) {
    first.insert(first.end(), words.begin(), words.end());
    return output(first);
  };
  EXPECT_EQ(with({"train", "--dry-run"}), with({"check"}));
  EXPECT_EQ(one_json_line(with({"train", "--dry-run", "--json"})).at("layers.0.output"), "float32[20, 7]");
}

TEST_F(CliCommands, ExcludedRewritesAreNotApplied) {
  const std::vector<std::string> words = {"explain", "tiny.toml", "--stage=passes"};
  const std::string all = output(words);
  const size_t at = all.find(" canonicalize\n", all.find("times "));  // the first rule of the pass
  const size_t line = all.rfind('\n', at - 1) + 1;
  std::istringstream row(all.substr(line, at - line));
  std::string times, rule;
  row >> times >> rule;
  ASSERT_FALSE(rule.empty()) << all;
  std::vector<std::string> without = words;
  without.push_back("compiler.exclude_rewrites=[\"" + rule + "\", \"fuse_elementwise\"]");
  const std::string rest = output(without);
  EXPECT_EQ(rest.find(" " + rule + " "), std::string::npos) << rest;
  EXPECT_NE(all.find("fuse_elementwise"), std::string::npos);
  EXPECT_EQ(rest.find("fuse_elementwise"), std::string::npos) << rest;
  const Ended ended = workshop.run({"check", "tiny.toml", "compiler.exclude_rewrites=[\"fuse_elementwize\"]"});
  EXPECT_EQ(ended.code, 2);
  const std::string first = ended.err.substr(0, ended.err.find("  expected: "));
  EXPECT_EQ(first, "error: compiler.exclude_rewrites: there is no pass and no rule named fuse_elementwize\n");
  EXPECT_TRUE(
      ended.err.ends_with("  config:   command line:1:27\n"
                          "      1 | compiler.exclude_rewrites=[\"fuse_elementwize\"]\n"
                          "        |                           ^^^^^^^^^^^^^^^^^^^^\n"
                          "  hint:     did you mean fuse_elementwise?\n"))
      << ended.err;
}

TEST_F(CliCommands, Explain) {
  for (const char* stage : {"graph", "passes", "rewrites", "canonical", "fused", "program", "cpp"})
    EXPECT_FALSE(output({"explain", "tiny.toml", "--stage", stage}).empty()) << stage;
  expect_parts(output({"explain", "tiny.toml"}), {"hidden/W"});
  expect_parts(output({"explain", "tiny.toml", "--stage=cpp"}), {"extern \"C\""});
  EXPECT_NE(output({"explain", "tiny.toml", "--function=valid"}), output({"explain", "tiny.toml", "--function=train"}));
}

TEST_F(CliCommands, CheckAndExplainTakeRunFolders) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run", "model.layers.0.units=7"}).code, 0);
  expect_parts(output({"check", "run"}), {"run/config.toml: built, compiled, and one step done\n", "float32[20, 7]"});
  expect_parts(output({"explain", "run"}), {"shared %", "hidden/W : float32[784, 7]"});
  for (const char* stage : {"passes", "rewrites", "canonical", "fused", "program", "cpp"})
    EXPECT_FALSE(output({"explain", "run", str("--stage=", stage)}).empty()) << stage;
  expect_parts(output({"explain", "run", "model.layers.0.units=5"}), {"hidden/W : float32[784, 5]"});
  output({"explain", "run", "--html", "page.html"}, "page.html");
  expect_parts(workshop.read("page.html"), {"<h1>config.toml</h1>"});
}

// They were those of std::construct_at, which the standard library's containers call.
TEST_F(CliCommands, ExplainNamesNoFileOfTheStandardLibrary) {
  output({"explain", "tiny.toml", "--html", "page.html"}, "page.html");
  const std::string page = workshop.read("page.html");
  EXPECT_EQ(page.find("include/c++"), std::string::npos) << page.substr(page.find("include/c++") - 50, 100);
  expect_parts(page, {"trainers/feed.cpp:"});
}

TEST_F(CliCommands, ExplainTellsWhatEachPassDid) {
  const std::string text = output({"explain", "tiny.toml", "--stage=rewrites"});
  expect_parts(text, {"pass canonicalize: -(-x) + 0 + x -> 2 * x\n  nodes: ", "\n  rule ", " (exact", "\n  - %",
                      "\n  + %", "\npass find_gemm: ", " -> gemm(velocity/hidden/W, "});
  EXPECT_EQ(output({"explain", "tiny.toml", "--stage=rewrites"}), text);
}

TEST_F(CliCommands, ExplainWritesAPage) {
  const std::string said = output({"explain", "tiny.toml", "--html", "page.html"}, "page.html");
  expect_parts(said, {"page of ", " written to page.html\n"});
  const std::string page = workshop.read("page.html");
  expect_parts(page, {"<h1>tiny.toml</h1>", "the training step", "hidden/W", "</html>\n"});
  // A file that is there is replaced.
  workshop.write("page.html", "old");
  output({"explain", "tiny.toml", "--function=valid", "--html", "page.html"});
  expect_parts(workshop.read("page.html"), {"the counting of errors", "</html>\n"});
}

TEST_F(CliCommands, Data) {
  std::string text = output({"data", "tiny.toml", "--check"});
  expect_parts(
      text, {"digits: 10 classes, in memory", "examples  200 of [28, 28]", "uint8[200, 28, 28]", "range     0 to 0.99",
             "label  train  valid  test", "    9     20      4     4\n", "all of it was read"});
  auto values = one_json_line(output({"data", "tiny.toml", "--json"}));
  EXPECT_EQ(values["classes"], "10");
  EXPECT_EQ(values["train.labels.0"], "20");
}

TEST_F(CliCommands, DataThatIsStreamedIsReadOnlyWithCheck) {
  // 70 MiB of zeros and one NaN in the last row: mapped, and more than the limit.
  constexpr int64_t kRows = 180000, kColumns = 100;
  Tensor x = Tensor::zeros(DType::kFloat32, {kRows, kColumns}), y = Tensor::zeros(DType::kInt64, {kRows});
  y.data<int64_t>()[0] = 1;
  x.data<float>()[x.size() - 2] = std::numeric_limits<float>::quiet_NaN();
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), y);
  workshop.write("big.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nmemory_limit = 0.01\n"
                 "[[model.layers]]\ntype = \"softmax\"\n");
  expect_parts(output({"data", "big.toml"}), {"read while training", "--check reads all of it"});
  Ended ended = workshop.run({"data", "big.toml", "--check"});
  EXPECT_EQ(ended.code, 2);
  expect_parts(ended.err, {"x.npy: row 179999, column 98: not a finite number"});
}

TEST_F(CliCommands, EvalAndPredict) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run"}).code, 0);
  auto test = one_json_line(output({"eval", "run", "--json"}));
  EXPECT_EQ(test["examples"], "40");
  EXPECT_EQ(test["weights"], "run/best.npz");
  EXPECT_NE(test["test_error"], "");
  auto valid = one_json_line(output({"eval", "tiny.toml", "--weights", "run/best.npz", "--part=valid", "--json"}));
  auto last = one_json_line(workshop.run({"resume", "run", "--json"}).out);
  EXPECT_EQ(valid["valid_error"], last["valid_error"]);
  EXPECT_EQ(test["test_error"], last["test_error"]);
  expect_parts(output({"eval", "run"}), {"test error ", " of 40 examples), loss "});

  Tensor x = Tensor::zeros(DType::kUInt8, {5, 28, 28});
  for (int64_t i = 0; i < x.size(); ++i) x.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
  write_npy(workshop.path("x.npy"), x);
  expect_parts(output({"predict", "run", "--input", "x.npy", "--output", "p.npy"}, "p.npy"), {"classes of 5 examples"});
  output({"predict", "run", "--input", "x.npy", "--output", "q.npy", "--probabilities"}, "q.npy");
  output({"predict", "run", "--input", "x.npy", "--output", "both.npz"}, "both.npz");
  Tensor classes = read_npy(workshop.path("p.npy")), probabilities = read_npy(workshop.path("q.npy"));
  EXPECT_EQ(classes.type_text(), "int64[5]");
  ASSERT_EQ(probabilities.type_text(), "float32[5, 10]");
  auto both = read_npz(workshop.path("both.npz"));
  EXPECT_TRUE(same_bits(both.at("classes"), classes));
  EXPECT_TRUE(same_bits(both.at("probabilities"), probabilities));
  for (int64_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (int64_t column = 0; column < 10; ++column) sum += probabilities.at<float>({row, column});
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(CliCommands, Info) {
  expect_parts(output({"info"}),
               {"thtrain ", "\n  processor ", "\n  vectors ", "\n  BLAS ", "\n  compiler ", "\n  cache "});
  auto values = one_json_line(output({"info", "--ops", "--json"}));
  for (const char* key : {"version", "build", "vector_bytes", "blas_kernels", "compiler", "cache_folder", "threads"})
    EXPECT_NE(values[key], "") << key;
  std::string text = output({"info", "--ops"});
  for (size_t i = 0; i < all_ops().size(); ++i) {
    EXPECT_EQ(values["ops." + std::to_string(i) + ".name"], all_ops()[i]->name);
    EXPECT_NE(text.find("\n" + all_ops()[i]->name + "\n    "), std::string::npos) << all_ops()[i]->name;
  }
  expect_parts(text,
               {"\nadd\n"
                "    a + b; of bools: a or b.\n"
                "    dtypes: bool, integers, floats, complex numbers.\n"
                "    Gradient: d/da = 1, d/db = 1.\n"
                "    Error bound: 1 u.\n"
                "    Edge cases: integers wrap around.\n"
                "    Example: add([1, 2], 3) = [4, 5]\n"
                "    Device: kernel.\n"
                "    Rules: elementwise, gradient, forward mode, vmap, in place, commutative, lengths, cost; "
                "compiler/ops/elemwise/arithmetic.cpp\n",
                "\n    Rules: kernel, gradient, forward mode by two reverse passes, vmap by a loop, in place, cost; "
                "compiler/ops/linalg/gemm.cpp\n"});
}

}  // namespace
}  // namespace thtrain
