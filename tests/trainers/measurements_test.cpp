// Measurements that end in between: where the user asks to stop, and where examples cannot be read.
#include "datasets/sources/digits.h"
#include "nn/schedules/plateau.h"
#include "tests/support/run_result.h"
#include "tests/support/watched_rows.h"
#include "trainers/evaluator.h"
#include "trainers/program.h"

namespace thtrain {
namespace {

// 3 minibatches of training, 3 of validation and 2 of test examples; the plateau schedule and the monitor count what is
// measured.
Experiment measured_experiment() {
  Experiment out = reference_experiment();
  DigitsConfig digits;
  digits.n_train = 80;
  digits.n_valid = 60;
  digits.n_test = 40;
  out.data = digits;
  out.trainer.epochs = 3;
  out.trainer.shuffle = false;
  out.trainer.test_at = TrainerConfig::TestAt::kEpoch;
  ScheduleKind<PlateauSchedule> plateau;
  plateau.patience = 0;  // so that each validation counts
  plateau.decay = 0.5;
  plateau.threshold = 0.75;
  out.trainer.schedule = OneOf<ScheduleOptions>(plateau);
  return out;
}

RunResult whole_run(const Experiment& e, const Dataset& data, const TemporaryFolder& temporary) {
  RunFolder folder = RunFolder::create(temporary.path("whole"), e);
  EXPECT_FALSE(train(e, data, folder).interrupted);
  return result_of(folder);
}

// The first batch of each set is read when its first measurement begins, so that some of these signals come within one;
// about 17 batches of each set are read ahead.
TEST(Measurements, AStopAtAnyReadLeavesTheBits) {
  TemporaryFolder temporary;
  Experiment e = measured_experiment();
  e.trainer.epochs = 2;
  Watch watch;
  const Dataset data = watched_data(e, watch);
  const RunResult whole = whole_run(e, data, temporary);
  int stops[3] = {};
  for (int64_t n = 0; n < 80; ++n) {
    SCOPED_TRACE(str("stopped at read ", n));
    RunFolder folder = RunFolder::create(temporary.path(str("run", n)), e);
    watch.reads = watch.stop = 0;
    watch.stop_at = n;
    if (!train(e, data, folder, {}, {.stop = &watch.stop}).interrupted) continue;
    ++stops[static_cast<int>(read_checkpoint(folder.checkpoint()).state.unmeasured)];
    EXPECT_FALSE(resume(e, data, folder).interrupted);
    expect_same(result_of(folder), whole);
  }
  EXPECT_GT(stops[0], 0);
  EXPECT_GT(stops[static_cast<int>(Unmeasured::kStep)], 0);
  EXPECT_GT(stops[static_cast<int>(Unmeasured::kEpoch)], 0);
}

// At the end of a run: the test error of the best weights. The last weights are what the checkpoint holds.
TEST(Measurements, AStopWithinTheTestErrorOfTheBestWeights) {
  TemporaryFolder temporary;
  Experiment e = measured_experiment();
  e.trainer.test_at = TrainerConfig::TestAt::kEnd;
  Watch watch;
  const Dataset data = watched_data(e, watch);
  const RunResult whole = whole_run(e, data, temporary);
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  int64_t epochs = 0;
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) { watch.stop = ++epochs == 3; }};
  const TrainSummary summary = train(e, data, folder, hooks, {.stop = &watch.stop});
  EXPECT_TRUE(summary.interrupted);
  EXPECT_FALSE(summary.test_error);
  const TrainSummary resumed = resume(e, data, folder);
  EXPECT_FALSE(resumed.interrupted);
  EXPECT_TRUE(resumed.test_error);
  expect_same(result_of(folder), whole);
}

// The state after the last good step is kept, and the run goes on from there when the data is mended.
TEST(Measurements, WhatCannotBeReadLeavesACheckpointOfTheLastGoodStep) {
  TemporaryFolder temporary;
  const Experiment e = measured_experiment();
  Watch watch;
  const Dataset data = watched_data(e, watch);
  const RunResult whole = whole_run(e, data, temporary);
  struct {
    const char* array;
    int64_t row, step;
    Unmeasured unmeasured;
  } const locations[] = {{"train", 5, 0, Unmeasured::kNothing},
                         {"train", 70, 3, Unmeasured::kNothing},
                         {"valid", 50, 4, Unmeasured::kStep},
                         {"test", 30, 4, Unmeasured::kStep}};
  for (const auto& [array, row, step, unmeasured] : locations) {
    const std::string path = temporary.path(str(array, row));
    SCOPED_TRACE(path);
    RunFolder folder = RunFolder::create(path, e);
    watch.bad_row = row;
    watch.bad_array = array;
    const std::string error =
        str("error: ", array, ": row ", row, " cannot be read\n  hint:     the checkpoint of step ", step,
            " is kept: `thtrain resume ", path, "` goes on from it");
    EXPECT_EQ(error_text([&] { train(e, data, folder); }), error);
    const RunState state = read_checkpoint(folder.checkpoint()).state;
    EXPECT_EQ(state.step, step);
    EXPECT_EQ(state.unmeasured, unmeasured);
    EXPECT_EQ(error_text([&] { resume(e, data, folder); }), error);  // not mended yet
    watch.bad_row = -1;
    EXPECT_FALSE(resume(e, data, folder).interrupted);
    expect_same(result_of(folder), whole);
  }
}

// In reference and debug mode a chunk is a minibatch; a flag is looked at between two of them.
TEST(Measurements, AreInChunksThatAreSoonDone) {
  for (CompilerConfig::Mode mode :
       {CompilerConfig::Mode::kReference, CompilerConfig::Mode::kDebug, CompilerConfig::Mode::kNative}) {
    Experiment e = measured_experiment();
    e.compiler.mode = mode;
    const Dataset data = load_data(e, "");
    TrainingProgram program(e, data, "");
    int asked = 0, most = 1000;
    program.stop_measuring_where([&] { return ++asked >= most; });
    EXPECT_TRUE(program.measure_valid());
    EXPECT_EQ(asked, mode == CompilerConfig::Mode::kNative ? 0 : 2);
    if (mode == CompilerConfig::Mode::kNative) continue;
    asked = 0;
    most = 1;
    EXPECT_THROW(program.measure_valid(), MeasurementStopped);
    EXPECT_EQ(asked, 1);
  }
}

}  // namespace
}  // namespace thtrain
