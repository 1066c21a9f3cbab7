// `thtrain sample`: text from a model of the next symbol, and what it refuses.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// Windows of "abcabc...", of which the next symbol follows from the one before; classes are called a, b and "c ".
class CliSample : public testing::Test {
 protected:
  CliSample() {
    Tensor x = Tensor::empty(DType::kInt64, {12, 6}), y = Tensor::empty(DType::kInt64, {12, 6});
    for (int64_t i = 0; i < 72; ++i) {
      x.data<int64_t>()[i] = (i / 6 + i % 6) % 3;
      y.data<int64_t>()[i] = (i / 6 + i % 6 + 1) % 3;
    }
    write_npy(workshop.path("x.npy"), x);
    write_npy(workshop.path("y.npy"), y);
    workshop.write("e.toml", experiment("[[model.layers]]\ntype = \"embedding\"\nunits = 4\n"
                                        "[[model.layers]]\ntype = \"lstm\"\nname = \"memory\"\nunits = 8\n"));
  }
  static std::string experiment(const std::string& layers) {
    return "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nsequences = true\n"
           "class_names = [\"a\", \"b\", \"c \"]\n" +
           layers +
           "[[model.layers]]\ntype = \"softmax\"\n"
           "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.05\nbatch_size = 4\nepochs = 20\n"
           "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
  }
  void train(const std::string& file = "e.toml", const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train", file, "--run-dir", "run", "--quiet", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = workshop.run(words);
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  std::string sample(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"sample", "run"};
    words.insert(words.end(), more.begin(), more.end());
    const std::vector<std::string> before = workshop.list();
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(workshop.list(), before);
    return ended.out;
  }
  std::string refused(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"sample", "run"};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.out.empty());
    return without_resolved_lines(replaced(ended.err, workshop.path(), "HERE"), workshop);
  }
  Workshop workshop;
};

TEST_F(CliSample, WritesWhatWasLearned) {
  train();
  EXPECT_EQ(sample({"--start", "ab", "--length", "7", "--temperature", "0"}), "abc abc abc \n");
  EXPECT_EQ(sample({"--start", "c ", "--length", "3", "--temperature", "0"}), "c abc \n");
  const std::string drawn = sample({"--length", "40", "--seed", "3", "--temperature", "4"});
  EXPECT_EQ(sample({"--length", "40", "--seed", "3", "--temperature", "4"}), drawn);
  EXPECT_NE(sample({"--length", "40", "--seed", "4", "--temperature", "4"}), drawn);
}

// The state of a run that carries it is that of its minibatches; the text begins with its own.
TEST_F(CliSample, ModelsThatCarryTheirState) {
  train("e.toml", {"model.layers.1.carry=true", "trainer.shuffle=false"});
  EXPECT_EQ(sample({"--start", "ab", "--length", "7", "--temperature", "0"}), "abc abc abc \n");
}

// Two steps in one call are two calls of one step: what an lstm knows of the steps before is its state.
TEST_F(CliSample, GoesOnFromItsState) {
  Tensor x = Tensor::empty(DType::kInt64, {8, 6}), y = Tensor::empty(DType::kInt64, {8, 6});
  for (int64_t i = 0; i < 48; ++i) {  // a a b a a b: what follows an a is decided by the symbol before it
    x.data<int64_t>()[i] = (i / 6 + i % 6) % 3 == 2 ? 1 : 0;
    y.data<int64_t>()[i] = (i / 6 + i % 6 + 1) % 3 == 2 ? 1 : 0;
  }
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), y);
  train("e.toml", {"trainer.epochs=60"});
  EXPECT_EQ(sample({"--start", "aaba", "--length", "6", "--temperature", "0"}), "aabaabaaba\n");
}

