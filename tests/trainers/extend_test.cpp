// A run that ended by itself goes on where its limits are edited.
#include "compiler/base/file.h"
#include "nn/batch_methods/lbfgs.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

Experiment four_epochs() {
  Experiment out = small_experiment();
  out.compiler.mode = CompilerConfig::Mode::kReference;
  out.trainer.epochs = 4;
  return out;
}

// Stopped after 16 minibatches, within the second epoch.
class Extend : public testing::Test {
 protected:
  Extend() {
    early_.trainer.patience = 15;
    early_.trainer.improvement_threshold = 0;
    folder_.emplace(RunFolder::create(temporary_.path("run"), early_));
    const TrainSummary summary = train(early_, data_, *folder_);
    EXPECT_TRUE(summary.stopped_early);
    EXPECT_EQ(summary.steps, 16);
  }
  TrainSummary resumed(const Experiment& e) { return resume(e, data_, *folder_, {}, {.accept_edits = true}); }
  std::string refusal(const Experiment& e) {
    const std::string before = read_file(folder_->checkpoint());
    std::string out = error_text([&] { resumed(e); });
    EXPECT_EQ(read_file(folder_->checkpoint()), before);
    return out;
  }

  TemporaryFolder temporary_;
  Experiment early_ = four_epochs();
  Dataset data_ = load_data(early_, "");
  std::optional<RunFolder> folder_;
};

TEST_F(Extend, WithoutPatienceItEndsAsIfItHadNotStopped) {
  RunFolder whole = RunFolder::create(temporary_.path("whole"), four_epochs());
  train(four_epochs(), data_, whole);
  early_.trainer.patience = 0;
  const TrainSummary summary = resumed(early_);
  EXPECT_FALSE(summary.stopped_early);
  EXPECT_EQ(summary.steps, 40);
  const Checkpoint end = read_checkpoint(folder_->checkpoint()), expected = read_checkpoint(whole.checkpoint());
  expect_same(end.weights, expected.weights);
  ASSERT_EQ(end.state.history.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(end.state.history[i].train_loss, expected.state.history[i].train_loss);
}

TEST_F(Extend, MorePatienceStopsItLater) {
  early_.trainer.patience = 25;
  const TrainSummary summary = resumed(early_);
  EXPECT_TRUE(summary.stopped_early);
  EXPECT_EQ(summary.steps, 26);
}

TEST_F(Extend, WhatLeavesItOverIsRefused) {
  const std::string begin = str("error: ", folder_->path(), ": the run is over, and what was edited leaves it so\n");
  Experiment e = early_;
  e.trainer.epochs = 60;
  EXPECT_EQ(refusal(e), begin +
                            "  expected: trainer.patience at least 16 (minibatches), or 0: the run stopped early\n"
                            "  got:      trainer.epochs: 4 then, 60 now");
  e.trainer.patience = 12;
  EXPECT_EQ(refusal(e), begin +
                            "  expected: trainer.patience at least 16 (minibatches), or 0: the run stopped early\n"
                            "  got:      trainer.epochs: 4 then, 60 now\n"
                            "            trainer.patience: 15 then, 12 now");
  e = early_;
  e.trainer.epochs = 1;
  e.trainer.patience = 0;
  EXPECT_EQ(refusal(e), begin +
                            "  expected: trainer.epochs above 1: so many are done\n"
                            "  got:      trainer.epochs: 4 then, 1 now\n"
                            "            trainer.patience: 15 then, 0 now");
  // What does not decide when a run ends.
  e = early_;
  e.trainer.keep_checkpoints = 2;
  EXPECT_EQ(resumed(e).steps, 16);
}

TEST_F(Extend, FewerEpochsThanAreDoneAreRefused) {
  early_.trainer.patience = 0;
  EXPECT_EQ(resumed(early_).epochs, 4);
  early_.trainer.epochs = 3;
  EXPECT_EQ(refusal(early_), str("error: ", folder_->path(),
                                 ": the run has done more epochs than it is to have\n"
                                 "  expected: trainer.epochs at least 4\n"
                                 "  got:      trainer.epochs: 4 then, 3 now"));
  early_.trainer.epochs = 5;
  EXPECT_EQ(resumed(early_).epochs, 5);
}

Experiment converging() {
  Experiment out = four_epochs();
  BatchMethodKind<Lbfgs> options;
  options.gradient_tolerance = 0;
  options.value_tolerance = 0.01;
  out.trainer.optimizer = options;
  out.trainer.epochs = 40;
  out.compiler.floatX = DType::kFloat64;
  return out;
}
BatchMethodKind<Lbfgs>& options_of(Experiment& e) {
  return e.trainer.optimizer.get<BatchMethodKind<Lbfgs>>();
}

// To the bits of a run that had the smaller tolerance from the beginning.
TEST(ExtendConverged, SmallerTolerancesGoOn) {
  TemporaryFolder temporary;
  Experiment e = converging();
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  const TrainSummary first = train(e, data, folder);
  EXPECT_EQ(first.converged, "the last iteration changed the loss by at most value_tolerance");
  e.trainer.epochs = 50;
  const std::string text = error_text([&] { resume(e, data, folder, {}, {.accept_edits = true}); });
  const std::string begin = str("error: ", folder.path(),
                                ": the run is over, and what was edited leaves it so\n"
                                "  expected: trainer.value_tolerance below 0.00"),
                    end =
                        ": the last iteration's change\n"
                        "  got:      trainer.epochs: 40 then, 50 now";
  EXPECT_TRUE(text.starts_with(begin) && text.ends_with(end)) << text;
  options_of(e).value_tolerance = 1e-4;
  const TrainSummary more = resume(e, data, folder, {}, {.accept_edits = true});
  EXPECT_GT(more.steps, first.steps);
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  EXPECT_EQ(train(e, data, whole).steps, more.steps);
  expect_same(read_checkpoint(folder.checkpoint()).weights, read_checkpoint(whole.checkpoint()).weights);
}

}  // namespace
}  // namespace thtrain
