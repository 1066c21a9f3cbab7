// Training on sequences: minibatches, masks, resumption, predictions, and what does not fit.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "datasets/npy.h"
#include "datasets/sources/npy.h"
#include "datasets/sources/reber.h"
#include "datasets/sources/text.h"
#include "nn/layers/flatten.h"
#include "nn/layers/last_step.h"
#include "nn/layers/rnn.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/dtypes.h"
#include "tests/support/run_result.h"
#include "trainers/epoch_order.h"
#include "trainers/feed.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

Rnn::Options rnn_layer(RecurrentOutput output = RecurrentOutput::kAll) {
  Rnn::Options out;
  out.name = "rnn";
  out.units = 5;
  out.output = output;
  return out;
}

Softmax::Options softmax_layer() {
  Softmax::Options out;
  out.name = "softmax";
  return out;
}

// Next symbols of 43 strings, in minibatches of 8 and a last one of 3.
Experiment reber_experiment() {
  Experiment out = small_experiment();
  ReberConfig reber;
  reber.n_train = 43;
  reber.n_valid = 21;
  reber.n_test = 10;
  out.data = reber;
  out.model.layers = {rnn_layer(), softmax_layer()};
  out.trainer.batch_size = 8;
  out.trainer.full_batches_only = false;
  out.trainer.validation_frequency = 4;
  sgd_of(out).learning_rate = 0.2;
  return out;
}

// ---- the order -----------------------------------------------------------------------------------------------------

TEST(OrderByLength, HoldsEachExampleOnceAndLikeLengthsTogether) {
  RandomState lengths_of(1);
  for (int64_t size : {1, 7, 8, 100, 403, 1000})
    for (int64_t batch : {1, 3, 8, 20}) {
      const std::vector<int64_t> lengths = lengths_of.integers(1, 60, static_cast<size_t>(size));
      RandomState random(size), same(size);
      const EpochOrder order = draw_order(random, lengths, batch);
      EXPECT_EQ(order.examples, draw_order(same, lengths, batch).examples);
      EXPECT_EQ(random.state(), same.state());
      if (size >= 100) {
        EXPECT_NE(order.examples, draw_order(same, lengths, batch).examples);  // that of the next epoch
      }
      std::vector<int64_t> sorted = order.examples, all(static_cast<size_t>(size));
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all);
      // The rest at the end is what was drawn last.
      RandomState again(size);
      const std::vector<int64_t> drawn = again.permutation(size);
      for (int64_t i = size / batch * batch; i < size; ++i)
        EXPECT_EQ(order.examples[static_cast<size_t>(i)], drawn[static_cast<size_t>(i)]);
      if (batch < 8 || size < 400) continue;
      int64_t padded = 0;
      for (int64_t begin = 0; begin + batch <= size; begin += batch) {
        int64_t longest = 0, sum = 0;
        for (int64_t i = begin; i < begin + batch; ++i) {
          const int64_t length = lengths[static_cast<size_t>(order.examples[static_cast<size_t>(i)])];
          longest = std::max(longest, length);
          sum += length;
        }
        padded += longest * batch - sum;
      }
      const int64_t steps = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
      EXPECT_LT(padded, steps / 8) << size << ' ' << batch;  // an order without regard to lengths pads 60 to 90 %
    }
}

// ---- the feed ------------------------------------------------------------------------------------------------------

