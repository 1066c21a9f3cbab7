#include "trainers/checkpoint.h"

#include "datasets/npz.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

Checkpoint example() {
  Checkpoint out;
  Tensor w = Tensor::matrix<float>({{1, 2}, {3, 4}});
  out.weights = {{"hidden/W", w}};
  out.optimizer = {{"velocity/hidden/W", Tensor::matrix<float>({{5, 6}, {7, 8}})}};
  out.best = {{"hidden/W", Tensor::matrix<float>({{-1, -2}, {-3, -4}})}};
  RunState& s = out.state;
  s.epochs = 2;
  s.batch = 5;
  s.step = 25;
  s.random = RandomState(7);
  s.random.normal();
  s.monitor = {.patience = 40.5, .best_error = 12.5, .best_epoch = 1};
  s.best_test_error = 13;
  s.loss_sum = 1.0 / 3;
  s.report = {.epoch = 3, .valid_error = 11, .seconds = 2};
  s.history = {{.epoch = 1, .train_loss = 0.5, .valid_error = 12.5, .best = true}, {.epoch = 2, .train_loss = 0.25}};
  out.fingerprint = {{"threads", "2"}, {"processor", "x86-64 = odd"}};
  out.config = "seed = 7\n";
  return out;
}

TEST(Checkpoint, ReadsBackBitForBit) {
  TemporaryFolder folder;
  std::string path = folder.path("checkpoint.npz");
  Checkpoint wrote = example();
  write_checkpoint(path, wrote);
  Checkpoint read = read_checkpoint(path);
  auto expect_same = [](const NamedArrays& a, const NamedArrays& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_TRUE(same_bits(a[i].second, b[i].second));
    }
  };
  expect_same(read.weights, wrote.weights);
  expect_same(read.optimizer, wrote.optimizer);
  expect_same(read.best, wrote.best);
  const RunState &a = read.state, &b = wrote.state;
  EXPECT_EQ(std::tuple(a.epochs, a.batch, a.step, a.stopped_early, a.loss_sum),
            std::tuple(b.epochs, b.batch, b.step, false, b.loss_sum));
  EXPECT_EQ(a.random.state(), b.random.state());
  EXPECT_EQ(a.monitor, b.monitor);
  EXPECT_EQ(a.best_test_error, b.best_test_error);
  EXPECT_EQ(a.report.valid_error, b.report.valid_error);
  EXPECT_FALSE(a.report.test_error);
  EXPECT_EQ(a.history.size(), 2u);
  EXPECT_EQ(read.fingerprint, wrote.fingerprint);
  EXPECT_EQ(read.config, wrote.config);
}

TEST(Checkpoint, NumPyFindsTheWeightsUnderTheirNames) {
  TemporaryFolder folder;
  std::string path = folder.path("checkpoint.npz");
  write_checkpoint(path, example());
  std::vector<std::string> expected = {
      "hidden/W",  "run.velocity/hidden/W", "run.best/hidden/W", "run.position", "run.random", "run.monitor",
      "run.epoch", "run.history",           "run.pins",          "run.config"};
  EXPECT_EQ(NpzFile(path).names(), expected);
}

TEST(Checkpoint, OtherFilesAreErrors) {
  TemporaryFolder folder;
  std::string path = folder.path("c.npz");
  write_npz(path, {{"hidden/W", Tensor::vector({1.0})}});
  EXPECT_THROW(read_checkpoint(path), UserError);
  write_npz(path, {{"run.position", Tensor::vector<int64_t>({1, 2})}});
  EXPECT_EQ(error_text([&] { read_checkpoint(path); }), str("error: ", path,
                                                            ": run.position is not what a checkpoint holds\n"
                                                            "  expected: int64[4]\n  got:      int64[2]"));
}

