// States that go on from minibatch to minibatch need rows that do, and an optimizer with a step for each.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// What `check` says of 12 sequences of 4 steps.
std::string error_of(const std::string& data, const std::string& layer, const std::string& trainer) {
  Workshop workshop;
  write_npy(workshop.path("x.npy"), Tensor::zeros(DType::kFloat32, {12, 4, 2}));
  write_npy(workshop.path("y.npy"), Tensor::zeros(DType::kInt64, {12, 4}));
  Tensor lengths = Tensor::empty(DType::kInt64, {12});
  for (int64_t i = 0; i < 12; ++i) lengths.data<int64_t>()[i] = 1 + i % 4;
  write_npy(workshop.path("l.npy"), lengths);
  workshop.write("e.toml",
                 str("[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nsequences = true\n", data,
                     "[[model.layers]]\ntype = \"rnn\"\nunits = 3\ncarry = true\n", layer,
                     "[[model.layers]]\ntype = \"softmax\"\nunits = 2\n[trainer]\nbatch_size = 4\n", trainer,
                     "[compiler]\nmode = \"reference\"\n"));
  const Ended ended = workshop.run({"check", "e.toml"});
  EXPECT_EQ(ended.code, 2) << ended.err;
  return without_folder(ended.err.substr(std::min(ended.err.find("error: "), ended.err.size())), workshop);
}

const std::string kRows =
    "error: layer rnn1 carries its state from minibatch to minibatch, and these do not go on in each other's rows\n";

std::string at(int line) {
  return str("  config:   e.toml:", line, ":1\n      ", line, " | [[model.layers]]\n        | ^^^^^^^^^^^^^^^^\n");
}

TEST(CliCarriedState, DoesNotWalkBackwards) {
  EXPECT_EQ(error_of("", "go_backwards = true\n", "shuffle = false\n"),
            "error: layer rnn1 (rnn) walks backwards, and has no state that the next minibatch goes on from\n"
            "  expected: go_backwards = false with carry = true\n"
            "  got:      go_backwards = true\n"
            "  config:   e.toml:9:9\n"
            "      9 | carry = true\n"
            "        |         ^^^^\n");
}

TEST(CliCarriedState, NeedsRowsThatGoOn) {
  EXPECT_EQ(error_of("train_lengths = \"l.npy\"\n", "", "shuffle = false\n"),
            kRows +
                "  expected: sequences of one length: each goes on where the one of the minibatch before ended\n"
                "  got:      lengths in l.npy\n" +
                at(7));
  EXPECT_EQ(error_of("n_valid = 4\nsplit = \"shuffled\"\n", "", "shuffle = false\n"),
            kRows +
                "  expected: data.split = \"last\", which keeps the order of the rows\n"
                "  got:      data.split = \"shuffled\"\n" +
                at(8));
}

TEST(CliCarriedState, IsNotForBatchMethods) {
  EXPECT_EQ(error_of("", "", "optimizer = \"lbfgs\"\n"),
            "error: layer rnn1 carries its state from minibatch to minibatch, which does not go with a batch method\n"
            "  expected: carry = false, or an optimizer that takes a step for each minibatch\n"
            "  got:      trainer.optimizer = \"lbfgs\"\n" +
                at(6));
}

}  // namespace
}  // namespace thtrain
