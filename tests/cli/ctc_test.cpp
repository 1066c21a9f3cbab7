// A run that learns sequences of labels, without saying at which steps they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/base/random_state.h"
#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// 40 sequences of 3 to 7 steps. Their labels are one or two of the classes 0, 1, 2 but for the blank; number c shows
// for a step, or for two, where the label c is, and a row of `width` labels is padded with `padding`.
void write_sequences(const Workshop& workshop, int64_t blank, int64_t width, int64_t padding) {
  RandomState random(3);
  Tensor x = Tensor::zeros(DType::kFloat32, {40, 7, 3}), y = Tensor::empty(DType::kInt64, {40, width}),
         lengths = Tensor::empty(DType::kInt64, {40});
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t k = 0; k < width; ++k) y.data<int64_t>()[i * width + k] = padding;
    int64_t t = 0;
    auto show = [&](int64_t number) { x.data<float>()[(i * 7 + t++) * 3 + number] = 1; };
    const int64_t labels = 1 + i % 2;
    for (int64_t k = 0; k < labels; ++k) {
      const int64_t label = (blank + 1 + random.integer(0, 1)) % 3;
      y.data<int64_t>()[i * width + k] = label;
      for (int64_t repeat = random.integer(1, 2); repeat > 0; --repeat) show(label);
      show(blank);
    }
    for (; t < 3;) show(blank);
    lengths.data<int64_t>()[i] = t;
  }
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), y);
  write_npy(workshop.path("l.npy"), lengths);
}

std::string experiment(const std::string& loss) {
  return "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nsequences = true\n"
         "train_lengths = \"l.npy\"\nn_valid = 10\n"
         "[[model.layers]]\ntype = \"lstm\"\nunits = 8\n[[model.layers]]\ntype = \"softmax\"\nunits = 3\n" +
         loss +
         "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.05\nbatch_size = 10\nepochs = 30\n"
         "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
}

TEST(CtcRun, LearnsLabelsAndTheBlankIsThatOfTheOptions) {
  for (int64_t blank : {0, 2}) {
    Workshop workshop;
    write_sequences(workshop, blank, 7, blank);
    workshop.write("e.toml", experiment(str("[loss]\ntype = \"ctc\"\nblank = ", blank, "\n")));
    const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ended measured = workshop.run({"eval", "run", "--part", "valid", "--json"});
    ASSERT_EQ(measured.code, 0) << measured.err;
    EXPECT_LT(std::stod(one_json_line(measured.out).at("loss")), 0.1) << trained.out;
  }
}