TEST(Checkpoint, KeepsThePhasesBefore) {
  TemporaryFolder folder;
  const std::string path = folder.path("checkpoint.npz");
  Checkpoint wrote = example();
  wrote.phase = 1;
  wrote.before = {
      {.phase = "first", .epochs = {{.epoch = 1, .train_loss = 0.5}}, .metrics = {{.name = "loss", .unit = ""}}}};
  write_checkpoint(path, wrote);
  const Checkpoint read = read_checkpoint(path);
  EXPECT_EQ(read.phase, 1);
  ASSERT_EQ(read.before.size(), 1u);
  EXPECT_EQ(read.before[0].phase, "first");
  EXPECT_EQ(read.before[0].epochs.at(0).train_loss, 0.5);
  EXPECT_EQ(read.before[0].metrics.at(0).name, "loss");
  EXPECT_EQ(read.optimizer.size(), 1u);
  // What no run writes.
  auto refused = [&](const std::string& name, const Tensor& value) {
    NamedArrays arrays;
    for (const auto& [key, array] : read_npz(path)) arrays.emplace_back(key, key == name ? value : array);
    const std::string other = folder.path("other.npz");
    write_npz(other, arrays);
    return error_text([&] { read_checkpoint(other); }).substr(str("error: ", other, ": ").size());
  };
  EXPECT_EQ(refused("run.phase", Tensor::vector<int64_t>({-1})),
            "run.phase[0], the phase, is not what a run writes\n  expected: 0 to 10000\n  got:      -1");
  EXPECT_EQ(refused("run.phase", Tensor::vector<int64_t>({2})),
            "run.before/names is not what a run writes\n  expected: a line for each phase before phase 2\n"
            "  got:      1 line");
  EXPECT_EQ(refused("run.before/0/history", Tensor::vector<double>({2})),
            "run.before/0/history is not what a run writes\n  expected: float64[epochs, 9]\n  got:      float64[1]\n"
            "  hint:     the checkpoint is damaged or was changed: put it back from a copy");
}

TEST(Checkpoint, KeepsWhatIsRememberedOfEarlierEpochs) {
  TemporaryFolder folder;
  const std::string path = folder.path("checkpoint.npz");
  Checkpoint wrote = example();
  wrote.state.epochs = 3002;
  wrote.state.step = 9000;
  wrote.state.history = {{.epoch = 3001, .train_loss = 0.5}, {.epoch = 3002, .train_loss = 0.25}};
  wrote.state.earlier = {.count = 3000, .seconds = 12.5, .first_loss = 2.25, .has_best = true};
  wrote.phase = 1;
  wrote.before = {{.phase = "first",
                   .epochs = {{.epoch = 1001, .train_loss = 0.5, .seconds = 2}},
                   .earlier = {.count = 1000, .seconds = 1.5, .first_loss = 3}}};
  write_checkpoint(path, wrote);
  const Checkpoint read = read_progress(path);
  EXPECT_EQ(read.state.reported(), 3002);
  EXPECT_EQ(read.state.earlier.first_loss, 2.25);
  EXPECT_TRUE(read.state.earlier.has_best);
  EXPECT_EQ(read.before[0].earlier.count, 1000);
  EXPECT_FALSE(read.before[0].earlier.has_best);
  EXPECT_EQ(training_seconds(read.before, read.state), 3.5 + 12.5 + read.state.report.seconds);
  EXPECT_TRUE(read_checkpoint(path).optimizer.size() == 1);  // no state of the optimizer
  auto refused = [&](const std::string& name, const Tensor& value) {
    NamedArrays arrays;
    for (const auto& [key, array] : read_npz(path)) arrays.emplace_back(key, key == name ? value : array);
    const std::string other = folder.path("other.npz");
    write_npz(other, arrays);
    const std::string text = error_text([&] { read_checkpoint(other); }).substr(str("error: ", other, ": ").size());
    return text.substr(0, text.find("\n  hint:"));
  };
  EXPECT_EQ(refused("run.earlier", Tensor::vector<double>({0.5, 1, 1, 0})),
            "run.earlier[0], the epochs before run.history, is not what a run writes\n"
            "  expected: 1 to 9007199254740992\n  got:      0.5");
  EXPECT_EQ(refused("run.before/0/earlier", Tensor::vector<double>({1000, -1, 1, 0})),
            "run.before/0/earlier[1], the seconds, is not what a run writes\n"
            "  expected: a finite number, at least 0\n  got:      -1");
  EXPECT_EQ(refused("run.earlier", Tensor::vector<double>({2999, 1, 1, 0})),
            "run.history is not what a run writes\n"
            "  expected: float64[3, 9], a row for each finished epoch after epoch 2999\n  got:      float64[2, 9]");
}

}  // namespace
}  // namespace thtrain
