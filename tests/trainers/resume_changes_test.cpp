// A run that is resumed tells where it goes on, and takes what changed meanwhile only when it is told to.
#include <cmath>
#include <filesystem>

#include "compiler/base/file.h"
#include "nn/schedules/exponential.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// A run of that experiment which was stopped after `steps` minibatches.
RunFolder stopped_after(int64_t steps, const Experiment& e, const Dataset& data, const std::string& path) {
  std::atomic<int> stop{1};
  RunFolder folder = RunFolder::create(path, e);
  train(e, data, folder, {}, {.stop = &stop});
  for (int64_t step = 1; step < steps; ++step) resume(e, data, folder, {}, {.stop = &stop});
  return folder;
}

// What is in the folder, but for directories.
std::map<std::string, std::string> files_of(const RunFolder& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (!entry.is_directory()) out[entry.path().filename()] = read_file(entry.path());
  return out;
}

TEST(ResumeChanges, TheHyperparametersOfTheCheckpointHold) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = stopped_after(3, e, data, temporary.path("run"));
  auto before = files_of(folder);
  sgd_of(e).learning_rate = 0.01;
  sgd_of(e).momentum = 0.5;
  EXPECT_EQ(error_text([&] { resume(e, data, folder); }),
            str("error: ", folder.config(),
                ": the experiment was edited since the last checkpoint\n"
                "  expected: what the run was trained with so far\n"
                "  got:      trainer.learning_rate: 0.05 then, 0.01 now\n"
                "            trainer.momentum: 0.9 then, 0.5 now\n"
                "  hint:     --accept-edits goes on with what it says now"));
  EXPECT_EQ(files_of(folder), before);
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line + "\n"; }};
  EXPECT_EQ(resume(e, data, folder, hooks, {.accept_edits = true}).epochs, 3);
  EXPECT_EQ(said,
            "edited since the checkpoint: trainer.learning_rate: 0.05 then, 0.01 now; trainer.momentum: 0.9 then, 0.5 "
            "now\n");
  // They are the run's own from now on, and run.json remembers.
  EXPECT_EQ(resume(e, data, folder).epochs, 3);
  std::vector<std::string> changes = {"step 3: trainer.learning_rate: 0.05 then, 0.01 now",
                                      "step 3: trainer.momentum: 0.9 then, 0.5 now"};
  EXPECT_EQ(RunFolder::open(folder.path()).facts().changes, changes);
}

TEST(ResumeChanges, TellsWhereItGoesOn) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = stopped_after(13, e, data, temporary.path("run"));
  ResumePoint at;
  TrainHooks hooks{.on_resume = [&](const ResumePoint& point) { at = point; }};
  resume(e, data, folder, hooks);
  EXPECT_EQ(std::tuple(at.epoch, at.batch, at.batches, at.step, at.is_over), std::tuple(2, 4, 10, 13, false));
  resume(e, data, folder, hooks);
  EXPECT_EQ(std::tuple(at.step, at.is_over), std::tuple(30, true));
}

TEST(ResumeChanges, AMissingCheckpointIsNoNewBeginning) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = stopped_after(13, e, data, temporary.path("run"));
  fs::remove(folder.checkpoint());
  std::string text = str("error: ", folder.path(),
                         ": the checkpoint of this run is gone\n"
                         "  expected: checkpoint.npz\n"
                         "  hint:     put it back from a copy; `thtrain train ",
                         folder.config(), "` begins another run");
  for (std::string name : {"", "metrics.jsonl", "best.npz"}) {  // run.json alone remembers, too
    if (!name.empty()) fs::remove(folder.file(name));
    auto before = files_of(folder);
    RunFolder again = RunFolder::open(folder.path());
    EXPECT_EQ(error_text([&] { resume(e, data, again); }), text);
    EXPECT_EQ(files_of(folder), before);
  }
}

// Killed while the first function was compiled.
TEST(ResumeChanges, AFolderWithoutAFirstCheckpointBegins) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder::create(temporary.path("run"), e);
  RunFolder folder = RunFolder::open(temporary.path("run"));
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line + "\n"; }};
  EXPECT_EQ(resume(e, data, folder, hooks).steps, 30);
  EXPECT_EQ(said, str(folder.path(), ": no checkpoint was written yet, the run begins\n"));
}

