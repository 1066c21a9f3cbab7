// `thtrain show`: which pictures it draws of which runs, and what it refuses.
#include <unistd.h>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

const char* const kQuick = "[trainer]\nepochs = 2\nbatch_size = 20\n[compiler]\nmode = \"reference\"\n";

std::string convnet() {
  return str(
      "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\n"
      "[[model.layers]]\ntype = \"conv\"\nname = \"conv\"\nunits = 4\nsize = 5\n"
      "[[model.layers]]\ntype = \"pool\"\nsize = 4\nactivation = \"tanh\"\n"
      "[[model.layers]]\ntype = \"softmax\"\nname = \"softmax\"\n",
      kQuick);
}

// Every line but the last one, which has the weights' path.
std::string without_weights(const std::string& out) {
  return out.substr(0, out.rfind("weights "));
}

// Without what follows the lists, and with E for the calibration error.
std::string without_numbers(const std::string& out) {
  std::string lists = out.substr(0, std::min(out.find("how well scores rank"), out.rfind("weights ")));
  const std::string before = "expected calibration error ";
  const size_t at = lists.find(before);
  return at == std::string::npos ? lists : lists.replace(at + before.size(), 6, "E");
}

TEST(CliShow, WhatAKilledOneLeftGoes) {
  Workshop workshop;
  workshop.write("tiny.toml", tiny_experiment());
  ASSERT_EQ(
      workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet", "compiler.mode=reference", "trainer.epochs=1"})
          .code,
      0);
  const pid_t gone = workshop.start({"info"});
  Workshop::wait(gone);
  ASSERT_EQ(workshop.run({"show", "run", "--output", "seen"}).code, 0);
  const std::vector<std::string> before = workshop.list();
  for (const char* folder : {"run/plots", "seen"}) {
    workshop.write(str(folder, "/confusion_test.png.tmp-", gone, "-3"), "half");
    workshop.write(str(folder, "/learning_curves.svg.tmp-", gone, "-12"), "half");
  }
  const std::string alive = str("seen/saliency.png.tmp-", ::getpid(), "-0");
  workshop.write(alive, "half");
  ASSERT_EQ(workshop.run({"show", "run", "--output", "seen"}).code, 0);
  ASSERT_EQ(workshop.run({"show", "run"}).code, 0);
  EXPECT_TRUE(workshop.exists(alive));
  for (const std::string& name : workshop.list())
    if (name != alive) {
      EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
    }
}

