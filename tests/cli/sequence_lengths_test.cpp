// Sequences of different lengths at the command line: `predict` with their lengths and without, and `eval` of steps.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

constexpr int64_t kCount = 6, kSteps = 5, kNumbers = 2;
constexpr const char* kWarning =
    "warning: the run was trained on sequences of different lengths; without --lengths every example has all 5 steps\n";

// Six sequences of 1 to 5 steps; behind their ends there is NaN.
class CliSequenceLengths : public testing::Test {
 protected:
  CliSequenceLengths() {
    Tensor y = Tensor::zeros(DType::kInt64, {kCount, kSteps});
    for (int64_t i = 0; i < kCount; ++i)
      for (int64_t t = 0; t < kSteps; ++t) {
        for (int64_t j = 0; j < kNumbers; ++j)
          x.data<double>()[(i * kSteps + t) * kNumbers + j] =
              t < length(i) ? std::sin(static_cast<double>(7 * i + 3 * t + 5 * j)) : std::nan("");
        y.data<int64_t>()[i * kSteps + t] = (i + t) % 2;
      }
    write_npy(workshop.path("x.npy"), x);
    write_npy(workshop.path("y.npy"), y);
    write_npy(workshop.path("one.npy"), Tensor::vector<int64_t>({0, 1, 0, 1, 0, 1}));
    write_npy(workshop.path("l.npy"), lengths);
    workshop.write("e.toml",
                   "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nsequences = true\n"
                   "train_lengths = \"l.npy\"\n"
                   "[[model.layers]]\ntype = \"rnn\"\nunits = 3\n"
                   "[[model.layers]]\ntype = \"softmax\"\n"
                   "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 2\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  static int64_t length(int64_t i) { return lengths.as_int(i); }
  void train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train", "e.toml", "--run-dir", "run", "--quiet", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = workshop.run(words);
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  Ended predict(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", "run", "--output", "p.npz"};
    words.insert(words.end(), more.begin(), more.end());
    return workshop.run(words);
  }
  std::string refused(const std::vector<std::string>& more) {
    const Ended ended = predict(more);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    return ended.err;
  }
  // Of sequence i alone, without what follows its end.
  std::map<std::string, Tensor> alone(int64_t i) {
    Tensor steps = Tensor::zeros(DType::kFloat64, {1, length(i), kNumbers});
    std::copy_n(x.data<double>() + i * kSteps * kNumbers, steps.size(), steps.data<double>());
    write_npy(workshop.path("one_x.npy"), steps);
    const Ended ended = workshop.run({"predict", "run", "--input", "one_x.npy", "--output", "one.npz"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return read_npz(workshop.path("one.npz"));
  }
  Tensor x = Tensor::zeros(DType::kFloat64, {kCount, kSteps, kNumbers});
  inline static const Tensor lengths = Tensor::vector<int64_t>({3, 5, 1, 4, 2, 5});
  Workshop workshop;
};

TEST_F(CliSequenceLengths, EachIsPredictedAsIfItWereAlone) {
  train();
  const Ended ended = predict({"--input", "x.npy", "--lengths", "l.npy"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  const std::map<std::string, Tensor> all = read_npz(workshop.path("p.npz"));
  const Tensor &classes = all.at("classes"), &probabilities = all.at("probabilities");
  ASSERT_EQ(classes.shape(), (Shape{kCount, kSteps}));
  ASSERT_EQ(probabilities.shape(), (Shape{kCount, kSteps, 2}));
  for (int64_t i = 0; i < kCount; ++i) {
    const std::map<std::string, Tensor> one = alone(i);
    for (int64_t t = 0; t < kSteps; ++t) {
      const bool is_within = t < length(i);
      EXPECT_EQ(classes.as_int(i * kSteps + t), is_within ? one.at("classes").as_int(t) : -1) << i << ' ' << t;
      for (int64_t c = 0; c < 2; ++c)
        EXPECT_NEAR(probabilities.as_double((i * kSteps + t) * 2 + c),
                    is_within ? one.at("probabilities").as_double(t * 2 + c) : 0, 1e-6)
            << i << ' ' << t;
    }
  }
}

TEST_F(CliSequenceLengths, TheLastStepIsThatOfEach) {
  train({"data.train_labels=one.npy", "model.layers.0.output=last"});
  EXPECT_EQ(predict({"--input", "x.npy", "--lengths", "l.npy"}).err, "");
  const Tensor probabilities = read_npz(workshop.path("p.npz")).at("probabilities");
  ASSERT_EQ(probabilities.shape(), (Shape{kCount, 2}));
  for (int64_t i = 0; i < kCount; ++i)
    EXPECT_NEAR(probabilities.as_double(2 * i), alone(i).at("probabilities").as_double(0), 1e-6) << i;
}

TEST_F(CliSequenceLengths, ValuesBehindAnEndAre0) {
  Tensor y = Tensor::zeros(DType::kFloat64, {kCount, kSteps, 1});
  for (int64_t i = 0; i < y.size(); ++i) y.data<double>()[i] = 5 + static_cast<double>(i % 3);
  write_npy(workshop.path("y.npy"), y);
  train({"data.target=values", "data.standardize_targets=true", "loss.type=squared_error",
         "model.layers.1={type = \"dense\", name = \"out\", units = 1}"});
  EXPECT_EQ(predict({"--input", "x.npy", "--lengths", "l.npy"}).err, "");
  const Tensor values = read_npz(workshop.path("p.npz")).at("values");
  ASSERT_EQ(values.shape(), (Shape{kCount, kSteps, 1}));
  for (int64_t i = 0; i < kCount; ++i)
    for (int64_t t = 0; t < kSteps; ++t) EXPECT_EQ(values.as_double(i * kSteps + t) == 0, t >= length(i)) << i;
}

TEST_F(CliSequenceLengths, SaysWhereNoneAreGiven) {
  train();
  EXPECT_EQ(refused({"--input", "x.npy"}),
            "error: x.npy: row 0, element [3, 0]: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      nan\n"
            "  hint:     rows and columns count from 0;\n"
            "            --lengths FILE says where each sequence ends; what follows it may be anything\n");
  write_npy(workshop.path("zeros.npy"), Tensor::zeros(DType::kFloat32, {2, kSteps, kNumbers}));
  const Ended ended = predict({"--input", "zeros.npy"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, kWarning);
}

TEST_F(CliSequenceLengths, RefusesOthersThanLengths) {
  train();
  write_npy(workshop.path("bad.npy"), Tensor::vector<int64_t>({3, 5, 6, 4, 2, 5}));
  EXPECT_EQ(refused({"--input", "x.npy", "--lengths", "bad.npy"}),
            "error: bad.npy: row 2: the length of the sequence is out of range\n"
            "  expected: from 1 to 5, the steps in x.npy\n"
            "  got:      6\n"
            "  hint:     rows and columns count from 0\n");
  write_npy(workshop.path("bad.npy"), Tensor::vector<int64_t>({3, 5}));
  EXPECT_EQ(refused({"--input", "x.npy", "--lengths", "bad.npy"}),
            "error: sequences and lengths differ in number\n"
            "  expected: 6 rows, as in x.npy\n"
            "  got:      2 rows in bad.npy\n");
  EXPECT_EQ(refused({"--input", "x.npy", "data.train_lengths=l.npy"}),
            "error: thtrain predict: data.train_lengths has no effect\n"
            "  expected: --lengths with the file of the lengths of the sequences in --input\n"
            "  got:      data.train_lengths=l.npy\n");
  EXPECT_EQ(workshop.run({"predict", "run", "--input", "x.npy", "--lengths", "l.npy", "--output", "l.npy"}).err,
            "error: l.npy: the output would overwrite the lengths\n"
            "  expected: --output with another name\n");
  workshop.write("rows.toml", tiny_experiment());
  ASSERT_EQ(workshop.run({"train", "rows.toml", "--run-dir", "rows", "--quiet"}).code, 0);
  EXPECT_EQ(workshop.run({"predict", "rows", "--input", "x.npy", "--lengths", "l.npy", "--output", "p.npy"}).err,
            "error: thtrain predict: --lengths has no use: the model's examples are no sequences\n"
            "  expected: no --lengths\n");
}

TEST_F(CliSequenceLengths, NamesTheFilesShape) {
  train();
  write_npy(workshop.path("flat.npy"), Tensor::zeros(DType::kFloat64, {kCount, 12}));
  EXPECT_EQ(refused({"--input", "flat.npy"}),
            "error: flat.npy: the examples have another size than the model takes\n"
            "  expected: 2 numbers for each step, as rnn1/W float32[2, 3] in run/best.npz has rows\n"
            "  got:      float64[6, 12]: 1 for each step\n");
}

// 20 steps are in the six sequences.
TEST_F(CliSequenceLengths, EvalCountsSteps) {
  train();
  const Ended ended = workshop.run({"eval", "run", "--part", "train"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::map<std::string, std::string> json =
      one_json_line(workshop.run({"eval", "run", "--part", "train", "--json"}).out);
  EXPECT_EQ(json.at("examples"), "6");
  EXPECT_EQ(json.at("steps"), "20");
  EXPECT_NE(ended.out.find(str(" (", json.at("errors"), " of 20 steps), loss ")), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nsteps taken for\n"), std::string::npos) << ended.out;
  // What predict gives is wrong as often.
  ASSERT_EQ(predict({"--input", "x.npy", "--lengths", "l.npy"}).code, 0);
  const Tensor classes = read_npz(workshop.path("p.npz")).at("classes");
  int64_t wrong = 0;
  for (int64_t i = 0; i < kCount; ++i)
    for (int64_t t = 0; t < length(i); ++t) wrong += classes.as_int(i * kSteps + t) != (i + t) % 2;
  EXPECT_EQ(json.at("errors"), std::to_string(wrong));
}

}  // namespace
}  // namespace thtrain