TEST(ResumeChanges, OneProcessForEachFolder) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::string refused;
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) {
    RunFolder other = RunFolder::open(folder.path());
    EXPECT_EQ(other.weights(), other.checkpoint());  // reading is for everybody
    refused = error_text([&] { resume(e, data, other); });
  }};
  train(e, data, folder, hooks);
  EXPECT_EQ(refused, str("error: ", folder.path(),
                         ": another process writes to this run folder\n"
                         "  expected: one process for each run folder\n"
                         "  got:      process ",
                         ::getpid(),
                         "\n"
                         "  hint:     wait until it is done, or stop it first"));
  EXPECT_FALSE(is_locked(folder.path()));
}

// 7 of 10 minibatches of the second epoch are done; then an epoch has 5.
TEST(ResumeChanges, FewerMinibatchesEndTheEpoch) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = stopped_after(17, e, data, temporary.path("run"));
  e.trainer.batch_size = 40;
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line.substr(0, line.find(':')) + "\n"; }};
  TrainSummary summary = resume(e, data, folder, hooks, {.allow_different_bits = true, .accept_edits = true});
  EXPECT_EQ(summary.epochs, 3);
  EXPECT_EQ(summary.steps, 17 + 5);
  EXPECT_EQ(said,
            "edited since the checkpoint\nother bits than before\n"
            "the checkpoint has 7 minibatches of epoch 2, and an epoch has 5 now\n");
  EXPECT_EQ(read_checkpoint(folder.checkpoint()).state.history.size(), 3u);
}

TEST(ResumeChanges, WhatKilledProcessesLeftGoes) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = stopped_after(3, e, data, temporary.path("run"));
  auto before = files_of(folder);
  temporary.write("run/checkpoint.npz.tmp-1-0", "half");
  temporary.write("run/best.npz.tmp-1-3", "half");
  e.trainer.epochs = 1;
  EXPECT_THROW(resume(e, data, folder), UserError);
  EXPECT_EQ(files_of(folder), before);
}

// By the step: 0.97^(steps done) of 30.
TEST(LossWarning, ARateThatASchedulePassedOnIsTold) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  sgd_of(e).learning_rate = 30;
  ScheduleKind<ExponentialSchedule> schedule;
  schedule.decay = 0.97;
  schedule.per = ScheduleUnit::kStep;
  e.trainer.schedule = schedule;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line + "\n"; }};
  train(e, data, folder, hooks);
  const auto history = read_checkpoint(folder.checkpoint()).state.history;
  ASSERT_GT(history[1].train_loss, history[0].train_loss + 1);
  EXPECT_NEAR(*history[1].learning_rate, 30 * std::pow(0.97, 19), 1e-9);
  EXPECT_NE(said.find(str("; a smaller trainer.learning_rate (now 30; its schedule made it ", *history[1].learning_rate,
                          " in the last minibatch) often helps\n")),
            std::string::npos)
      << said;
}

TEST(LossWarning, ALossThatGrowsForAnEpochIsTold) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  sgd_of(e).learning_rate = 30;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line + "\n"; }};
  train(e, data, folder, hooks);
  auto history = read_checkpoint(folder.checkpoint()).state.history;
  ASSERT_GT(history[1].train_loss, history[0].train_loss + 1);
  char numbers[100];
  std::snprintf(numbers, sizeof numbers, "%.6g after %.6g", history[1].train_loss, history[0].train_loss);
  std::string grew = str("warning: the training loss grew in epoch 2: ", numbers,
                         "; a smaller trainer.learning_rate (now 30) often helps\n");
  std::snprintf(numbers, sizeof numbers, "%.6g (a model that knows nothing has 2.30259), the validation loss %.6g",
                history[2].train_loss, history[2].valid_loss.value());
  EXPECT_EQ(said, str(grew, "warning: the run diverged: after epoch 3 the training loss is ", numbers,
                      "; try trainer.learning_rate = 3 (now 30), then trainer.clip_norm = 1, then examples with values "
                      "near 1 (data.scale, data.standardize)\n"));
  EXPECT_STREQ(text_of(*RunFolder::open(folder.path()).facts().end), "diverged");
  sgd_of(e).learning_rate = 0.05;
  said = "";
  RunFolder learns = RunFolder::create(temporary.path("learns"), e);
  train(e, data, learns, hooks);
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace thtrain
