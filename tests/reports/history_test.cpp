#include "reports/history.h"

#include <filesystem>

#include "compiler/base/file.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

const EpochReport kFull{.epoch = 3,
                        .train_loss = 0.125,
                        .valid_error = 7.5,
                        .test_error = 100.0 * 719 / 9600,
                        .seconds = 1.25,
                        .best = true,
                        .learning_rate = 0.05};
const EpochReport kBare{.epoch = 4, .train_loss = 0.1, .seconds = 0.5};

TEST(History, MetricsLines) {
  EXPECT_EQ(metrics_line(kFull),
            "{\"epoch\": 3, \"train_loss\": 0.125, \"valid_error\": 7.500000, "
            "\"test_error\": 7.489583, \"learning_rate\": 0.05, \"seconds\": 1.250000}\n");
  EXPECT_EQ(metrics_line(kBare), "{\"epoch\": 4, \"train_loss\": 0.1, \"seconds\": 0.500000}\n");
}

TEST(History, ArraysReadBack) {
  std::vector<EpochReport> back = history_of(history_array({kFull, kBare}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(metrics_line(back[0]) + metrics_line(back[1]), metrics_line(kFull) + metrics_line(kBare));
  EXPECT_TRUE(back[0].best && !back[1].best);
  EXPECT_TRUE(history_of(history_array({})).empty());
  EXPECT_THROW(history_of(Tensor::zeros(DType::kFloat64, {2, 8})), UserError);
}

TEST(History, AppendsAndRewrites) {
  TemporaryFolder folder;
  std::string path = folder.path("metrics.jsonl");
  append_metrics(path, kFull);
  append_metrics(path, kBare);
  EXPECT_EQ(read_file(path), metrics_line(kFull) + metrics_line(kBare));
  rewrite_metrics(path, {{.epochs = {kFull}}});
  EXPECT_EQ(read_file(path), metrics_line(kFull));
  append_metrics(path, kBare);
  EXPECT_EQ(read_file(path), metrics_line(kFull) + metrics_line(kBare));
  EXPECT_THROW(append_metrics(folder.path("no/metrics.jsonl"), kBare), UserError);
}

TEST(History, OnlyTheLastEpochsAreHeld) {
  std::vector<EpochReport> epochs;
  EarlierEpochs earlier;
  double seconds = 0;
  for (int64_t epoch = 1; epoch <= 5300; ++epoch) {
    epochs.push_back(
        {.epoch = epoch, .train_loss = 1.0 / static_cast<double>(epoch), .seconds = 0.1, .best = epoch == 3});
    seconds += 0.1;
    drop_earlier(epochs, earlier);
    EXPECT_LT(epochs.size(), 2 * kHeldEpochs);
    ASSERT_EQ(earlier.count + std::ssize(epochs), epoch);
    ASSERT_EQ(epochs.back().epoch, epoch);
    ASSERT_EQ(seconds_of(epochs, earlier), seconds);  // the same bits as if all were held
  }
  EXPECT_EQ(epochs.front().epoch, earlier.count + 1);
  EXPECT_EQ(earlier.first_loss, 1);
  EXPECT_TRUE(earlier.has_best);
}

TEST(History, LinesOfEpochsThatAreNoLongerHeldStay) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  auto report = [](int64_t epoch) { return EpochReport{.epoch = epoch, .train_loss = 0.5, .seconds = 1}; };
  auto line = [&](int64_t epoch, const std::string& phase) { return metrics_line(report(epoch), {{}}, phase); };
  std::string text;
  for (int64_t epoch : {1, 2, 3}) text += line(epoch, "a");
  for (int64_t epoch : {1, 2, 3, 4, 5}) text += line(epoch, "b\"");
  folder.write("metrics.jsonl", text);
  // Epoch 3 of a is held, and so is epoch 3 of b; what came behind the checkpoint goes.
  const std::vector<PhaseHistory> phases = {
      {.phase = "a", .epochs = {report(3)}, .earlier = {.count = 2}},
      {.phase = "b\"", .epochs = {report(3)}, .earlier = {.count = 2}},
  };
  EXPECT_EQ(rewrite_metrics(path, phases), 0);
  EXPECT_EQ(read_file(path), text.substr(0, text.size() - line(4, "b\"").size() - line(5, "b\"").size()));
  // Lines that somebody took out, or wrote twice, and what is no line of a run.
  folder.write("metrics.jsonl", line(2, "a") + line(2, "a") + "{}\n" + line(1, "b\"") + line(2, "b\""));
  EXPECT_EQ(rewrite_metrics(path, phases), 1);
  EXPECT_EQ(read_file(path), line(2, "a") + line(3, "a") + line(1, "b\"") + line(2, "b\"") + line(3, "b\""));
  std::filesystem::remove(path);
  EXPECT_EQ(rewrite_metrics(path, phases), 4);
  EXPECT_EQ(read_file(path), line(3, "a") + line(3, "b\""));
}

TEST(History, LossesForPeopleAreShort) {
  EXPECT_EQ(loss_text(0.41), "0.41");
  EXPECT_EQ(loss_text(2.0 / 3), "0.666667");
  EXPECT_EQ(loss_text(1.5e300), "1.5e+300");
}

}  // namespace
}  // namespace thtrain
