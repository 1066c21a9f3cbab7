// Several outputs, autoencoders, class names in a file, and what folds print: from experiment files to what is written.
#include <gtest/gtest.h>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/friedman.h"
#include "datasets/sources/two_digits.h"
#include "tests/support/cli_support.h"
#include "tests/support/error_text.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

const char* const kKindAndCopy =
    "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\n"
    "[[model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 4\nactivation = \"tanh\"\n"
    "[[model.layers]]\nname = \"kind\"\ntype = \"softmax\"\n"
    "[[model.layers]]\nname = \"copy\"\ntype = \"dense\"\nunits = 2\ninputs = [\"hidden\"]\n"
    "[[loss.outputs]]\nlayer = \"kind\"\n"
    "[[loss.outputs]]\nlayer = \"copy\"\ntype = \"squared_error\"\nweight = 0.5\ncompare_with = \"inputs\"\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 4\nepochs = 20\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";

class CliOutputs : public testing::Test {
 protected:
  CliOutputs() {
    Tensor x = Tensor::empty(DType::kFloat32, {8, 2}), y = Tensor::empty(DType::kInt64, {8});
    for (int i = 0; i < 8; ++i) {
      y.data<int64_t>()[i] = i % 2;
      x.data<float>()[2 * i] = static_cast<float>(i % 2 == 0 ? -1 - i : 1 + i) / 8;
      x.data<float>()[2 * i + 1] = 0.25f;
    }
    write_npy(workshop.path("x.npy"), x);
    write_npy(workshop.path("y.npy"), y);
    workshop.write("e.toml", kKindAndCopy);
    workshop.write("names.txt", "left\nright side\n");
  }
  Ended run(std::vector<std::string> words) const {
    Ended ended = workshop.run(words);
    for (size_t at; (at = ended.err.find(workshop.path())) != std::string::npos;)
      ended.err.replace(at, workshop.path().size(), "HERE");
    return ended;
  }
  // `check` of this experiment file.
  std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    workshop.write("bad.toml", text);
    std::vector<std::string> words = {"check", "bad.toml"};
    words.insert(words.end(), overrides.begin(), overrides.end());
    Ended ended = run(words);
    EXPECT_EQ(ended.code, ended.err.empty() ? 0 : 2);
    return "\n" + ended.err;
  }
  Workshop workshop;
};