TEST(CtcRun, LabelsOfAnyWidthEndWithMinusOneOrTheBlank) {
  std::string losses;
  for (auto [width, padding] : {std::pair(2, -1), {2, 0}, {7, -1}, {9, -1}}) {
    Workshop workshop;
    write_sequences(workshop, 0, width, padding);
    workshop.write("e.toml", experiment("[loss]\ntype = \"ctc\"\n"));
    const Ended checked = workshop.run({"check", "e.toml"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ended measured = workshop.run({"eval", "run", "--part", "valid", "--json"});
    ASSERT_EQ(measured.code, 0) << measured.err;
    const std::string loss = one_json_line(measured.out).at("loss");
    EXPECT_LT(std::stod(loss), 0.1);
    if (losses.empty()) losses = loss;
    EXPECT_NEAR(std::stod(loss), std::stod(losses), 1e-4) << width << " labels, padded with " << padding;
    const Ended streamed = workshop.run({"eval", "run", "--part", "valid", "--json", "data.memory_limit=1e-7"});
    EXPECT_EQ(streamed.code, 0) << streamed.err;
  }
}

TEST(CtcRun, DataCountsTheLabels) {
  Workshop workshop;
  write_sequences(workshop, 0, 3, -1);
  workshop.write("e.toml", experiment("[loss]\ntype = \"ctc\"\n"));
  const Ended ended = workshop.run({"data", "e.toml", "--check"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.substr(0, ended.out.find('\n')), "npy: label sequences of 2 classes, in memory");
  EXPECT_NE(ended.out.find("\nlabel  train  valid\n    0      0      0\n"), std::string::npos) << ended.out;
}

Tensor filled(Shape shape, int64_t value) {
  Tensor out = Tensor::empty(DType::kInt64, std::move(shape));
  std::fill_n(out.data<int64_t>(), out.size(), value);
  return out;
}

// The error of `thtrain train` with these labels.
std::string error_of(const std::vector<std::vector<int64_t>>& labels) {
  Workshop workshop;
  write_sequences(workshop, 0, 3, -1);
  const auto width = std::ssize(labels.front());
  Tensor y = filled({40, width}, -1);
  for (int64_t i = 0; i < std::ssize(labels); ++i)
    for (int64_t k = 0; k < width; ++k)
      y.data<int64_t>()[i * width + k] = labels[static_cast<size_t>(i)][static_cast<size_t>(k)];
  write_npy(workshop.path("y.npy"), y);
  Tensor lengths = filled({40}, 7);
  lengths.data<int64_t>()[1] = 3;
  write_npy(workshop.path("l.npy"), lengths);
  workshop.write("e.toml", experiment("[loss]\ntype = \"ctc\"\n"));
  const Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"});
  EXPECT_EQ(ended.code, 2) << ended.err;
  return without_folder(ended.err.substr(ended.err.find("error: ")), workshop);
}

const std::string kLocation =
    "  config:   e.toml:4:16\n"
    "      4 | train_labels = \"y.npy\"\n"
    "        |                ^^^^^^^\n";

TEST(CtcRun, RefusesLabelsThatNoPathSpells) {
  EXPECT_EQ(error_of({{1, 2, -1}, {1, 1, 2}}),
            "error: y.npy: row 1: the sequence has fewer steps than its labels need\n"
            "  expected: at least 4 steps: 3 labels, and one between each of 1 equal neighbours\n"
            "  got:      3 steps\n" +
                kLocation + "  hint:     rows and columns count from 0\n");
  EXPECT_EQ(error_of({{1, 2, -1}, {1, -1, 2}}),
            "error: y.npy: row 1, label 2: a label behind the end of the labels\n"
            "  expected: -1, or the blank, 0, behind the first of them\n"
            "  got:      2\n" +
                kLocation + "  hint:     rows and columns count from 0\n");
  EXPECT_EQ(error_of({{1, 2, -2}}),
            "error: y.npy: row 0, label 2: the label is out of range\n"
            "  expected: -1 or more\n"
            "  got:      -2\n" +
                kLocation +
                "  hint:     rows and columns count from 0; classes are numbered 0, 1, 2, ..., and -1 follows the "
                "last label\n");
  EXPECT_EQ(error_of({{1, 2, 3}}),
            "error: model.layers.1.units is below the number of classes in the data\n"
            "  expected: at least 4 (classes)\n"
            "  got:      3\n"
            "  config:   e.toml:13:9\n"
            "     13 | units = 3\n"
            "        |         ^\n"
            "  hint:     without units the layer takes as many as the data has\n");
}

TEST(CtcRun, RefusesDataOfOneClassForASequence) {
  Workshop workshop;
  write_sequences(workshop, 0, 3, -1);
  write_npy(workshop.path("y.npy"), Tensor::zeros(DType::kInt64, {40}));
  workshop.write("e.toml", experiment("[loss]\ntype = \"ctc\"\n"));
  const Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(without_folder(ended.err.substr(ended.err.find("error: ")), workshop),
            "error: y.npy: the labels are not a sequence of labels for each sequence\n"
            "  expected: an array [40, labels] as wide as the longest of them, -1 behind the end\n"
            "  got:      int64[40]\n" +
                kLocation +
                "  hint:     the objective learns label sequences: [[1, 2, 1], [2, -1, -1]] are those of two "
                "sequences\n");
}

}  // namespace
}  // namespace thtrain