// Of a text file; its characters are rows of zeros with a one.
TEST_F(CliSample, ModelsOfATextFile) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "ha\u00e9\n";
  workshop.write("t.txt", text);
  workshop.write("t.toml",
                 "[data]\nsource = \"text\"\nfile = \"t.txt\"\nsteps = 8\n"
                 "[[model.layers]]\ntype = \"gru\"\nunits = 8\n[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.05\nbatch_size = 4\nepochs = 20\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  train("t.toml");
  EXPECT_EQ(sample({"--start", "h", "--length", "7", "--temperature", "0"}), "ha\u00e9\nha\u00e9\n\n");
}

// Its characters are numbers that no layer takes for symbols.
TEST_F(CliSample, ModelsOfTheNumbersOfCharacters) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "ab";
  workshop.write("t.txt", text);
  workshop.write("t.toml",
                 "[data]\nsource = \"text\"\nfile = \"t.txt\"\nsteps = 8\none_hot = false\n"
                 "[[model.layers]]\ntype = \"gru\"\nunits = 8\n[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.05\nbatch_size = 4\nepochs = 20\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  train("t.toml");
  EXPECT_EQ(sample({"--start", "a", "--length", "5", "--temperature", "0"}), "ababab\n");
}

TEST_F(CliSample, RefusesWhatItCannotSpell) {
  train();
  EXPECT_EQ(refused({"--start", "abx"}),
            "error: --start has a symbol that the model does not know\n"
            "  expected: \"a\", \"b\", \"c \"\n"
            "  got:      \"x\"\n");
}

TEST_F(CliSample, RefusesModelsThatTellNoNextSymbol) {
  workshop.write("b.toml", experiment("[[model.layers]]\ntype = \"one_hot\"\n"
                                      "[[model.layers]]\ntype = \"bidirectional\"\nname = \"both\"\nunits = 2\n"));
  train("b.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({}),
            "error: layer both walks sequences backwards: it cannot write text\n"
            "  expected: layers of one direction, such as type = \"lstm\"\n"
            "  config:   run/config.toml:LINE:8\n"
            "     LINE | type = \"bidirectional\"\n"
            "        |        ^^^^^^^^^^^^^^^\n");
}

TEST_F(CliSample, RefusesLayersThatGoBackwards) {
  train("e.toml", {"trainer.epochs=1", "model.layers.1.go_backwards=true"});
  EXPECT_EQ(refused({}),
            "error: layer memory walks sequences backwards: it cannot write text\n"
            "  expected: go_backwards = false\n"
            "  config:   run/config.toml:LINE:16\n"
            "     LINE | go_backwards = true\n"
            "        |                ^^^^\n");
}

TEST_F(CliSample, RefusesModelsOfWholeSequences) {
  write_npy(workshop.path("y.npy"), Tensor::of(std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, {12}));
  train("e.toml", {"trainer.epochs=1", "model.layers.1.output=last"});
  EXPECT_EQ(refused({}),
            "error: the output softmax does not tell the next symbol of a text\n"
            "  expected: logits of 3 symbols at each step of a sequence: the layer softmax\n"
            "  got:      of each sequence float32[1, 3]\n"
            "  config:   run/config.toml:LINE:1\n"
            "     LINE | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n");
}

TEST_F(CliSample, RefusesRunsOfOtherData) {
  workshop.write("d.toml", tiny_experiment());
  train("d.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({}),
            "error: run: this run's model gives no text\n"
            "  expected: a run of sequences whose classes have names, the symbols of a text; or of piano rolls\n"
            "  got:      examples that are no sequences\n");
}

TEST_F(CliSample, RefusesRunsWithoutNames) {
  std::string unnamed = workshop.read("e.toml");
  unnamed.erase(unnamed.find("class_names"), std::string("class_names = [\"a\", \"b\", \"c \"]\n").size());
  workshop.write("u.toml", unnamed);
  train("u.toml", {"trainer.epochs=1"});
  EXPECT_EQ(refused({}),
            "error: run: this run's model gives no text\n"
            "  expected: a run of sequences whose classes have names, the symbols of a text; or of piano rolls\n"
            "  got:      no names of classes\n"
            "  hint:     data.class_names in the experiment gives them, in the order of the classes\n");
}

}  // namespace
}  // namespace thtrain
