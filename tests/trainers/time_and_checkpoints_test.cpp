// A budget of time, and checkpoints that stay.
#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/run_result.h"
#include "trainers/kept_checkpoints.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// A step that takes long: the budget is spent within the second epoch.
TEST(MaxSeconds, EndsTheRunWithTheMinibatchInWhichTheyAreSpent) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.trainer.epochs = 1000000;
  e.trainer.max_seconds = 0.3;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  const auto began = std::chrono::steady_clock::now();
  TrainSummary summary = train(e, data, folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_FALSE(summary.stopped_early);
  EXPECT_GE(seconds, 0.3);
  const Checkpoint end = read_checkpoint(folder.checkpoint());
  EXPECT_TRUE(end.state.out_of_time);
  EXPECT_GE(training_seconds({}, end.state), 0.3);
  EXPECT_TRUE(end.state.history.back().valid_error.has_value());  // also of an epoch that was not finished
  EXPECT_TRUE(summary.test_error.has_value());
  EXPECT_EQ(summary.steps, end.state.step);
  // It is over, until there is more time.
  EXPECT_EQ(resume(e, data, folder).steps, summary.steps);
  e.trainer.max_seconds = 0;
  e.trainer.epochs = end.state.epochs + 3;
  summary = resume(e, data, folder, {}, {.accept_edits = true});
  EXPECT_FALSE(summary.out_of_time);
  EXPECT_EQ(summary.epochs, e.trainer.epochs);
  const RunState state = read_checkpoint(folder.checkpoint()).state;  // of many epochs it has the last ones
  EXPECT_EQ(state.reported(), e.trainer.epochs);
  for (size_t i = 0; i < state.history.size(); ++i)
    EXPECT_EQ(state.history[i].epoch, state.earlier.count + static_cast<int64_t>(i) + 1);
}

// Ended within an epoch and given more time, a run has the weights of one that was not ended: measuring changes none.
TEST(MaxSeconds, MoreTimeGoesOnWithTheSameWeights) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  train(e, data, whole);
  e.trainer.max_seconds = 1e-9;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainSummary summary = train(e, data, folder);
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.steps, 1);
  EXPECT_EQ(summary.stop_epoch, 1);
  EXPECT_EQ(read_checkpoint(folder.checkpoint()).state.history.size(), 1u);
  e.trainer.max_seconds = 1000;
  EXPECT_EQ(resume(e, data, folder, {}, {.accept_edits = true}).steps, 30);
  expect_same(read_checkpoint(folder.checkpoint()).weights, read_checkpoint(whole.checkpoint()).weights);
}

// The time of earlier processes counts.
TEST(MaxSeconds, CountsTheProcessesBefore) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::atomic<int> stop{0};
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) { stop = 1; }};
  EXPECT_TRUE(train(e, data, folder, hooks, {.stop = &stop}).interrupted);
  Checkpoint checkpoint = read_checkpoint(folder.checkpoint());
  EXPECT_EQ(checkpoint.state.step, 11);
  checkpoint.state.history[0].seconds = 50;
  write_checkpoint(folder.checkpoint(), checkpoint);
  e.trainer.max_seconds = 50;
  TrainSummary summary = resume(e, data, folder, {}, {.accept_edits = true});
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.steps, 11);
  EXPECT_TRUE(read_checkpoint(folder.checkpoint()).state.history.back().valid_error.has_value());
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.insert(entry.path().filename().string());
  return out;
}

TEST(KeepCheckpoints, TheLastOnesStayAndGoBackToTheSameBits) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.trainer.epochs = 6;
  e.trainer.checkpoint_epochs = 1;
  Dataset data = load_data(e, "");
  RunFolder plain = RunFolder::create(temporary.path("plain"), e);
  train(e, data, plain);
  EXPECT_FALSE(fs::exists(plain.kept_checkpoints()));
  e.trainer.keep_checkpoints = 3;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  EXPECT_EQ(files_in(folder.kept_checkpoints()), (std::set<std::string>{"step_40.npz", "step_50.npz"}));
  expect_same(result_of(folder), result_of(plain));
  EXPECT_EQ(read_checkpoint(folder.kept_checkpoints() + "/step_40.npz").state.step, 40);
  // Back to one of them.
  fs::copy_file(folder.kept_checkpoints() + "/step_40.npz", folder.checkpoint(), fs::copy_options::overwrite_existing);
  TrainSummary summary = resume(e, data, folder);
  EXPECT_EQ(summary.steps, 60);
  expect_same(result_of(folder), result_of(plain));
  EXPECT_EQ(files_in(folder.kept_checkpoints()), (std::set<std::string>{"step_40.npz", "step_50.npz"}));
  // Fewer of them.
  e.trainer.keep_checkpoints = 2;
  resume(e, data, folder, {}, {.accept_edits = true});
  EXPECT_EQ(files_in(folder.kept_checkpoints()), std::set<std::string>{"step_50.npz"});
}

TEST(KeepCheckpoints, OfAnotherCourseAreRemoved) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  fs::create_directories(folder.kept_checkpoints());
  for (const char* name : {"step_5.npz", "step_40.npz", "2_b_step_3.npz", "notes.txt", "step_x.npz"})
    std::ofstream(folder.kept_checkpoints() + "/" + name) << "x";
  remove_kept_checkpoints(folder, {.step = 20}, 5);
  EXPECT_EQ(files_in(folder.kept_checkpoints()), (std::set<std::string>{"step_5.npz", "notes.txt", "step_x.npz"}));
  EXPECT_EQ((KeptCheckpoint{.phase = 1, .phase_name = "a_step_1", .step = 7}.file_name()), "2_a_step_1_step_7.npz");
  std::ofstream(folder.kept_checkpoints() + "/2_a_step_1_step_7.npz") << "x";
  remove_kept_checkpoints(folder, {.phase = 1, .phase_name = "a_step_1", .step = 8}, 2);
  EXPECT_EQ(files_in(folder.kept_checkpoints()),
            (std::set<std::string>{"2_a_step_1_step_7.npz", "notes.txt", "step_x.npz"}));
}

}  // namespace
}  // namespace thtrain
