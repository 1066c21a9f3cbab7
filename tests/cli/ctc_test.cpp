// A run that learns sequences of labels, without saying at which steps they stand.
#include <gtest/gtest.h>

#include "compiler/base/random_state.h"
#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// 40 sequences of 3 to 7 steps. Their labels are one or two of the classes 0, 1, 2 but for the blank; number c shows
// for a step, or for two, where the label c stands, and the label's row is padded with blanks.
void write_sequences(const Workshop& workshop, int64_t blank) {
  RandomState random(3);
  Tensor x = Tensor::zeros(DType::kFloat32, {40, 7, 3}), y = Tensor::empty(DType::kInt64, {40, 7}),
         lengths = Tensor::empty(DType::kInt64, {40});
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t k = 0; k < 7; ++k) y.data<int64_t>()[i * 7 + k] = blank;
    int64_t t = 0;
    auto show = [&](int64_t number) { x.data<float>()[(i * 7 + t++) * 3 + number] = 1; };
    const int64_t labels = 1 + i % 2;
    for (int64_t k = 0; k < labels; ++k) {
      const int64_t label = (blank + 1 + random.integer(0, 1)) % 3;
      y.data<int64_t>()[i * 7 + k] = label;
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
    write_sequences(workshop, blank);
    workshop.write("e.toml", experiment(str("[loss]\ntype = \"ctc\"\nblank = ", blank, "\n")));
    const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Ended measured = workshop.run({"eval", "run", "--part", "valid", "--json"});
    ASSERT_EQ(measured.code, 0) << measured.err;
    EXPECT_LT(std::stod(one_json_line(measured.out).at("loss")), 0.1) << trained.out;
  }
}

TEST(CtcRun, RefusesDataOfOneClassForASequence) {
  Workshop workshop;
  write_sequences(workshop, 0);
  write_npy(workshop.path("y.npy"), Tensor::zeros(DType::kInt64, {40}));
  workshop.write("e.toml", experiment("[loss]\ntype = \"ctc\"\n"));
  const Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.substr(ended.err.find("error: ")),
            "error: objective \"ctc\" cannot take these targets\n"
            "  expected: int64[sequences, labels] (labels of each sequence, -1 behind the last one)\n"
            "  got:      int64[10] beside an output float32[10*steps, 3]\n"
            "  config:   e.toml:14:1\n"
            "     14 | [loss]\n"
            "        | ^^^^^^\n");
}

}  // namespace
}  // namespace thtrain