TEST_F(CliOutputs, AreTrainedEvaluatedAndPredicted) {
  Ended trained = run({"train", "e.toml", "--run-dir", "run"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  // Without validation examples, the last weights are in best.npz.
  EXPECT_TRUE(workshop.exists("run/best.npz"));
  Ended evaluated = run({"eval", "run", "--part", "train"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  for (const char* part : {"training error 0.000000 % (0 of 8 examples), loss 0.", "\ntraining loss.kind 0.",
                           "\ntraining loss.copy 0.", "\nweights run/best.npz\n"})
    EXPECT_NE(evaluated.out.find(part), std::string::npos) << part << evaluated.out;
  auto json = one_json_line(run({"eval", "run", "--part", "train", "--json"}).out);
  EXPECT_NEAR(std::stod(json.at("loss")),
              std::stod(json.at("train_loss.kind")) + std::stod(json.at("train_loss.copy")) / 2, 1e-6);
  EXPECT_EQ(run({"predict", "run", "--input", "x.npy", "--output", "p.npz"}).out,
            "kind, copy of 8 examples written to p.npz\nweights run/best.npz\n");
  std::map<std::string, Tensor> arrays = read_npz(workshop.path("p.npz"));
  EXPECT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("kind/classes").text(), "[0, 1, 0, 1, 0, 1, 0, 1]");
  EXPECT_EQ(arrays.at("kind/probabilities").shape(), (Shape{8, 2}));
  EXPECT_EQ(arrays.at("copy/values").shape(), (Shape{8, 2}));
  EXPECT_EQ(run({"predict", "run", "--input", "x.npy", "--output", "p.csv"}).code, 0);
  std::string table = workshop.read("p.csv");
  EXPECT_EQ(table.substr(0, table.find('\n')), "id,kind,copy[0],copy[1]");
  EXPECT_NE(table.find("\n1,"), std::string::npos);
  EXPECT_EQ(run({"predict", "run", "--input", "x.npy", "--output", "p.csv", "--probabilities"}).code, 0);
  table = workshop.read("p.csv");
  EXPECT_EQ(table.substr(0, table.find('\n')), "id,kind,kind[0],kind[1],copy[0],copy[1]");
  Ended refused = run({"predict", "run", "--input", "x.npy", "--output", "p.npy"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err,
            "error: a .npy file holds one array, and the model has several outputs\n"
            "  expected: --output with a name that ends in .npz or .csv\n"
            "  got:      kind, copy\n");
  Ended resumed = run({"resume", "run", "trainer.epochs=21"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(CliOutputs, ClassNamesInAFile) {
  Ended trained = run({"train", "e.toml", "--run-dir", "run", "data.class_names_file=names.txt"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(workshop.read("run/config.toml").find("class_names_file = \"" + workshop.path("names.txt") + "\"\n"),
            std::string::npos);
  EXPECT_EQ(run({"predict", "run", "--input", "x.npy", "--output", "p.csv"}).code, 0);
  EXPECT_NE(workshop.read("p.csv").find(",\"right side\","), std::string::npos) << workshop.read("p.csv");
  // Without a run folder, from the file itself.
  workshop.write("named.toml", std::string(kKindAndCopy).insert(7, "class_names_file = \"names.txt\"\n"));
  EXPECT_EQ(run({"predict", "named.toml", "--weights", "run/best.npz", "--input", "x.npy", "--output", "q.csv"}).code,
            0);
  EXPECT_EQ(workshop.read("q.csv"), workshop.read("p.csv"));
}

TEST_F(CliOutputs, GeneratorsTakeClassNamesFromAFileToo) {
  Experiment experiment;
  workshop.write("ten.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
  auto names = [&](auto config, const char* file) {
    config.n_train = config.n_valid = config.n_test = 2;
    config.class_names_file = workshop.path(file);
    experiment.data = config;
    return load_data(experiment, "").class_names.back();
  };
  EXPECT_EQ(names(TwoDigitsConfig(), "ten.txt"), "nine");
  EXPECT_EQ(names(DigitsConfig(), "ten.txt"), "nine");
  EXPECT_EQ(text_without_node([&] { names(FriedmanConfig(), "names.txt"); }),
            "error: data.class_names does not fit the data\n"
            "  expected: classes or labels to name\n"
            "  got:      data.target = \"values\"\n"
            "  hint:     values have no names: leave data.class_names out");
}

TEST_F(CliOutputs, BadFilesOfClassNames) {
  auto text = [&](const std::string& names) {
    workshop.write("bad.txt", names);
    return error_of(kKindAndCopy, {"data.class_names_file=bad.txt"});
  };
  const std::string location =
      "  config:   command line:1:23\n"
      "      1 | data.class_names_file=bad.txt\n"
      "        |                       ^^^^^^^\n";
  EXPECT_EQ(text(""),
            "\nerror: HERE/bad.txt: there are no names of classes\n  expected: a name in each line\n"
            "  got:      no lines\n" +
                location);
  EXPECT_EQ(text("a\n\nb\n"), "\nerror: HERE/bad.txt: line 2 is empty\n  expected: a name in each line\n" + location);
  EXPECT_EQ(text("a\nb\na\n"),
            "\nerror: HERE/bad.txt: line 3: two classes have the same name\n"
            "  expected: a name for each class\n  got:      \"a\", as in line 1\n" +
                location);
  EXPECT_EQ(text("a\r\n  b \r\n\n"), "\n");
  EXPECT_EQ(error_of(kKindAndCopy, {"data.class_names_file=none.txt"}).substr(0, 33),
            "\nerror: \"none.txt\" was not found\n");
  EXPECT_EQ(error_of(kKindAndCopy, {"data.class_names_file=names.txt", "data.class_names=[\"a\", \"b\"]"}),
            "\nerror: data.class_names and data.class_names_file are both given\n"
            "  expected: one of them\n"
            "  config:   command line:1:23\n"
            "      1 | data.class_names_file=names.txt\n"
            "        |                       ^^^^^^^^^\n");
  EXPECT_EQ(error_of(kKindAndCopy, {"data.class_names_file=names.txt", "data.target=values"}).substr(0, 44),
            "\nerror: data.class_names_file has no effect\n");
}

TEST_F(CliOutputs, WhatTheFileSaysWrongly) {
  const std::string good = kKindAndCopy;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return error_of(text);
  };
  EXPECT_EQ(error_of(good), "\n");
  EXPECT_EQ(with("layer = \"copy\"", "layer = \"cpy\""),
            "\nerror: loss.outputs.1.layer is no layer of the model\n"
            "  expected: one of hidden, kind, copy\n"
            "  got:      cpy\n"
            "  config:   bad.toml:21:9\n"
            "     21 | layer = \"cpy\"\n"
            "        |         ^^^^^\n"
            "  hint:     did you mean copy?\n");
  EXPECT_EQ(with("layer = \"copy\"", "layer = \"kind\""),
            "\nerror: two of loss.outputs judge the layer kind\n"
            "  expected: one for each layer\n"
            "  config:   bad.toml:21:9\n"
            "     21 | layer = \"kind\"\n"
            "        |         ^^^^^^\n");
  EXPECT_EQ(with("weight = 0.5", "weight = 1e308"),
            "\nerror: loss.outputs.1.weight is no factor that float32 can hold\n"
            "  expected: 0, or from 1.1754943508222875e-38 to 3.4028234663852886e+38\n"
            "  got:      1e+308\n"
            "  config:   bad.toml:23:10\n"
            "     23 | weight = 1e308\n"
            "        |          ^^^^^\n");
  EXPECT_EQ(error_of(good, {"loss.outputs.0.weight=0", "loss.outputs.1.weight=0"}),
            "\nerror: loss.outputs.0.weight is 0, as those of all outputs: nothing would be trained\n"
            "  expected: a weight above 0 for one of loss.outputs\n"
            "  config:   command line:1:23\n"
            "      1 | loss.outputs.0.weight=0\n"
            "        |                       ^\n");
  EXPECT_EQ(error_of(good, {"loss.outputs.0.weight=0"}), "\n");
  EXPECT_EQ(with("type = \"squared_error\"\n", ""),
            "\nerror: objective \"negative_log_likelihood\" compares with classes\n"
            "  expected: another type, such as \"squared_error\"\n"
            "  got:      loss.outputs.1.compare_with = \"inputs\"\n"
            "  config:   bad.toml:23:16\n"
            "     23 | compare_with = \"inputs\"\n"
            "        |                ^^^^^^^^\n");
  EXPECT_EQ(with("type = \"squared_error\"\nweight = 0.5\ncompare_with = \"inputs\"", "weight = 1.0"), "\n");
  EXPECT_EQ(with("weight = 0.5", "weight = -1.0"),
            "\nerror: loss.outputs.1.weight is out of range\n"
            "  expected: a number, at least 0\n"
            "  got:      -1.0\n"
            "  config:   bad.toml:23:10\n"
            "     23 | weight = -1.0\n"
            "        |          ^^^^\n"
            "  hint:     weight: factor of its loss in the sum\n");
  EXPECT_EQ(with("weight = 0.5", "columns = [0, 1]"),
            "\nerror: loss.outputs.1.columns has no effect\n"
            "  expected: compare_with = \"targets\"\n"
            "  got:      compare_with = \"inputs\"\n"
            "  config:   bad.toml:23:11\n"
            "     23 | columns = [0, 1]\n"
            "        |           ^^^^^^\n");
  EXPECT_EQ(with("layer = \"kind\"\n", "layer = \"kind\"\ncolumns = [3, 3]\n"),
            "\nerror: loss.outputs.0.columns is no range\n"
            "  expected: [first, end]: the first column, from 0, and the one after the last\n"
            "  got:      [3, 3]\n"
            "  config:   bad.toml:20:11\n"
            "     20 | columns = [3, 3]\n"
            "        |           ^^^^^^\n");
  EXPECT_EQ(
      with("[[loss.outputs]]\nlayer = \"kind\"\n",
           "[loss]\ntype = \"hinge\"\ncompare_with = \"inputs\"\nclass_weights = [1.0, 2.0]\n[[loss.outputs]]\nlayer = "
           "\"kind\"\n"),
      "\nerror: loss.type has no effect\n"
      "  expected: type in each [[loss.outputs]]\n"
      "  config:   bad.toml:19:8\n"
      "     19 | type = \"hinge\"\n"
      "        |        ^^^^^^^\n"
      "error: loss.compare_with has no effect\n"
      "  expected: compare_with in each [[loss.outputs]]\n"
      "  config:   bad.toml:20:16\n"
      "     20 | compare_with = \"inputs\"\n"
      "        |                ^^^^^^^^\n"
      "error: loss.class_weights has no effect\n"
      "  expected: class_weights in each [[loss.outputs]]\n"
      "  config:   bad.toml:21:17\n"
      "     21 | class_weights = [1.0, 2.0]\n"
      "        |                 ^^^^^^^^^^\n");
  EXPECT_EQ(with("name = \"copy\"", "name = \"data\"").substr(0, 280),
            "\nerror: model.layers.2.name is a name that thtrain uses itself\n"
            "  expected: another name\n"
            "  got:      \"data\"\n"
            "  config:   bad.toml:14:8\n"
            "     14 | name = \"data\"\n"
            "        |        ^^^^^^\n"
            "  hint:     data/mean and data/scale in files of weights are those of standardized examples\n");
}

// A model of one output that gives what it takes.
TEST_F(CliOutputs, AnAutoencoderInToml) {
  workshop.write("a.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nstandardize = \"all\"\n"
                 "[[model.layers]]\ntype = \"dense\"\nunits = 2\n"
                 "[loss]\ntype = \"squared_error\"\ncompare_with = \"inputs\"\n"
                 "[trainer]\nlearning_rate = 0.5\nbatch_size = 4\nepochs = 100\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  Ended trained = run({"train", "a.toml", "--run-dir", "run"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(run({"predict", "run", "--input", "x.npy", "--output", "p.npy"}).code, 0);
  Tensor x = read_npy(workshop.path("x.npy")), p = read_npy(workshop.path("p.npy"));
  ASSERT_EQ(x.shape(), p.shape());
  for (int64_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x.as_double(i), p.as_double(i), 1e-3);
}

TEST_F(CliOutputs, FoldsNameTheirMetric) {
  const std::vector<std::string> words = {
      "train", "e.toml", "--folds", "2", "trainer.monitor=loss.copy", "trainer.batch_size=2"};
  Ended ended = run(words);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\n2 folds: best validation loss.copy 0."), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find('%', ended.out.find("2 folds: best")), std::string::npos) << ended.out;
  std::vector<std::string> json = words;
  json.insert(json.end(), {"--json", "--quiet"});
  const std::string out = run(json).out;
  const std::string last = out.substr(out.rfind('\n', out.size() - 2) + 1);
  EXPECT_EQ(one_json_line(last).at("metric"), "loss.copy");
}

}  // namespace
}  // namespace thtrain
