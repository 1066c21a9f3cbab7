#include "reports/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "datasets/file.h"
#include "reports/compared_runs.h"
#include "reports/plot.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

class LearningCurves : public testing::Test {
 protected:
  // The PNG; its SVG has the same size.
  Picture drawn(const std::vector<PhaseHistory>& phases, const MetricName& metric, const std::string& title) {
    EXPECT_EQ(draw_learning_curves(folder.path("curves"), phases, metric, title),
              (std::vector<std::string>{folder.path("curves.png"), svg()}));
    const Picture out = read_png(folder.path("curves.png"));
    EXPECT_EQ(of_svg(svg(), "print(root.get(\"width\"), root.get(\"height\"))"), str(out.width, ' ', out.height, '\n'));
    return out;
  }
  std::string svg() const { return folder.path("curves.svg"); }
  bool has_text(const std::string& text) const {
    return ("\n" + svg_texts(svg())).find("\n" + text + "\n") != std::string::npos;
  }

  TemporaryFolder folder;
};

std::vector<EpochReport> long_run() {
  std::vector<EpochReport> history;
  for (int64_t epoch = 1; epoch <= 1000; ++epoch) {
    const auto x = static_cast<double>(epoch);
    history.push_back({.epoch = epoch,
                       .train_loss = 1 / std::sqrt(x),
                       .valid_error = 2 + 10 / x,
                       .best = epoch == 900,
                       .learning_rate = epoch <= 500 ? 0.1 : 0.01});
    if (epoch % 7 == 0) history.back().test_error = 2.2 + 9 / x + std::sin(x);
  }
  return history;
}

