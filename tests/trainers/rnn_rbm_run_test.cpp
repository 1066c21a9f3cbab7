// Runs of an rnn_rbm on pieces of different lengths: their bits after stops, and what is measured of them.
#include "nn/layers/rnn_rbm.h"

#include <atomic>

#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "datasets/sources/piano_rolls.h"
#include "nn/model_pass.h"
#include "nn/objectives/contrastive_divergence.h"
#include "tests/support/run_result.h"
#include "trainers/build_model.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

// 7 training, 3 validation and 3 test pieces of 4 to 7 steps of 6 keys.
Experiment experiment(const TemporaryFolder& folder) {
  std::string text;
  for (const auto& [set, pieces] : {std::pair("train", 7), std::pair("valid", 3), std::pair("test", 3)})
    for (int piece = 0; piece < pieces; ++piece) {
      const int steps = 4 + (piece * 3) % 4;
      text += str("@ ", set, ' ', steps, " 6\n");
      for (int step = 0; step < steps; ++step) text += str((piece + step) % 3, ' ', 3 + step % 3, '\n');
    }
  Experiment out;
  PianoRollsConfig data;
  data.file = folder.write("pieces.txt", text);
  out.data = data;
  RnnRbm::Options machine;
  machine.name = "machine";
  machine.units = 5;
  machine.recurrent_units = 4;
  out.model.layers = {machine};
  ContrastiveDivergence::Options objective;
  objective.k = 2;
  out.loss.objective = objective;
  out.trainer.batch_size = 3;
  out.trainer.full_batches_only = false;
  out.trainer.epochs = 2;
  out.compiler.threads = 1;
  out.output.plots = false;
  return out;
}

TEST(RnnRbmRun, StopsAfterEveryStepLeaveTheBits) {
  TemporaryFolder temporary;
  const Experiment e = experiment(temporary);
  const Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  EXPECT_FALSE(train(e, data, whole).interrupted);
  RunFolder folder = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};  // always: one step, then a checkpoint
  TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
  int64_t steps = 1;
  for (; summary.interrupted && steps < 100; ++steps) {
    RunFolder again = RunFolder::open(folder.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  EXPECT_EQ(steps, 6);
  expect_same(result_of(folder), result_of(whole));
}

// The mean over the steps that the pieces have, not over those behind their ends.
TEST(RnnRbmRun, TheLossIsTheMeanOverTheSteps) {
  TemporaryFolder temporary;
  Experiment e = experiment(temporary);
  e.trainer.epochs = 1;
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  double shown = 0;
  train(e, data, folder, {.on_epoch = [&](const EpochReport& report) { shown = report.valid_loss.value(); }});
  Model model = build_model(e, {"x", {6}, true}, 0);
  model.load(read_weights(folder.best()), "best.npz");
  const Batch valid = data.valid.read(0, 3, model.dtype());
  const Expr x = tensor("x", {3, Dim("steps"), 6}, model.dtype()), lengths = tensor("lengths", {3}, DType::kInt64);
  const ModelOutput output = model.pass({x}, Phase::kEvaluation, lengths).model_output();
  const std::vector<Tensor> got = function({x, lengths}, {ContrastiveDivergence().losses(output, {}).values,
                                                          output.mask})({valid.x, valid.lengths.cast(DType::kInt64)});
  double total = 0, steps = 0;
  for (int64_t i = 0; i < got[0].size(); ++i) {
    total += got[0].as_double(i) * got[1].as_double(i);
    steps += got[1].as_double(i);
  }
  EXPECT_LT(steps, static_cast<double>(got[0].size()));
  EXPECT_NEAR(shown, total / steps, 1e-5);
}

// Keys that are no binary numbers stop the run.
TEST(RnnRbmRun, RefusesOtherNumbers) {
  TemporaryFolder temporary;
  Experiment e = experiment(temporary);
  Dataset data = load_data(e, "");
  const Batch rows = data.train.read(0, 7, DType::kFloat64);
  Tensor x = rows.x.copy();
  x.data<double>()[7] = 2;
  data.train = Split({.raw = x, .origin = "pieces.txt"}, {.raw = x, .origin = "pieces.txt"}, Targets::kLabels, 1,
                     {DataArray{.raw = rows.lengths, .origin = "pieces.txt"}});
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  EXPECT_EQ(error_text([&] { train(e, data, folder); }),
            "error: pieces.txt: row 0, element [1, 1]: not a label that an example has or has not\n"
            "  expected: 0 or 1\n"
            "  got:      2\n"
            "  hint:     rows and columns count from 0");
}

}  // namespace
}  // namespace thtrain
