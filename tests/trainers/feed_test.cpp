#include "trainers/feed.h"

#include <algorithm>
#include <cmath>

#include "compiler/runtime/function.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

// 6 examples [2] with values [6, 2], or labels, and weights.
Split split_of(Targets targets) {
  Tensor x = Tensor::empty(k32, {6, 2}), y = Tensor::empty(k32, {6, 2}), w = Tensor::empty(k32, {6});
  for (int i = 0; i < 12; ++i) {
    x.data<float>()[i] = static_cast<float>(i);
    y.data<float>()[i] = targets == Targets::kLabels ? static_cast<float>(i % 3 == 0) : static_cast<float>(i) / 4;
  }
  for (int i = 0; i < 6; ++i) w.data<float>()[i] = static_cast<float>(i) + 0.5f;
  Split out({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, targets, 1);
  out.set_weights({.raw = w, .origin = "w.npy"});
  return out;
}

// x, y and weights of a minibatch reach a function in memory and streamed, in order and shuffled.
TEST(Feed, MinibatchesHoldTargetsAndWeights) {
  const std::vector<int64_t> order = RandomState(7).permutation(6);
  for (Targets targets : {Targets::kValues, Targets::kLabels})
    for (bool streamed : {false, true})
      for (bool shuffled : {false, true}) {
        Split split = split_of(targets);
        Feed feed(Examples(split, {2}, k32, streamed), "train", shuffled);
        RandomState random(7);
        if (shuffled) feed.begin_epoch(random);
        Minibatch batch = feed.minibatch(2);
        Function f = function(batch.inputs, {batch.x, batch.y, batch.weights}, {}, {.mode = Mode::kReference});
        std::vector<int64_t> rows = {2, 3};
        if (shuffled) rows = {order[2], order[3]};
        Batch expected = split.read(rows, k32);
        std::span<const Tensor> arguments = feed.arguments(2, 2);
        std::vector<Tensor> got = f(std::vector<Tensor>(arguments.begin(), arguments.end()));
        EXPECT_TRUE(same_bits(got[0], expected.x));
        EXPECT_TRUE(same_bits(got[1], expected.y));
        EXPECT_TRUE(same_bits(got[2], expected.weights));
        EXPECT_EQ(got[1].dtype(), targets == Targets::kLabels ? DType::kUInt8 : k32);
      }
}

TEST(Feed, WithoutWeightsThereIsNoExpressionOfThem) {
  Split split({.raw = Tensor::zeros(k32, {6, 2}), .origin = "x.npy"},
              {.raw = Tensor::zeros(k32, {6}), .origin = "y.npy"}, Targets::kValues, 1);
  for (bool streamed : {false, true}) {
    Feed feed(Examples(split, {2}, k32, streamed), "train", false);
    EXPECT_FALSE(feed.minibatch(3).weights.has_value());
    EXPECT_EQ(feed.arguments(0, 3).size(), streamed ? 2u : 1u);
  }
}

// Minibatches in any order of calls, with a shorter last one, are those that were asked for.
TEST(Feed, ReadsAhead) {
  Split split = split_of(Targets::kValues);
  for (bool shuffled : {false, true}) {
    Feed feed(Examples(split, {2}, k32, true), "train", shuffled);
    std::vector<int64_t> order = {0, 1, 2, 3, 4, 5};
    RandomState random(7), expected_random(7);
    for (int epoch = 0; epoch < 3; ++epoch) {
      if (shuffled) {
        order = expected_random.permutation(6);
        feed.begin_epoch(random);
        EXPECT_EQ(random.state(), expected_random.state());
      }
      for (auto [start, count] : {std::pair(0, 4), {4, 2}, {0, 2}, {2, 2}, {4, 2}, {2, 2}, {0, 4}, {0, 4}}) {
        std::vector<int64_t> rows(order.begin() + start, order.begin() + start + count);
        Batch expected = split.read(rows, k32);
        std::span<const Tensor> got = feed.arguments(start, count);
        EXPECT_TRUE(same_bits(got[0], expected.x) && same_bits(got[1], expected.y) &&
                    same_bits(got[2], expected.weights))
            << start << " + " << count;
      }
    }
  }
}

// The error of a row comes with its minibatch, again when it is asked for again, and never where it is not.
TEST(Feed, AnErrorComesAtTheStepThatNeedsTheData) {
  Tensor x = Tensor::zeros(k32, {6, 2});
  x.data<float>()[7] = std::nanf("");
  Split split({.raw = x, .origin = "x.npy"}, {.raw = Tensor::zeros(k32, {6}), .origin = "y.npy"}, Targets::kValues, 1);
  Feed feed(Examples(split, {2}, k32, true), "train", false);
  const std::string error =
      "error: x.npy: row 3, column 1: not a finite number\n"
      "  expected: numbers that are finite in float32\n"
      "  got:      nan\n"
      "  hint:     rows and columns count from 0";
  for (int i = 0; i < 2; ++i) {
    feed.arguments(0, 2);  // the bad row is read meanwhile
    EXPECT_EQ(error_text([&] { feed.arguments(2, 2); }), error);
    EXPECT_EQ(error_text([&] { feed.arguments(2, 2); }), error);
    feed.arguments(0, 2);
    feed.arguments(4, 2);
  }
}

TEST(Examples, TheirIdentityHoldsTheWeights) {
  Split split = split_of(Targets::kValues), other = split_of(Targets::kValues);
  other.set_weights({.raw = Tensor::zeros(k32, {6}), .origin = "w.npy"});
  EXPECT_NE(Examples(split, {2}, k32, false).identity(), Examples(other, {2}, k32, false).identity());
  EXPECT_EQ(Examples(split, {2}, k32, false).bytes(), 6 * (8 + 8 + 4));
}

TEST(Examples, AClassifierRefusesOtherTargets) {
  EXPECT_EQ(error_text([&] { require_classes(split_of(Targets::kValues)); }),
            "error: x.npy: a classifier learns from class numbers\n"
            "  expected: a label for each example: the number of its class\n"
            "  got:      target values\n"
            "  hint:     loss.type = \"squared_error\" learns values, behind a last layer of type \"dense\"; whole "
            "numbers that are classes are read as such with data.target = \"classes\"");
  EXPECT_EQ(error_text([&] { require_classes(split_of(Targets::kLabels)); }),
            "error: x.npy: a classifier learns from class numbers\n"
            "  expected: a label for each example: the number of its class\n"
            "  got:      several labels of each example\n"
            "  hint:     loss.type = \"binary_crossentropy\" learns several labels, behind a last layer of type "
            "\"dense\" with activation = \"sigmoid\"");
  require_classes(Split());
}

}  // namespace
}  // namespace thtrain