TEST(CliShow, OfAConvolutionalNet) {
  Workshop workshop;
  workshop.write("net.toml", convnet());
  ASSERT_EQ(workshop.run({"train", "net.toml", "--run-dir", "run"}).code, 0);
  const std::string curves = workshop.read("run/plots/learning_curves.svg");
  EXPECT_NE(curves.find(">run</text>"), std::string::npos) << curves;
  const Ended shown = workshop.run({"show", "run", "--occlusion", "14", "--example", "3"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(workshop.read("run/plots/learning_curves.svg"), curves);  // what training drew
  EXPECT_NE(shown.out.find("\nhow well scores rank 40 test examples\n"
                           "  class  examples  area under ROC  average precision\n      0         4 "),
            std::string::npos)
      << shown.out;
  EXPECT_EQ(without_numbers(shown.out),
            "pictures in run/plots\n"
            "  learning_curves.png, .svg       errors and losses after each epoch\n"
            "  weights_conv.png                the 4 filters of conv, each picture scaled by itself\n"
            "  histograms.png, .svg            how the numbers of 4 arrays of the model are distributed\n"
            "  examples.png                    the first test examples of each class\n"
            "  confusion_test.png, .svg        how many test examples of each class are taken for each\n"
            "  mistakes_test.png               the worst mistakes among 40 test examples, with probabilities\n"
            "  ranking_test.png, .svg          how the scores rank 40 test examples: each class and the others, the 8 "
            "of 10 with the smallest areas\n"
            "  reliability_test.png, .svg      how far the probabilities of 40 test examples can be believed: expected "
            "calibration error E\n"
            "  embedding_pool1_test.png, .svg  what the layer pool1 gives for 40 test examples, 144 numbers each, in "
            "the plane\n"
            "  feature_maps.png                what the layers of images make of test example 3\n"
            "  saliency.png                    which pixels of test example 3 decide: covered by a grey square, and by "
            "the gradient\n"
            "not drawn\n"
            "  decision boundary: examples have the shape [28, 28], not [2]\n");
  for (const char* file : {"learning_curves.png", "weights_conv.png", "histograms.svg", "saliency.png"})
    EXPECT_TRUE(workshop.exists(std::string("run/plots/") + file)) << file;
  // Without a font.
  const Ended plain = workshop.shell("THTRAIN_FONT=none.ttf \"$THTRAIN\" show run --output plain");
  ASSERT_EQ(plain.code, 0);
  EXPECT_TRUE(plain.err.starts_with("warning: ")) << plain.err;
  EXPECT_TRUE(workshop.exists("plain/saliency.svg"));
  EXPECT_FALSE(workshop.exists("plain/saliency.png"));
  // Elsewhere, and of another part and layer.
  const Ended other = workshop.run({"show", "run", "--output", "seen", "--part", "valid", "--layer", "softmax"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("  weights_softmax.png  "), std::string::npos) << other.out;
  EXPECT_TRUE(workshop.exists("seen/confusion_valid.png"));
  EXPECT_NE(other.out.find("what the layers of images make of validation example 0\n"), std::string::npos) << other.out;
}

TEST(CliShow, WhatItRefuses) {
  Workshop workshop;
  workshop.write("net.toml", convnet());
  ASSERT_EQ(workshop.run({"train", "net.toml", "--run-dir", "run"}).code, 0);
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "show");
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    return ended.err;
  };
  EXPECT_EQ(refused({"rum"}),
            "error: cannot read rum\n"
            "  expected: a TOML file, or the folder of a run\n"
            "  got:      no such file or folder\n"
            "  hint:     did you mean run?\n");
  EXPECT_EQ(refused({"net.toml"}),
            "error: thtrain show: an experiment file has learned nothing\n"
            "  expected: the folder of a run\n"
            "  got:      net.toml\n");
  EXPECT_EQ(refused({"run", "--layer", "cov"}),
            "error: thtrain show: there is no layer cov\n"
            "  expected: conv, pool1, softmax\n"
            "  hint:     did you mean conv?\n");
  EXPECT_EQ(refused({"run", "--layer", "pool1"}),
            "error: thtrain show: the layer pool1 has no weights to draw\n"
            "  expected: conv, softmax\n");
  EXPECT_EQ(refused({"run", "--example", "40"}),
            "error: thtrain show: there is no such test example\n"
            "  expected: --example from 0 to 39\n"
            "  got:      40\n");
  EXPECT_EQ(refused({"run", "--part", "train", "--example", "200"}),
            "error: thtrain show: there is no such training example\n"
            "  expected: --example from 0 to 199\n"
            "  got:      200\n");
  EXPECT_EQ(refused({"run", "data.n_valid=0", "--part", "valid"}),
            "error: there are no validation examples to show\n"
            "  expected: --part with another part of the data\n");
  EXPECT_EQ(refused({"run", "--occlusion", "29"}),
            "error: thtrain show: --occlusion: the square is larger than the picture\n"
            "  expected: at most 28 (pixels)\n"
            "  got:      29\n");
  EXPECT_EQ(refused({"run", "--stride", "8"}),
            "error: thtrain show: --stride: the square would leave pixels out\n"
            "  expected: at most 7 (pixels of the square)\n"
            "  got:      8\n");
  EXPECT_EQ(refused({"run", "data.n_test=0", "--part", "test"}),
            "error: there are no test examples to show\n"
            "  expected: --part with another part of the data\n");
  EXPECT_FALSE(workshop.exists("run/plots/weights_conv.png"));  // nothing was drawn
}

// Weights alone, where the examples are gone.
TEST(CliShow, WithoutItsData) {
  Workshop workshop;
  std::string csv = "a,b,kind\n";
  for (int i = 0; i < 40; ++i) csv += str(i % 7, ',', i % 5, ',', i % 2 ? "yes" : "no", '\n');
  workshop.write("table.csv", csv);
  workshop.write("net.toml", str("[data]\nsource = \"csv\"\ntrain = \"table.csv\"\nvalid_fraction = 0.5\n"
                                 "[[model.layers]]\ntype = \"softmax\"\n",
                                 kQuick));
  ASSERT_EQ(workshop.run({"train", "net.toml", "--run-dir", "run"}).code, 0);
  const Ended all = workshop.run({"show", "run"});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.out.find(
                "  boundary.png, .svg           the class of each point of the plane, with 20 validation examples\n"),
            std::string::npos)
      << all.out;
  EXPECT_NE(all.out.find("the worst mistakes\n  example  class  its probability  taken for  its probability  a  b\n"),
            std::string::npos)
      << all.out;
  ASSERT_EQ(workshop.shell("rm table.csv; rm -r run/plots").code, 0);
  const Ended rest = workshop.run({"show", "run"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(without_weights(rest.out),
            str("pictures in run/plots\n"
                "  learning_curves.png, .svg  errors and losses after each epoch\n"
                "  weights_softmax.png        the weights of softmax: 2 inputs in rows, 2 units in columns\n"
                "  histograms.png, .svg       how the numbers of 2 arrays of the model are distributed\n"
                "not drawn\n"
                "  everything of examples: ",
                workshop.path("table.csv"), ": no such file\n"));
}

TEST(CliShow, OfARegression) {
  Workshop workshop;
  workshop.write("net.toml", str("[data]\nsource = \"friedman\"\nn_train = 200\nn_valid = 60\nn_test = 40\n"
                                 "[[model.layers]]\ntype = \"dense\"\nunits = 1\n[loss]\ntype = \"squared_error\"\n",
                                 kQuick));
  ASSERT_EQ(workshop.run({"train", "net.toml", "--run-dir", "run"}).code, 0);
  const Ended shown = workshop.run({"show", "run"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(
      without_weights(shown.out),
      "pictures in run/plots\n"
      "  learning_curves.png, .svg   errors and losses after each epoch\n"
      "  weights_dense1.png          the weights of dense1: 10 inputs in rows, 1 unit in a column\n"
      "  histograms.png, .svg        how the numbers of 2 arrays of the model are distributed\n"
      "  predictions_test.png, .svg  what the model gives compared with the values of 40 test examples\n"
      "  embedding_x_test.png, .svg  the examples themselves for 40 test examples, 10 numbers each, in the plane\n"
      "not drawn\n"
      "  pictures of examples: examples of the shape [10] are no pictures\n"
      "  confusion matrix and mistakes: the model does not tell classes apart\n"
      "  feature maps: no layer gives images\n"
      "  occlusion and gradient: examples are no pictures\n");
}

// What belongs to one of several outputs is drawn of each, in files that name it.
TEST(CliShow, OfSeveralOutputs) {
  Workshop workshop;
  std::string csv;
  for (int j = 0; j < 16; ++j) csv += str('p', j, ',');
  csv += "left,right,kind\n";
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 16; ++j) csv += str((7 * i + 3 * j) % 10, ',');
    csv += str(i % 7, ',', i % 5, ',', i % 3, '\n');
  }
  workshop.write("table.csv", csv);
  workshop.write("net.toml",
                 str("[data]\nsource = \"csv\"\ntrain = \"table.csv\"\ntest = \"table.csv\"\nscale = 0.1\n"
                     "target = \"values\"\nlabel_count = 3\n"
                     "[[model.layers]]\ntype = \"dense\"\nname = \"hidden\"\nunits = 5\n"
                     "[[model.layers]]\ntype = \"dense\"\nname = \"numbers\"\nunits = 2\ninputs = [\"hidden\"]\n"
                     "[[model.layers]]\ntype = \"softmax\"\nname = \"kind\"\nunits = 3\ninputs = [\"hidden\"]\n"
                     "[[model.layers]]\ntype = \"dense\"\nname = \"copy\"\nunits = 16\ninputs = [\"hidden\"]\n"
                     "[[loss.outputs]]\nlayer = \"numbers\"\ntype = \"squared_error\"\ncolumns = [0, 2]\n"
                     "[[loss.outputs]]\nlayer = \"kind\"\ncolumns = [2, 3]\n"
                     "[[loss.outputs]]\nlayer = \"copy\"\ntype = \"squared_error\"\ncompare_with = \"inputs\"\n",
                     kQuick));
  const Ended trained = workshop.run({"train", "net.toml", "--run-dir", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ended shown = workshop.run({"show", "run"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(
      without_numbers(shown.out),
      "pictures in run/plots\n"
      "  learning_curves.png, .svg           errors and losses after each epoch\n"
      "  weights_hidden.png                  the 5 filters of hidden, each picture scaled by itself\n"
      "  histograms.png, .svg                how the numbers of 8 arrays of the model are distributed\n"
      "  examples.png                        the first test examples\n"
      "  predictions_numbers_test.png, .svg  what the model gives compared with the values of 40 test examples (output "
      "numbers)\n"
      "  confusion_kind_test.png, .svg       how many test examples of each class are taken for each (output kind)\n"
      "  mistakes_kind_test.png              the worst mistakes among 40 test examples, with probabilities (output "
      "kind)\n"
      "  ranking_kind_test.png, .svg         how the scores rank 40 test examples: each class and the others (output "
      "kind)\n"
      "  reliability_kind_test.png, .svg     how far the probabilities of 40 test examples can be believed: expected "
      "calibration error E (output kind)\n"
      "  reconstructions_copy_test.png       what the model gives for 36 test examples, below each (output copy)\n"
      "  embedding_hidden_test.png, .svg     what the layer hidden gives for 40 test examples, 5 numbers each, in the "
      "plane\n"
      "  saliency_numbers.png                which pixels of test example 0 decide (output numbers): covered by a grey "
      "square, and by the gradient\n"
      "  saliency_kind.png                   which pixels of test example 0 decide (output kind): covered by a grey "
      "square, and by the gradient\n"
      "not drawn\n"
      "  confusion matrix and mistakes (output numbers): the output does not tell classes apart\n"
      "  confusion matrix and mistakes (output copy): the output does not tell classes apart\n"
      "  feature maps: no layer gives images\n"
      "  decision boundary (output kind): examples have the shape [16], not [2]\n"
      "  occlusion and gradient (output copy): the output learns no targets\n");
  // Titles and panels: each column of numbers has its name, and the confusion matrix counts the 40 examples.
  const std::string predictions = workshop.read("run/plots/predictions_numbers_test.svg"),
                    confusion = workshop.read("run/plots/confusion_kind_test.svg");
  for (const char* text : {">left</text>", ">right</text>", "40 test examples (output numbers)</text>"})
    EXPECT_NE(predictions.find(text), std::string::npos) << text;
  EXPECT_NE(confusion.find(">Confusion of test examples (output kind)</text>"), std::string::npos) << confusion;
}

// Machines and autoencoders tell no classes apart.
TEST(CliShow, OfModelsWithoutTargets) {
  Workshop workshop;
  const std::string digits = "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\n";
  workshop.write("rbm.toml", str(digits,
                                 "[[model.layers]]\ntype = \"rbm\"\nunits = 6\n"
                                 "[loss]\ntype = \"contrastive_divergence\"\n",
                                 kQuick));
  ASSERT_EQ(workshop.run({"train", "rbm.toml", "--run-dir", "rbm"}).code, 0);
  const Ended machine = workshop.run({"show", "rbm"});
  ASSERT_EQ(machine.code, 0) << machine.err;
  EXPECT_EQ(
      without_weights(machine.out),
      "pictures in rbm/plots\n"
      "  learning_curves.png, .svg   errors and losses after each epoch\n"
      "  weights_rbm1.png            the 6 filters of rbm1, each picture scaled by itself\n"
      "  histograms.png, .svg        how the numbers of 3 arrays of the model are distributed\n"
      "  examples.png                the first test examples of each class\n"
      "  embedding_x_test.png, .svg  the examples themselves for 40 test examples, 784 numbers each, in the plane\n"
      "not drawn\n"
      "  confusion matrix and mistakes: the model does not tell classes apart\n"
      "  feature maps: no layer gives images\n"
      "  occlusion and gradient: the model learns no targets\n");
  workshop.write("net.toml", str(digits,
                                 "[[model.layers]]\ntype = \"dense\"\nunits = 5\nactivation = \"tanh\"\n"
                                 "[[model.layers]]\ntype = \"dense\"\nunits = 784\nactivation = \"sigmoid\"\n"
                                 "[loss]\ntype = \"squared_error\"\ncompare_with = \"inputs\"\n",
                                 kQuick));
  ASSERT_EQ(workshop.run({"train", "net.toml", "--run-dir", "run"}).code, 0);
  const Ended shown = workshop.run({"show", "run"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(
      shown.out.find("  reconstructions_test.png         what the model gives for 36 test examples, below each\n"),
      std::string::npos)
      << shown.out;
}

// Of an earlier phase, files begin with its name.
TEST(CliShow, OfAPhase) {
  Workshop workshop;
  workshop.write("net.toml", str("[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\n", kQuick,
                                 "[[phase]]\nname = \"first\"\n"
                                 "[[phase.model.layers]]\ntype = \"dense\"\nname = \"hidden\"\nunits = 5\n"
                                 "[[phase.model.layers]]\ntype = \"dense\"\nname = \"back\"\nunits = 784\n"
                                 "[phase.loss]\ntype = \"squared_error\"\ncompare_with = \"inputs\"\n"
                                 "[[phase]]\nname = \"second\"\n"
                                 "[[phase.model.layers]]\ntype = \"dense\"\nname = \"hidden\"\nunits = 5\n"
                                 "[[phase.model.layers]]\ntype = \"softmax\"\n"));
  const Ended trained = workshop.run({"train", "net.toml", "--run-dir", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ended first = workshop.run({"show", "run", "--phase", "first", "--layer", "back"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("  first_reconstructions_test.png         what the model gives for 36 test examples"),
            std::string::npos)
      << first.out;
  EXPECT_NE(first.out.find("weights run/best_first.npz\n"), std::string::npos) << first.out;
  const Ended last = workshop.run({"show", "run"});
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_NE(last.out.find("  confusion_test.png, .svg         how many"), std::string::npos) << last.out;
}

}  // namespace
}  // namespace thtrain
