// Runs of thousands of epochs: what they hold is bounded, and metrics.jsonl has all.
#include <algorithm>
#include <atomic>
#include <filesystem>

#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "tests/support/run_result.h"
#include "trainers/load_data.h"
#include "trainers/metrics_file.h"
#include "trainers/run_record.h"

namespace thtrain {
namespace {

constexpr int64_t kEpochs = 2600;

// 784-10 on one minibatch.
Experiment long_experiment() {
  Experiment out = small_experiment();
  DigitsConfig digits;
  digits.n_train = digits.n_valid = digits.n_test = 2;
  out.data = digits;
  Softmax::Options softmax;
  softmax.name = "softmax";
  out.model.layers = {softmax};
  out.trainer.batch_size = 2;
  out.trainer.epochs = kEpochs;
  out.output.plots = true;
  return out;
}

TEST(LongRun, HoldsItsLastEpochsAndGoesOnToTheSameBits) {
  TemporaryFolder temporary;
  const Experiment e = long_experiment();
  const Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  std::vector<EpochReport> all;
  const TrainSummary summary =
      train(e, data, whole, {.on_epoch = [&](const EpochReport& report) { all.push_back(report); }});
  const Checkpoint end = read_checkpoint(whole.checkpoint());
  EXPECT_EQ(end.state.reported(), kEpochs);
  EXPECT_EQ(end.state.earlier.count, 1000);
  EXPECT_EQ(end.state.history.size(), 1600u);
  const RunRecord record = read_run(whole.path());
  EXPECT_EQ(record.epochs, kEpochs);
  EXPECT_EQ(record.trouble, "");
  EXPECT_EQ(record.seconds, summary.seconds);
  EXPECT_EQ(record.train_loss, summary.train_loss);

  // Interrupted before and behind the epoch whose end lets the first ones go.
  RunFolder parts = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{0};
  int64_t at = 1500;
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) {
    if (report.epoch == at) stop = 1;
  }};
  EXPECT_TRUE(train(e, data, parts, hooks, {.stop = &stop}).interrupted);
  for (int64_t next : {int64_t{2300}, kEpochs}) {
    at = next;
    stop = 0;
    RunFolder again = RunFolder::open(parts.path());
    append_metrics(again.metrics(), {.epoch = 9000, .train_loss = 1});  // of a process that was killed
    resume(e, data, again, hooks, {.stop = &stop});
  }
  EXPECT_EQ(metrics_without_times(parts.metrics()), metrics_without_times(whole.metrics()));
  const Checkpoint resumed = read_checkpoint(parts.checkpoint());
  expect_same(end.weights, resumed.weights);
  expect_same(end.optimizer, resumed.optimizer);
  EXPECT_EQ(end.state.monitor, resumed.state.monitor);
  EXPECT_EQ(end.state.earlier.count, resumed.state.earlier.count);
  EXPECT_EQ(end.state.earlier.first_loss, resumed.state.earlier.first_loss);

  // The picture has the epochs that only metrics.jsonl has.
  std::vector<PhaseHistory> drawn = histories_to_draw(
      whole.metrics(), {{"", end.state.history, end.metrics, end.state.earlier}}, end.state.monitor.best_epoch);
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(drawn[0].epochs.front().epoch, 1);
  EXPECT_EQ(drawn[0].epochs.back().epoch, kEpochs);
  EXPECT_EQ(std::count_if(drawn[0].epochs.begin(), drawn[0].epochs.end(), [](const auto& r) { return r.best; }), 1);
  const RunCurves curves = read_curves(whole.path(), "error");
  EXPECT_EQ(curves.valid.front().first, 1);
  EXPECT_EQ(curves.valid.back().first, static_cast<double>(kEpochs));
  const RunSeries series = read_series(whole.path());
  EXPECT_EQ(series.values.at("valid_error"), curves.valid);
  EXPECT_EQ(series.values.at("train_loss").back(), std::pair(static_cast<double>(kEpochs), all.back().train_loss));
  EXPECT_FALSE(series.values.contains("seconds"));
  EXPECT_TRUE(series.phases.empty());

  // A checkpoint of an earlier version has every epoch.
  Checkpoint earlier = end;
  earlier.state.history = all;
  earlier.state.earlier = {};
  write_checkpoint(whole.checkpoint(), earlier);
  Experiment longer = e;
  longer.trainer.epochs = kEpochs + 1;
  RunFolder more = RunFolder::open(whole.path());
  resume(longer, data, more, {}, {.accept_edits = true});
  const RunState after = read_checkpoint(more.checkpoint()).state;
  EXPECT_EQ(after.reported(), kEpochs + 1);
  EXPECT_EQ(after.earlier.count, 1000);
  EXPECT_EQ(after.earlier.first_loss, all.front().train_loss);
}

TEST(LongRun, ALossOfItsLinesIsToldAndTheRunGoesOn) {
  TemporaryFolder temporary;
  Experiment e = long_experiment();
  e.trainer.epochs = 2100;
  e.output.plots = false;
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  std::filesystem::remove(folder.metrics());
  std::vector<std::string> said;
  TrainHooks hooks{.on_message = [&](const std::string& text) { said.push_back(text); }};
  RunFolder again = RunFolder::open(folder.path());
  resume(e, data, again, hooks);
  EXPECT_EQ(said, std::vector<std::string>({str("warning: ", folder.metrics(),
                                                " has lost the lines of 1000 epochs that the checkpoint does not hold "
                                                "any more")}));
  EXPECT_EQ(read_run(folder.path()).trouble, "metrics.jsonl has 1100 of 2100 epochs");
}

}  // namespace
}  // namespace thtrain
