#include "reports/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>

#include "compiler/base/file.h"
#include "reports/compared_runs.h"
#include "reports/plot.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

class LearningCurves : public testing::Test {
 protected:
  // The PNG; its SVG has the same size.
  Picture drawn(const std::vector<PhaseHistory>& phases, const MetricName& metric, const std::string& title,
                ValueScale scale = ValueScale::kAuto) {
    EXPECT_EQ(draw_learning_curves(folder.path("curves"), phases, metric, title, scale),
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
  EXPECT_EQ(picture.width, 960u);
  // A PNG of few colours takes far less than its pixels do; and of 1,000 epochs the SVG has some corners of each curve
  // (one for each epoch would be 50 kB).
  EXPECT_LT(read_file(folder.path("curves.png")).size(), size_t{picture.width} * picture.height * 3 / 10);
  EXPECT_LT(read_file(svg()).size(), 20'000u);
  EXPECT_GT(picture.count(curve_style(0).colour), 300);  // validation
  EXPECT_GT(picture.count(curve_style(1).colour), 300);  // test
  for (const char* text : {"runs/mlp_digits-1", "error (%)", "loss", "training", "validation", "test", "learning rate",
                           "epoch", "best: 2.011 % at epoch 900"})
    EXPECT_TRUE(has_text(text)) << text << "\n" << svg_texts(svg());
}

// A curve as the SVG file has it: the corners of the paths of this colour that are cut at a panel (those of legends are
// not), the panel, and the middles of its discs.
struct DrawnCurve {
  std::vector<Point> corners = {}, discs = {};
  Box panel = {};
};
DrawnCurve curve_of(const std::string& svg, const std::string& colour) {
  std::istringstream text(of_svg(
      svg, str("clips = {\"url(#\" + e.get(\"id\") + \")\": e[0] for e in root if tag(e) == \"clipPath\"}\n"
               "paths = [e for e in root.iter() if e.get(\"stroke\") == \"",
               colour,
               "\" and e.get(\"clip-path\")]\n"
               "r = [float(clips[paths[0].get(\"clip-path\")].get(k)) for k in (\"x\", \"y\", \"width\", \"height\")]\n"
               "print(r[0], r[1] + 2, r[0] + r[2] - 3, r[1] + r[3] - 2)\n"
               "discs = [e for e in root.iter() if tag(e) == \"circle\"]\n"
               "print(len(discs))\n"
               "for e in discs: print(e.get(\"cx\"), e.get(\"cy\"))\n"
               "for e in paths: print(e.get(\"d\").replace(\"M\", \"\").replace(\"L\", \"\"))")));
  DrawnCurve out;
  size_t discs = 0;
  text >> out.panel.left >> out.panel.top >> out.panel.right >> out.panel.bottom >> discs;
  for (double x, y; text >> x >> y;) (out.discs.size() < discs ? out.discs : out.corners).emplace_back(x, y);
  return out;
}

// Two corners say where values are on the y axis: every other corner, and the line at every epoch, is where its value
// belongs, and the PNG file has the colour of the curve there.
TEST_F(LearningCurves, ACurveGoesThroughTheValuesOfAllEpochs) {
  std::vector<EpochReport> history;
  auto value_at = [](double epoch) { return 3 + std::sin(epoch / 40) + 0.3 * std::sin(epoch) + 1 / epoch; };
  for (int64_t epoch = 1; epoch <= 600; ++epoch)
    history.push_back({.epoch = epoch, .train_loss = 1, .valid_error = value_at(static_cast<double>(epoch))});
  const Picture picture = drawn({{.epochs = history}}, {}, "");
  const auto [corners, discs, panel] = curve_of(svg(), "#1f62b4");
  ASSERT_GT(corners.size(), 400u);  // 95 waves
  ASSERT_GT(panel.width(), 380);
  auto x_of = [&, box = panel](double epoch) { return box.left + box.width() * (epoch - 1) / 599; };
  auto epoch_at = [&, box = panel](double x) { return std::round(1 + 599 * (x - box.left) / box.width()); };
  const auto [top, bottom] = std::minmax_element(corners.begin(), corners.end(),
                                                 [](const Point& a, const Point& b) { return a.second < b.second; });
  const double most = value_at(epoch_at(top->first)), least = value_at(epoch_at(bottom->first));
  ASSERT_GT(most - least, 2);
  const double slope = (bottom->second - top->second) / (least - most);
  auto y_of = [&, first = *top](double value) { return first.second + slope * (value - most); };
  EXPECT_NEAR(y_of(0), panel.bottom, 0.05);
  int checked = 0;
  for (const auto& [x, y] : corners) {
    const double epoch = epoch_at(x);
    EXPECT_NEAR(x, x_of(epoch), 0.006) << epoch;
    EXPECT_NEAR(y, y_of(value_at(epoch)), 0.02) << epoch;
  }
  size_t at = 0;
  for (double epoch = 1; epoch <= 600; ++epoch) {
    const double x = x_of(epoch), y = y_of(value_at(epoch));
    while (at + 2 < corners.size() && corners[at + 1].first < x) ++at;
    const auto [x0, y0] = corners[at];
    const auto [x1, y1] = corners[at + 1];
    const double rise = (y1 - y0) / (x1 - x0);
    EXPECT_LE(std::abs(y0 + rise * (x - x0) - y) / std::hypot(1, rise), 0.06 + 0.02) << epoch;
    // Markers have white edges.
    const bool is_marked = std::any_of(
        discs.begin(), discs.end(), [&](const Point& disc) { return std::hypot(disc.first - x, disc.second - y) < 7; });
    if (is_marked || x < panel.left + 2) continue;
    const Colour found = picture.at(static_cast<int>(x), static_cast<int>(y));
    EXPECT_LT(found.red, 140) << epoch;
    EXPECT_GT(found.blue, found.red + 60) << epoch;
    ++checked;
  }
  EXPECT_GT(checked, 450);
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
  // What is drawn of training is in metrics.jsonl: no other value that was measured.
  const std::string without = read_file(svg());
  for (EpochReport& report : history) report.train_error = 1;
  drawn({{.epochs = history, .metrics = {{"loss", ""}}}}, {"loss", ""}, "");
  EXPECT_EQ(read_file(svg()), without);
  EXPECT_EQ(svg_texts(svg()).find("training"), svg_texts(svg()).rfind("training"));
  EXPECT_TRUE(has_text("training") && has_text("validation") && has_text("loss"));
}

// Losses of 1, 0.1, 0.01, ..., validation losses of ten times as much: on a logarithmic axis two lines, equally far
// from each other at all epochs.
std::vector<EpochReport> falling_losses(int64_t epochs) {
  std::vector<EpochReport> out;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    const double loss = std::pow(10.0, 1 - static_cast<double>(epoch));
    out.push_back({.epoch = epoch, .train_loss = loss, .valid_error = 5, .valid_loss = 10 * loss});
  }
  return out;
}

// The corners of the training losses (green) in the panel of the losses.
std::vector<Point> loss_corners(const std::string& svg) {
  return curve_of(svg, "#1e824c").corners;
}

TEST_F(LearningCurves, TheLossAxisMayBeLogarithmic) {
  drawn({{.epochs = falling_losses(3)}}, {}, "", ValueScale::kLogarithmic);
  std::vector<Point> corners = loss_corners(svg());
  ASSERT_EQ(corners.size(), 2u);  // a line: the value in its middle needs no corner
  EXPECT_NEAR(corners[1].first - corners[0].first, curve_of(svg(), "#1e824c").panel.width(), 3);
  for (const char* text : {"10", "1", "0.1", "0.01", "loss", "error (%)"})
    EXPECT_TRUE(has_text(text)) << text << "\n" << svg_texts(svg());
  const std::string by_hand = read_file(svg());
  // Two decades are too few for it to be chosen, and linear ones have other ticks.
  drawn({{.epochs = falling_losses(3)}}, {}, "", ValueScale::kAuto);
  EXPECT_FALSE(has_text("0.01"));
  EXPECT_EQ(loss_corners(svg()).size(), 3u);
  const std::string chosen = read_file(svg());
  drawn({{.epochs = falling_losses(3)}}, {}, "", ValueScale::kLinear);
  EXPECT_EQ(read_file(svg()), chosen);
  // Many decades: chosen, unless another one is asked for.
  drawn({{.epochs = falling_losses(6)}}, {}, "", ValueScale::kAuto);
  const std::string many = read_file(svg());
  drawn({{.epochs = falling_losses(6)}}, {}, "", ValueScale::kLogarithmic);
  EXPECT_EQ(read_file(svg()), many);
  drawn({{.epochs = falling_losses(6)}}, {}, "", ValueScale::kLinear);
  EXPECT_NE(read_file(svg()), many);
  EXPECT_FALSE(has_text("0.001"));
  EXPECT_GT(loss_corners(svg()).size(), 2u);
  // A narrow range has a power of ten, too.
  std::vector<EpochReport> narrow = falling_losses(1);
  narrow[0].train_loss = 0.33;
  narrow[0].valid_loss = 0.3;
  drawn({{.epochs = narrow}}, {}, "", ValueScale::kLogarithmic);
  EXPECT_TRUE(has_text("0.1")) << svg_texts(svg());
}

TEST_F(LearningCurves, ALogarithmicAxisLeavesOutWhatItCannotShowAndSaysSo) {
  std::vector<EpochReport> history = falling_losses(4);
  history[1].train_loss = 0;
  history[2].train_loss = -3;
  drawn({{.epochs = history}}, {}, "", ValueScale::kLogarithmic);
  EXPECT_TRUE(has_text("loss, 2 values of 0 or less left out")) << svg_texts(svg());
  EXPECT_TRUE(has_text("error (%)"));
  // Of the training losses two points are left, and no line between them.
  EXPECT_EQ(of_svg(svg(),
                   "print(sum(e.get(\"d\").count(\"L\") for e in root.iter() if e.get(\"stroke\") == \"#1e824c\" and "
                   "e.get(\"clip-path\")))"),
            "0\n");
  history[2].train_loss = 2;
  drawn({{.epochs = history}}, {}, "", ValueScale::kLogarithmic);
  EXPECT_TRUE(has_text("loss, 1 value of 0 or less left out")) << svg_texts(svg());
  for (EpochReport& report : history) report.train_loss = -1, report.valid_loss = 0;
  drawn({{.epochs = history}}, {}, "", ValueScale::kLogarithmic);
  EXPECT_TRUE(has_text("loss, linear: no value is above 0")) << svg_texts(svg());
  // One panel has all where the metric is the loss; its star is on a value that counts once.
  history = falling_losses(4);
  for (EpochReport& report : history) report.valid_error = report.valid_loss;
  history[3].valid_error = -0.5;
  history[3].best = true;
  drawn({{.epochs = history, .metrics = {{"loss", ""}}}}, {"loss", ""}, "", ValueScale::kLogarithmic);
  EXPECT_TRUE(has_text("loss, 1 value of 0 or less left out")) << svg_texts(svg());
  EXPECT_TRUE(has_text("best: -0.5 at epoch 4"));
}

TEST_F(LearningCurves, ComparedRunsMayHaveALogarithmicAxis) {
  const std::vector<ComparedRun> runs = {{"a", {{1, 10}, {2, 1}, {3, 0.1}}, {{1, 5}, {2, 0}}}, {"b", {{1, 20}}}};
  const auto draw = [&](ValueScale scale) {
    draw_compared_runs(folder.path("curves"), runs, "loss", "two runs", scale);
    return read_file(svg());
  };
  const std::string linear = draw(ValueScale::kLinear);
  EXPECT_TRUE(has_text("loss"));
  EXPECT_EQ(draw(ValueScale::kAuto), linear);
  draw(ValueScale::kLogarithmic);
  for (const char* text : {"loss, 1 value of 0 or less left out", "10", "1", "0.1", "a", "b"})
    EXPECT_TRUE(has_text(text)) << text << "\n" << svg_texts(svg());
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
    for (ValueScale scale : {ValueScale::kAuto, ValueScale::kLinear, ValueScale::kLogarithmic})
      EXPECT_EQ(drawn({{.epochs = history}}, {}, "\x01\xff <&>", scale).width, 960u) << value;
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
  std::set<Marker> markers;  // without colours eight runs differ by these
  for (size_t i = 0; i < kCurveStyles; ++i) {
    const CurveStyle style = compared_style(i);
    markers.insert(style.marker.value());
    EXPECT_FALSE(style.hollow) << i;
    EXPECT_TRUE(style.dash.empty()) << i;
    EXPECT_EQ(style.colour, curve_style(i).colour) << i;
  }
  EXPECT_EQ(markers.size(), kCurveStyles);
  draw_compared_runs(folder.path("curves"), {{"alone", {{1, 2}}}}, "loss", "one run");
  EXPECT_FALSE(has_text("training"));
  draw_compared_runs(folder.path("curves"), {}, "loss", "none");
}

}  // namespace
}  // namespace thtrain