// 6 sequences of at most 5 steps of 2 numbers, with targets by step and weights.
Split six_sequences(Targets targets) {
  Tensor x = Tensor::empty(k32, {6, 5, 2}), y = Tensor::zeros(k32, {6, 5, 2}), w = Tensor::empty(k32, {6});
  for (int i = 0; i < 60; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
  for (int i = 0; i < 60; ++i) y.data<float>()[i] = static_cast<float>(i % 3 == 0);
  for (int i = 0; i < 6; ++i) w.data<float>()[i] = static_cast<float>(i) + 0.5f;
  Split out({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, targets, 1,
            {DataArray{.raw = Tensor::of(std::vector<int64_t>{3, 1, 5, 2, 2, 4}, {6}), .origin = "l.npy"}});
  out.set_weights({.raw = w, .origin = "w.npy"});
  return out;
}

TEST(SequenceFeed, MinibatchesEndWithTheirLongestSequence) {
  for (Targets targets : {Targets::kValues, Targets::kLabels}) {
    std::vector<std::vector<Tensor>> in_memory;
    for (bool streamed : {false, true})
      for (bool shuffled : {false, true}) {
        const Split split = six_sequences(targets);
        Feed feed(Examples(split, {2}, k32, streamed), "train", shuffled);
        feed.set_plan({6, 2});
        RandomState random(7), same(7);
        std::vector<int64_t> order = {0, 1, 2, 3, 4, 5};
        if (shuffled) {
          feed.begin_epoch(random);
          order = draw_order(same, std::vector<int64_t>{3, 1, 5, 2, 2, 4}, 2).examples;
        }
        const Minibatch batch = feed.minibatch(2);
        Function f =
            function(batch.inputs, {batch.x, batch.y, batch.weights, batch.lengths}, {}, {.mode = Mode::kReference});
        int64_t steps = 0;
        for (int64_t start : {0, 2, 4}) {
          const std::vector<int64_t> chosen(order.begin() + start, order.begin() + start + 2);
          const Batch expected = split.read(chosen, k32);
          const int64_t longest = std::max(split.length(chosen[0]), split.length(chosen[1]));
          std::span<const Tensor> arguments = feed.arguments(start, 2);
          std::vector<Tensor> got = f(std::vector<Tensor>(arguments.begin(), arguments.end()));
          EXPECT_EQ(got[0].shape(), (Shape{2, longest, 2}));
          EXPECT_TRUE(same_bits(got[0], first_steps(expected.x, longest)));
          EXPECT_TRUE(same_bits(got[1], first_steps(expected.y, longest)));
          EXPECT_TRUE(same_bits(got[2], expected.weights) && same_bits(got[3], expected.lengths));
          steps += split.length(chosen[0]) + split.length(chosen[1]);
          EXPECT_EQ(feed.steps_of_first(start + 2), steps);
        }
      }
  }
}

TEST(SequenceFeed, LengthsBelongToTheIdentityOfTheData) {
  Split one = six_sequences(Targets::kValues);
  const Split same = six_sequences(Targets::kValues);
  EXPECT_EQ(Examples(one, {2}, k32, false).identity(), Examples(same, {2}, k32, false).identity());
  // The step behind the end was 0 already: only the length differs.
  const Split longer({.raw = same.all(k32).x, .origin = "x.npy"}, {.raw = same.all(k32).y, .origin = "y.npy"},
                     Targets::kValues, 1,
                     {DataArray{.raw = Tensor::of(std::vector<int64_t>{3, 2, 5, 2, 2, 4}, {6}), .origin = "l.npy"}});
  const Split shorter({.raw = same.all(k32).x, .origin = "x.npy"}, {.raw = same.all(k32).y, .origin = "y.npy"},
                      Targets::kValues, 1,
                      {DataArray{.raw = Tensor::of(std::vector<int64_t>{3, 1, 5, 2, 2, 4}, {6}), .origin = "l.npy"}});
  EXPECT_TRUE(same_bits(longer.all(k32).x, shorter.all(k32).x));
  EXPECT_NE(Examples(longer, {2}, k32, false).identity(), Examples(shorter, {2}, k32, false).identity());
}

// ---- runs ----------------------------------------------------------------------------------------------------------

// After every step: minibatches of drawn lengths, and a shorter last one.
void expect_resumes_with_the_same_bits(const Experiment& e) {
  TemporaryFolder temporary;
  const Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  const TrainSummary expected = train(e, data, whole);
  RunFolder folder = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};
  TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
  for (int parts = 1; summary.interrupted && parts < 100; ++parts) {
    RunFolder again = RunFolder::open(folder.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  EXPECT_EQ(summary.steps, expected.steps);
  expect_same(result_of(folder), result_of(whole));
}

TEST(SequenceTraining, ResumesWithTheSameBits) {
  expect_resumes_with_the_same_bits(reber_experiment());
}

Experiment text_experiment(const TemporaryFolder& folder) {
  Experiment e = reber_experiment();
  std::string text;
  for (int i = 0; i < 500; ++i) text += "abcd\n"[i * i % 11 % 5];
  TextConfig config;
  config.file = folder.write("t.txt", text);
  config.steps = 6;
  config.window_tracks = 8;
  config.valid_fraction = 0.2;
  e.data = config;
  Rnn::Options carrying = rnn_layer();
  carrying.carry = true;
  e.model.layers = {carrying, softmax_layer()};
  e.trainer.shuffle = false;
  return e;
}

// States that minibatches hand on are in the checkpoint, and begin with zeros in every epoch.
TEST(SequenceTraining, CarriedStateResumesWithTheSameBits) {
  TemporaryFolder folder;
  expect_resumes_with_the_same_bits(text_experiment(folder));
}

TEST(SequenceTraining, CarriedStateBeginsWithZerosInEveryEpoch) {
  TemporaryFolder folder;
  Experiment e = text_experiment(folder);
  sgd_of(e).learning_rate = 1e-30;  // changes no weight
  sgd_of(e).momentum = 0;
  e.loss.l2 = 0;
  RunFolder run = RunFolder::create(folder.path("run"), e);
  std::vector<double> losses;
  train(e, load_data(e, ""), run, {.on_epoch = [&](const EpochReport& r) { losses.push_back(r.train_loss); }});
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
}

// The loss of a set is the mean over its steps: that of each sequence alone, without padding, times its steps.
TEST(SequenceTraining, LossesAreMeansOverTheStepsOfAllSequences) {
  TemporaryFolder temporary;
  Experiment e = reber_experiment();
  e.trainer.epochs = 1;
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  const Evaluation whole = evaluate(e, data, Part::kTest, folder.best());
  double sum = 0, errors = 0;
  int64_t steps = 0;
  for (int64_t i = 0; i < data.test.size(); ++i) {
    const int64_t length = data.test.length(i);
    const Batch one = data.test.read(i, 1, k32);
    Dataset alone = data;
    alone.test = Split({.raw = first_steps(one.x, length), .origin = "x"},
                       {.raw = first_steps(one.y, length), .origin = "y"}, Targets::kClasses, 1, Sequences{});
    alone.test.set_classes(data.classes());
    const Evaluation of_one = evaluate(e, alone, Part::kTest, folder.best());
    sum += of_one.loss * static_cast<double>(length);
    errors += of_one.error * static_cast<double>(length);
    steps += length;
  }
  EXPECT_NEAR(whole.loss, sum / static_cast<double>(steps), 1e-6);
  EXPECT_NEAR(whole.error, errors / static_cast<double>(steps), 1e-9);
}

TEST(SequenceTraining, PredictionsHaveAnAxisOfSteps) {
  TemporaryFolder temporary;
  Experiment e = reber_experiment();
  e.trainer.epochs = 1;
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  const Batch test = data.test.all(k32);
  const Prediction found = predict(e, test.x, folder.best());
  EXPECT_EQ(found.classes.shape(), (Shape{10, data.test.steps()}));
  EXPECT_EQ(found.probabilities.shape(), (Shape{10, data.test.steps(), 7}));
  double loss = 0, wrong = 0;
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t t = 0; t < data.test.length(i); ++t) {
      const int64_t at = i * data.test.steps() + t, y = test.y.as_int(at);
      loss -= std::log(found.probabilities.as_double(at * 7 + y));
      wrong += found.classes.as_int(at) != y;
    }
  const Evaluation expected = evaluate(e, data, Part::kTest, folder.best());
  const auto steps = static_cast<double>(data.test.step_count());
  EXPECT_NEAR(loss / steps, expected.loss, 1e-5);
  EXPECT_NEAR(100 * wrong / steps, expected.error, 1e-9);
}

// ---- what does not fit ---------------------------------------------------------------------------------------------

std::string training_error(const Experiment& e) {
  TemporaryFolder temporary;
  return error_text([&] { check_experiment(e, load_data(e, ""), ""); });
}

TEST(SequenceTraining, MessagesForTargetsOfAnotherKind) {
  Experiment e = reber_experiment();
  e.model.layers = {rnn_layer(RecurrentOutput::kLast), softmax_layer()};
  EXPECT_EQ(training_error(e),
            "error: the output softmax gives something for each sequence, and the data has a target for each step\n"
            "  expected: a layer that gives sequences\n"
            "  got:      float32[8, 7]\n"
            "  hint:     a recurrent layer with output = \"all\" gives its outputs of all steps");
  e.model.layers = {LastStep::Options{}, softmax_layer()};
  EXPECT_EQ(training_error(e),
            "error: the output softmax gives something for each sequence, and the data has a target for each step\n"
            "  expected: a layer that gives sequences\n"
            "  got:      float32[8, 7]\n"
            "  hint:     without a layer of type \"last_step\" or \"mean_steps\", which make one value of a sequence");
}

TEST(SequenceTraining, MessagesForOneTargetOfASequence) {
  TemporaryFolder folder;
  write_npy(folder.path("x.npy"), Tensor::zeros(k32, {40, 12, 3}));
  write_npy(folder.path("y.npy"), Tensor::zeros(k32, {40, 12}));
  NpyConfig data;
  data.train = folder.path("x.npy");
  data.train_labels = folder.path("y.npy");
  data.sequences = true;
  data.target = Targets::kValues;
  Dense::Options dense;
  dense.name = "out";
  Experiment e = reber_experiment();
  e.data = data;
  e.loss.objective = SquaredError::Options{};
  e.model.layers = {rnn_layer(RecurrentOutput::kAll), dense};
  const std::string what =
      "error: the output out gives something for each step, and the data has one target for each sequence\n";
  EXPECT_EQ(training_error(e),
            str(what,
                "  expected: a layer that makes one value of a sequence; or targets of the steps, one number of each: "
                "[40, 12, 1]\n"
                "  got:      float32[8, 12, 1] for float32[40, 12] in ",
                folder.path("y.npy"),
                "\n"
                "  hint:     a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence; so does a "
                "recurrent layer with output = \"last\""));
  write_npy(folder.path("y.npy"), Tensor::zeros(k32, {40}));
  Flatten::Options flat;
  flat.name = "flat";
  e.model.layers = {flat, dense};
  EXPECT_EQ(training_error(e),
            str(what,
                "  expected: a layer that makes one value of a sequence\n"
                "  got:      float32[8, 12, 1]\n"
                "  hint:     a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence;\n"
                "            the model has no recurrent layer, so that it sees each step by itself;\n"
                "            a flatten layer makes a row of each step, not of the sequence"));
}

TEST(SequenceTraining, MessagesForCarriedState) {
  TemporaryFolder folder;
  const std::string begin =
      "error: layer rnn carries its state from minibatch to minibatch, and these do not go on in each other's rows\n";
  Experiment e = text_experiment(folder);
  e.trainer.shuffle = true;
  EXPECT_EQ(training_error(e), begin + "  expected: trainer.shuffle = false\n  got:      trainer.shuffle = true");
  e = text_experiment(folder);
  e.trainer.batch_size = 4;
  EXPECT_EQ(training_error(e), begin +
                                   "  expected: data.tracks = 4, which is trainer.batch_size\n"
                                   "  got:      data.tracks = 8");
  e.trainer.batch_size = 5;
  EXPECT_EQ(training_error(e), begin +
                                   "  expected: minibatches of 5 sequences, as trainer.batch_size says\n"
                                   "  got:      a last one of 4\n"
                                   "  hint:     trainer.full_batches_only = true leaves it out");
}

}  // namespace
}  // namespace thtrain