TEST_F(LearningCurves, ASmallPictureOfALongRun) {
  const Picture picture = drawn({{.epochs = long_run()}}, {}, "runs/mlp_digits-1");
  EXPECT_LT(read_file(folder.path("curves.png")).size(), 100'000u);
  EXPECT_LT(read_file(svg()).size(), 100'000u);
  EXPECT_EQ(picture.width, 960u);
  EXPECT_GT(picture.count(curve_style(0).colour), 300);  // validation
  EXPECT_GT(picture.count(curve_style(1).colour), 300);  // test
  for (const char* text : {"runs/mlp_digits-1", "error (%)", "loss", "training", "validation", "test", "learning rate",
                           "epoch", "best: 2.011 % at epoch 900"})
    EXPECT_TRUE(has_text(text)) << text << "\n" << svg_texts(svg());
}

TEST_F(LearningCurves, TheLearningRateIsDrawnWhereItChanges) {
  std::vector<EpochReport> history = long_run();
  const Picture with = drawn({{.epochs = history}}, {}, "");
  // The step at epoch 500, in the strip below: a line upright in the middle of the panel.
  EXPECT_TRUE(has_text("learning rate"));
  for (EpochReport& report : history) report.learning_rate = 0.1;
  const Picture constant = drawn({{.epochs = history}}, {}, "");
  EXPECT_FALSE(has_text("learning rate"));
  EXPECT_GT(with.height, constant.height + 50);
  for (EpochReport& report : history) report.learning_rate.reset();  // a batch method
  EXPECT_EQ(drawn({{.epochs = history}}, {}, "").height, constant.height);
}

TEST(RunTitles, AreTheNameOfTheFolder) {
  for (const char* path : {"/tmp/runs/mlp-1", "runs/mlp-1", "mlp-1/", "./mlp-1//", "runs/other/../mlp-1/."})
    EXPECT_EQ(run_title(path), "mlp-1") << path;
  EXPECT_EQ(run_title("."), std::filesystem::current_path().filename());
}

TEST_F(LearningCurves, PhasesAreParted) {
  std::vector<PhaseHistory> phases = {{.phase = "pretraining"}, {.phase = "finetuning"}};
  phases[0].metrics = {{"loss", ""}};
  for (int64_t epoch = 1; epoch <= 10; ++epoch) {
    phases[0].epochs.push_back({.epoch = epoch, .train_loss = 80.0 - static_cast<double>(epoch), .valid_error = 70});
    phases[1].epochs.push_back({.epoch = epoch, .train_loss = 2.0, .valid_error = 5, .best = epoch == 3});
  }
  drawn(phases, {}, "");
  for (const char* text : {"pretraining", "finetuning", "best: 5 % at epoch 13", "error (%)", "10"})
    EXPECT_TRUE(has_text(text)) << text << "\n" << svg_texts(svg());
  EXPECT_TRUE(has_text("training"));  // of the losses
  // A dashed grey line upright in each of the two panels.
  EXPECT_EQ(of_svg(svg(), "print(sum(e.get(\"stroke\") == \"#828282\" for e in root.iter()))"), "2\n");
}

TEST_F(LearningCurves, TheMetricLossHasOnePanel) {
  std::vector<EpochReport> history;
  for (int64_t epoch = 1; epoch <= 20; ++epoch)
    history.push_back({.epoch = epoch, .train_loss = 3, .valid_error = 2, .valid_loss = 2});
  drawn({{.epochs = history, .metrics = {{"loss", ""}}}}, {"loss", ""}, "");
  // What is drawn of training stands in metrics.jsonl: no other value that was measured.
  const std::string without = read_file(svg());
  for (EpochReport& report : history) report.train_error = 1;
  drawn({{.epochs = history, .metrics = {{"loss", ""}}}}, {"loss", ""}, "");
  EXPECT_EQ(read_file(svg()), without);
  EXPECT_EQ(svg_texts(svg()).find("training"), svg_texts(svg()).rfind("training"));
  EXPECT_TRUE(has_text("training") && has_text("validation") && has_text("loss"));
}

TEST_F(LearningCurves, ShortAndStrangeRuns) {
  const MetricName error;
  drawn({{.epochs = {{.epoch = 1, .train_loss = 0.5}}}}, error, "one");
  drawn(
      {{.epochs = {{.epoch = 1, .train_loss = 0, .valid_error = 0}, {.epoch = 2, .train_loss = -1, .valid_error = 0}}}},
      error, "zero");
  EXPECT_EQ(drawn({{}}, error, "").width, 960u);
  const std::string no = folder.path("no/curves");
  EXPECT_EQ(error_text([&] { draw_learning_curves(no, {}); }),
            str("error: ", no, ".png: the file cannot be written\n  expected: a folder ", folder.path("no"),
                "\n  got:      no such folder\n  hint:     run: mkdir -p ", folder.path("no")));
}

TEST_F(LearningCurves, ValuesThatNoRunHas) {
  const double most = std::numeric_limits<double>::max(), inf = HUGE_VAL, nan = std::nan("");
  for (double value : {1e300, -1e300, most, -most, inf, -inf, nan, 5e-324}) {
    std::vector<EpochReport> history;
    for (int64_t epoch : {int64_t{1}, int64_t{2}, std::numeric_limits<int64_t>::min(), int64_t{1} << 62})
      history.push_back({.epoch = epoch,
                         .train_loss = epoch == 2 ? 1 : value,
                         .valid_error = value,
                         .test_error = epoch == 1 ? 5 : value,
                         .best = true,
                         .learning_rate = value});
    EXPECT_EQ(drawn({{.epochs = history}}, {}, "\x01\xff <&>").width, 960u) << value;
  }
}

TEST_F(LearningCurves, ComparedRuns) {
  std::vector<ComparedRun> runs(10);
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].name = str("run ", i + 1);
    for (int epoch = 1; epoch <= 50; ++epoch) {
      runs[i].valid.emplace_back(epoch, static_cast<double>(i) + 10.0 / epoch);
      if (i < 3) runs[i].train.emplace_back(epoch, static_cast<double>(i) + 8.0 / epoch);
    }
  }
  EXPECT_EQ(draw_compared_runs(folder.path("curves"), runs, "error (%)", "ten runs"),
            (std::vector<std::string>{folder.path("curves.png"), svg()}));
  EXPECT_EQ(read_png(folder.path("curves.png")).width, 960u);
  for (const ComparedRun& run : runs) EXPECT_TRUE(has_text(run.name)) << run.name;
  EXPECT_TRUE(has_text("training") && has_text("ten runs") && has_text("error (%)"));
  // Three dashed training curves and their line in the legend; two runs beyond the eight styles, with legend.
  EXPECT_EQ(of_svg(svg(),
                   "print(sum(e.get(\"stroke-dasharray\") == \"4 3\" for e in root.iter()), "
                   "sum(e.get(\"stroke-dasharray\") == \"14 3 2 3\" for e in root.iter()))"),
            "4 4\n");
  draw_compared_runs(folder.path("curves"), {{"alone", {{1, 2}}}}, "loss", "one run");
  EXPECT_FALSE(has_text("training"));
  draw_compared_runs(folder.path("curves"), {}, "loss", "none");
}

}  // namespace
}  // namespace thtrain
