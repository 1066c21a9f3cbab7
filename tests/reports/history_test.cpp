#include "reports/history.h"

#include "datasets/file.h"
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

TEST(History, LossesForPeopleAreShort) {
  EXPECT_EQ(loss_text(0.41), "0.41");
  EXPECT_EQ(loss_text(2.0 / 3), "0.666667");
  EXPECT_EQ(loss_text(1.5e300), "1.5e+300");
}

}  // namespace
}  // namespace thtrain
