// Ratios, tables and figures from measurements that are written here.
#include "bench/report.h"

#include "bench/figures.h"
#include "bench/published.h"
#include "reports/json.h"
#include "reports/plot.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

Measurement measured(const std::string& implementation, const std::string& kind, std::vector<double> rounds,
                     const std::string& form = "none") {
  Measurement m;
  m.bench = "mlp";
  m.case_name = "784-500-10/60";
  m.dtype = "float32";
  m.form = form;
  m.implementation = implementation;
  m.kind = kind;
  m.unit = "examples/s";
  m.value = median(rounds);
  m.low = *std::min_element(rounds.begin(), rounds.end());
  m.high = *std::max_element(rounds.begin(), rounds.end());
  m.rounds = std::move(rounds);
  return m;
}

TEST(BenchReport, TheMedianOfAnEvenCountLiesBetween) {
  EXPECT_DOUBLE_EQ(median({30, 10, 20}), 20);
  EXPECT_DOUBLE_EQ(median({1, 100}), 50.5);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(BenchReport, RatiosAreTakenRoundByRoundOverTheFastest) {
  std::vector<Measurement> all = {measured("thtrain", "", {100, 80, 120}), measured("numpy", "user", {50, 20, 40}),
                                  measured("numpy_blas", "best", {80, 80, 60}), measured("ceiling", "", {200})};
  Ratio best = ratio_to_fastest(all[0], all, false);
  ASSERT_NE(best.peer, nullptr);
  EXPECT_EQ(best.peer->implementation, "numpy_blas");
  EXPECT_DOUBLE_EQ(best.value, 1.25);  // of 1.25, 1, 2
  EXPECT_DOUBLE_EQ(best.low, 1);
  EXPECT_DOUBLE_EQ(best.high, 2);
  Ratio user = ratio_to_fastest(all[0], all, true);
  ASSERT_NE(user.peer, nullptr);
  EXPECT_EQ(user.peer->implementation, "numpy");
  EXPECT_DOUBLE_EQ(user.value, 3);
  std::string text = ratio_tables(all);
  EXPECT_NE(text.find("| 784-500-10/60 |  | 100 | 80-120 | 50 % | numpy_blas 80 | 1.25x (1.00-2.00) | numpy 40 | "
                      "3.00x (2.00-4.00) |\n"),
            std::string::npos)
      << text;
}

TEST(BenchReport, APeerOfAnotherRowOrFormIsNoMatch) {
  std::vector<Measurement> all = {measured("thtrain", "", {100}, "owned"),
                                  measured("numpy_out", "best", {50}, "borrowed"),
                                  measured("torch", "user", {70}, "owned")};
  all[2].threads = 2;
  EXPECT_EQ(ratio_to_fastest(all[0], all, false).peer, nullptr);
  EXPECT_NE(ratio_tables(all).find("| - | - | - | - |\n"), std::string::npos);
}

TEST(BenchReport, ConvolutionsHaveTheirCandidateAndTheTimeOfACall) {
  Measurement ours = measured("thtrain", "", {100}), peer = measured("torch_cl", "best", {50});
  for (Measurement* m : {&ours, &peer}) {
    m->bench = "conv";
    m->case_name = "i10x12x11,k5x3x2,b1000/fprop";  // 60 million operations
    m->unit = "GFLOP/s";
  }
  ours.chosen = "direct 2x3";
  EXPECT_EQ(ratio_tables({ours, peer}),
            "conv, float32, 1 thread, GFLOP/s\n\n"
            "| case | candidate | thtrain | a call | of the ceiling | fastest peer | thtrain / it | fastest as users "
            "write | thtrain / it |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            "| i10x12x11,k5x3x2,b1000/fprop | direct 2x3 | 100 | 600.00 us | - | torch_cl 50 | 2.00x (2.00-2.00) | - | "
            "- |\n");
}

TEST(BenchReport, PoolingsHaveTheirCandidateAndTheTimeOfACall) {
  Measurement ours = measured("thtrain", "", {3e9}), peer = measured("torch", "user", {1e9});
  for (Measurement* m : {&ours, &peer}) {
    m->bench = "pool";
    m->case_name = "max_gradient/10x3x100x200/w3s2p1";  // 600,000 elements
    m->unit = "elements/s";
  }
  ours.chosen = "positions";
  EXPECT_EQ(
      ratio_tables({ours, peer}),
      "pool, float32, 1 thread, elements/s\n\n"
      "| case | candidate | thtrain | a call | of the ceiling | fastest peer | thtrain / it | fastest as users "
      "write | thtrain / it |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
      "| max_gradient/10x3x100x200/w3s2p1 | positions | 3.00 G | 200.00 us | - | torch 1.00 G | 3.00x (3.00-3.00) | "
      "torch 1.00 G | 3.00x (3.00-3.00) |\n");
}

TEST(BenchReport, PublishedNumbersAreNextToOurs) {
  Measurement one = measured("thtrain", "", {1000}), two = measured("thtrain", "", {1650}),
              peer = measured("numpy", "user", {70});
  one.dtype = "float64", one.bench = two.bench = "convnet", one.case_name = two.case_name = "convlarge/1";
  EXPECT_EQ(
      published_table({one, peer, two}),
      "| case | dtype | threads | thtrain, examples/s | Theano 2010, Core 2 Duo | thtrain / it | Theano 2010, GTX "
      "285, float32 | thtrain / it | others 2010 |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
      "| convlarge/1 | float64 | 1 | 1,000 | 15.4 | 65x | 79 | 12.7x | Torch 5 6.83; EBLearn 7.44; SciPy, forward "
      "2.83 |\n"
      "| convlarge/1 | float32 | 1 | 1,650 | 16.5 | 100x | 79 | 20.9x | Torch 5 6.83; EBLearn 7.44; SciPy, "
      "forward 2.83 |\n");
  EXPECT_EQ(published_table({peer}), "");
}

TEST(BenchReport, AMeasurementIsALineOfJson) {
  Measurement m = measured("numpy", "user", {50, 20, 40});
  m.setting = "openblas SkylakeX";
  m.version = "numpy 1.24.2";
  auto values = read_json(json_line(m), "here");
  std::map<std::string, std::string> wanted = {{"bench", "mlp"},
                                               {"case", "784-500-10/60"},
                                               {"dtype", "float32"},
                                               {"threads", "1"},
                                               {"form", "none"},
                                               {"implementation", "numpy"},
                                               {"kind", "user"},
                                               {"chosen", ""},
                                               {"setting", "openblas SkylakeX"},
                                               {"version", "numpy 1.24.2"},
                                               {"unit", "examples/s"},
                                               {"value", "40"},
                                               {"low", "20"},
                                               {"high", "50"}};
  EXPECT_EQ(values, wanted);
}

TEST(BenchReport, TheExponentOfGrowth) {
  std::vector<Measurement> all;
  for (double nodes : {100.0, 1000.0, 10000.0}) {
    Measurement m = measured("thtrain", "", {1000 / nodes});  // nodes / seconds, with seconds = nodes ** 2 / 1000
    m.bench = "compile";
    m.unit = "nodes/s";
    m.case_name = str("chain/", static_cast<int64_t>(nodes));
    all.push_back(m);
  }
  EXPECT_NE(compile_tables(all).find("10000 nodes 1e+05 s | 2.00 |\n"), std::string::npos) << compile_tables(all);
  EXPECT_EQ(compile_tables({}), "");
}

TEST(BenchReport, StartsAreComparedWithPeers) {
  std::vector<Measurement> all{measured("thtrain", "", {2}), measured("jax_jit", "user", {1}),
                               measured("torch_compile", "user", {0.1})};
  for (Measurement& m : all) {
    m.bench = "start";
    m.unit = "starts/s";
    m.case_name = "cold/mlp_digits";
  }
  EXPECT_EQ(compile_tables(all),
            "| start | dtype | threads | seconds | spread | peers |\n"
            "| --- | --- | --- | --- | --- | --- |\n"
            "| cold/mlp_digits | float32 | 1 | 0.5 | 0.5-0.5 | jax_jit 1 s: 2.00x, torch_compile 10 s: 20.00x |\n");
}

TEST(BenchReport, RatesAsText) {
  EXPECT_EQ(rate_text(5.257), "5.26");
  EXPECT_EQ(rate_text(57123.4), "57,123");
  EXPECT_EQ(rate_text(1004.2), "1,004");
  EXPECT_EQ(rate_text(1.2345e6), "1.23 M");
  EXPECT_EQ(rate_text(3.1e9), "3.10 G");
}

// Bars of 98 pixels: 0.64 of a quarter of the panel's 616, to whole pixels. The panel is 286 pixels high, for 110; each
// colour has a square of 10 x 10 in the legend.
TEST(BenchFigures, BarsAreAsHighAsTheRates) {
  TemporaryFolder folder;
  draw_bars(folder.path("bars"), {measured("thtrain", "", {100}), measured("numpy", "user", {50}),
                                  measured("numpy_blas", "best", {80}), measured("torch_sgd", "user", {25})});
  const Picture picture = read_png(folder.path("bars.png"));
  EXPECT_EQ(picture.width, 720u);
  EXPECT_EQ(picture.height, 420u);
  EXPECT_EQ(picture.count(plot::kBlue), 98 * 260 + 100);
  EXPECT_EQ(picture.count(plot::kOrange), 98 * 208 + 100);
  // Next to each other, on one line: thtrain, numpy as users write it, its best form, torch. (Edges of letters are
  // grey, too.)
  const std::pair<Colour, int> kBars[] = {
      {plot::kBlue, 260}, {plot::kGrey, 130}, {plot::kOrange, 208}, {plot::kGrey, 65}};
  for (int bar = 0; bar < 4; ++bar)
    for (int x = -77; x < 77; ++x)
      EXPECT_EQ(picture.is(161 + 154 * bar + x, 349, kBars[bar].first), x >= -49 && x < 49) << bar << ' ' << x;
  for (int bar = 0; bar < 4; ++bar)
    for (int y = 60; y < 350; ++y)
      EXPECT_EQ(picture.is(161 + 154 * bar, y, kBars[bar].first), y >= 350 - kBars[bar].second) << bar << ' ' << y;
}

// Panels of 400 x 270 pixels from 1,000 to 10,000,000 elements, and from 0 to 3.3 times as fast: thtrain, three times
// as fast, is a line across at the height 24.5; numexpr, twice as fast, at 106.4, 7 pixels drawn and 3 left out in
// repetition; the line at 1 is at 188.5.
TEST(BenchFigures, SpeedUpsAreCurves) {
  std::vector<Measurement> all;
  for (const char* formula : {"poly2", "2a+3b", "a+1", "2a+b^10"})
    for (const char* size : {"1000", "100000", "10000000"})
      for (auto [name, kind, rate] :
           {std::tuple("thtrain", "", 300.0), {"numpy", "user", 100.0}, {"numexpr", "user", 200.0}}) {
        all.push_back(measured(name, kind, {rate}, "owned"));
        all.back().case_name = str(formula, '/', size);
      }
  TemporaryFolder folder;
  draw_speedups(folder.path("grid"), all);
  const Picture picture = read_png(folder.path("grid.png"));
  EXPECT_EQ(picture.width, 960u);
  EXPECT_EQ(picture.height, 760u);
  for (const auto& [left, top] : {std::pair(60, 70), {540, 70}, {60, 434}, {540, 434}})
    for (int x = 1; x < 400; ++x) {
      EXPECT_TRUE(picture.is(left + x, top + 188, plot::kBlack)) << left << ' ' << top << ' ' << x;
      if (x <= 6 || std::abs(x - 200) <= 6 || x >= 394) continue;  // a marker, on a white edge
      EXPECT_TRUE(picture.is(left + x, top + 24, plot::kBlue)) << left << ' ' << top << ' ' << x;
      EXPECT_EQ(picture.is(left + x, top + 106, plot::kOrange), x % 10 < 7) << left << ' ' << top << ' ' << x;
    }
  // Markers: discs and squares at the three sizes.
  for (const auto& [left, top] : {std::pair(60, 70), {540, 70}, {60, 434}, {540, 434}})
    for (int x : {0, 200, 400}) {
      EXPECT_TRUE(picture.is(left + x, top + 22, plot::kBlue)) << left << ' ' << top << ' ' << x;
      EXPECT_TRUE(picture.is(left + x - 2, top + 104, plot::kOrange)) << left << ' ' << top << ' ' << x;
    }
}

}  // namespace
}  // namespace thtrain
