#include "reports/plot.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "reports/axis.h"
#include "reports/polyline.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::vector<std::string> texts_of(const Axis& axis) {
  return tick_texts(axis, axis.tick_values());
}

TEST(Axis, TicksAreRoundNumbers) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis_ticks(1, 9, 8), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(axis_ticks(0, 0.043, 5).size(), 5u);
  EXPECT_EQ(axis_ticks(0, 999, 6), (std::vector<double>{0, 200, 400, 600, 800}));
  // Numbers with as few digits between them as doubles have.
  EXPECT_LE(axis_ticks(1e17, 1e17 + 32, 6).size(), 7u);
  EXPECT_TRUE(axis_ticks(0, HUGE_VAL, 6).empty());
  EXPECT_TRUE((Axis{.low = 0, .high = 10, .logarithmic = true}).tick_values().empty());
}

TEST(Axis, TextsHaveTheDigitsThatTheyNeed) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts_of({.high = 0.3, .ticks = 6}), (Texts{"0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"}));
  EXPECT_EQ(texts_of({.high = 4, .ticks = 4}), (Texts{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(texts_of({.low = -1, .high = 1, .ticks = 4}), (Texts{"-1.0", "-0.5", "0.0", "0.5", "1.0"}));
  EXPECT_EQ(texts_of({.high = 5e6, .ticks = 3}), (Texts{"0", "2×10⁶", "4×10⁶"}));
  EXPECT_EQ(texts_of({.high = 3e-7, .ticks = 3}), (Texts{"0", "10⁻⁷", "2×10⁻⁷", "3×10⁻⁷"}));
  EXPECT_EQ(texts_of({.low = 100000, .high = 100002, .ticks = 2}), (Texts{"100000", "100001", "100002"}));
  EXPECT_EQ(texts_of({.low = 1e-3, .high = 1, .logarithmic = true}), (Texts{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(texts_of({.low = 1e3, .high = 1e7, .logarithmic = true}), (Texts{"10³", "10⁴", "10⁵", "10⁶", "10⁷"}));
  EXPECT_EQ(texts_of({.low = 0.01, .high = 0.1, .logarithmic = true}), (Texts{"0.01", "0.02", "0.05", "0.1"}));
  EXPECT_EQ(texts_of({.low = 1e-9, .high = 1, .logarithmic = true, .ticks = 4}),
            (Texts{"10⁻⁹", "10⁻⁶", "10⁻³", "10⁰"}));
  EXPECT_EQ(texts_of({.high = 2.5, .whole = true}), (Texts{"0", "1", "2"}));
  EXPECT_TRUE(tick_texts({}, {}).empty());
}

TEST(Axis, RangesOfValues) {
  EXPECT_EQ(axis_of(0.2, 3).low, 0);
  EXPECT_EQ(axis_of(-3, -0.2).high, 0);
  EXPECT_LT(axis_of(2, 2.5).low, 2);
  EXPECT_GT(axis_of(2, 2.5).low, 1.9);
  for (auto [low, high] : {std::pair(5.0, 5.0), {0.0, 0.0}, {-1e308, 1e308}, {HUGE_VAL, -HUGE_VAL}}) {
    const Axis axis = axis_of(low, high);
    EXPECT_LT(axis.low, axis.high) << low;
    EXPECT_TRUE(std::isfinite(axis.high - axis.low)) << low;
    EXPECT_FALSE(axis.tick_values().empty()) << low;
  }
  Curve falls{"", {}, {}};
  for (int i = 1; i <= 100; ++i) falls.points.emplace_back(i, i < 4 ? 1000 : 2 + 1.0 / i);
  EXPECT_LT(value_axis({falls}).high, 3);  // the steep beginning is cut off
  for (auto& [x, y] : falls.points) y = std::pow(10, -x / 20);
  EXPECT_TRUE(value_axis({falls}).logarithmic);
  falls.points.back().second = -1;
  EXPECT_FALSE(value_axis({falls}).logarithmic);
}

// No two of a panel touch, and none is cut off.
void expect_apart(const Canvas& canvas) {
  const std::vector<Canvas::Text> texts = canvas.texts();
  for (size_t i = 0; i < texts.size(); ++i) {
    const Box& a = texts[i].box;
    EXPECT_TRUE(a.left >= 0 && a.top >= 0 && a.right <= canvas.width() && a.bottom <= canvas.height())
        << texts[i].text << " is cut off";
    for (size_t j = i + 1; j < texts.size(); ++j) {
      const Box& b = texts[j].box;
      EXPECT_FALSE(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
          << texts[i].text << " and " << texts[j].text;
    }
  }
}

TEST(Panel, TextsDoNotTouch) {
  std::mt19937 random(1);
  auto number = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (int i = 0; i < 200; ++i) {
    const double size = std::pow(10, number(-8, 8)), at = number(-2, 2) * size;
    Axis x{.low = 1, .high = std::pow(10, number(0.1, 7)), .whole = i % 2 == 0, .ticks = 12, .name = "epoch"};
    Axis y = axis_of(at, at + size * std::pow(10, number(-3, 0)), "value");
    if (i % 5 == 0) x.logarithmic = true;
    if (i % 7 == 0) y = {.low = size, .high = size * std::pow(10, number(0.1, 9)), .logarithmic = true, .name = "y"};
    Canvas canvas(static_cast<int>(number(200, 900)), static_cast<int>(number(150, 500)));
    const Margins around = Panel::margins(x, y);
    Panel panel(canvas, {around.left, around.top, canvas.width() - around.right, canvas.height() - around.bottom}, x,
                y);
    panel.draw_axes("a title");
    SCOPED_TRACE(str("panel ", i, ": ", x.high, ", ", y.low, " to ", y.high));
    expect_apart(canvas);
    if (HasFailure()) break;
  }
}

std::vector<Curve> random_curves(std::mt19937& random, size_t count, size_t points, double noise) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Curve> out;
  for (size_t k = 0; k < count; ++k) {
    Curve curve{str("curve ", k), curve_style(k)};
    const double start = 10 * uniform(random), end = 10 * uniform(random), speed = 8 * uniform(random);
    for (size_t i = 0; i < points; ++i) {
      const double x = static_cast<double>(i) / static_cast<double>(points);
      curve.points.emplace_back(x, end + (start - end) * std::exp(-speed * x) + noise * normal(random));
    }
    out.push_back(curve);
  }
  return out;
}

// Of random curves: where the legend is, the same panel without it has nothing but its grid and background.
TEST(Panel, LegendsCoverNoCurve) {
  TemporaryFolder folder;
  std::mt19937 random(7);
  int outside = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t count = 1 + random() % 7, points = 2 + random() % (i % 3 == 0 ? 600 : 30);
    const std::vector<Curve> curves = random_curves(random, count, points, i % 4 == 0 ? 2.0 : 0.05);
    const Axis x{.low = 0, .high = 1}, y = value_axis(curves);
    Canvas with(420, 300);
    const Box box{50, 30, 405, 270};
    Panel panel(with, box, x, y);
    panel.draw("", curves);
    ASSERT_TRUE(panel.legend_box());
    const Box legend = *panel.legend_box();
    outside += legend.left > panel.box().right;
    EXPECT_TRUE(legend.left >= box.left && legend.right <= box.right + 1e-9 && legend.top >= box.top) << i;

    Canvas without(420, 300);
    Panel alone(without, panel.box(), x, y);
    for (size_t k = 0; k < curves.size(); ++k) alone.draw_curve(curves[k], k);
    without.write_png(folder.path("curves.png"));
    EXPECT_EQ(read_png(folder.path("curves.png")).drawn(legend), 0) << "picture " << i;
    // Each name is in the legend.
    for (const Curve& curve : curves) {
      const std::vector<Canvas::Text> texts = with.texts();
      const auto found =
          std::find_if(texts.begin(), texts.end(), [&](const Canvas::Text& t) { return t.text == curve.name; });
      ASSERT_NE(found, texts.end());
      EXPECT_TRUE(found->box.left > legend.left && found->box.right < legend.right && found->box.top > legend.top);
    }
  }
  EXPECT_GT(outside, 5);  // both kinds of position were tried
  EXPECT_LT(outside, 150);
}

TEST(Panel, LegendsLeaveWhatIsTaken) {
  Canvas canvas(300, 200);
  const Box box{40, 20, 290, 180}, taken{150, 20, 290, 180};
  Panel panel(canvas, box, {}, {});
  panel.draw("", {{"curve", curve_style(0), {{0, 0}, {1, 0}}}}, Panel::Legend::kPlaced, {taken});
  EXPECT_LT(panel.legend_box()->right, taken.left);
  Panel none(canvas, box, {}, {});
  none.draw("", {{"curve", curve_style(0), {{0, 0}, {1, 0}}}}, Panel::Legend::kNone);
  EXPECT_FALSE(none.legend_box());
  Panel full(canvas, box, {}, {});
  full.draw("", {{"curve", curve_style(0), {{0, 0}, {1, 0}}}}, Panel::Legend::kPlaced, {box});
  EXPECT_GT(full.legend_box()->left, full.box().right);
  // A line that may be covered is, where all of the box is taken.
  Curve line{"", {.colour = plot::kGrey, .thickness = 1}, {}, true};
  for (int i = 0; i <= 60; ++i) line.points.insert(line.points.end(), {{i / 60.0, i % 2}, {i / 60.0, 1 - i % 2}});
  Panel covered(canvas, box, {}, {});
  covered.draw("", {{"curve", curve_style(0), {{0, 0}, {1, 0}}}, line});
  EXPECT_LT(covered.legend_box()->right, covered.box().right);
}

// Without colours: no two of the eight styles have the same dash, nor the same marker.
TEST(Panel, StylesDifferWithoutColours) {
  std::set<std::vector<double>> dashes;
  std::set<std::pair<Marker, bool>> markers;
  for (size_t i = 0; i < kCurveStyles; ++i) {
    dashes.insert(curve_style(i).dash);
    markers.insert({curve_style(i).marker.value(), curve_style(i).hollow});
  }
  EXPECT_EQ(dashes.size(), kCurveStyles);
  EXPECT_EQ(markers.size(), kCurveStyles);
  // In the picture: the part of a level line that is drawn, and how often it begins.
  TemporaryFolder folder;
  std::set<std::vector<bool>> patterns;
  for (size_t i = 0; i < kCurveStyles; ++i) {
    Canvas canvas(200, 20);
    CurveStyle style = curve_style(i);
    style.marker.reset();
    style.colour = {};
    Panel panel(canvas, {0, 0, 200, 21}, {}, {});
    panel.draw_curve({"", style, {{0, 0.5}, {1, 0.5}}});
    canvas.write_png(folder.path("c.png"));
    const Picture picture = read_png(folder.path("c.png"));
    std::vector<bool> pattern;
    for (int x = 0; x < 200; ++x) pattern.push_back(picture.at(x, 10).red < 100);
    patterns.insert(pattern);
  }
  EXPECT_EQ(patterns.size(), kCurveStyles);
}

TEST(Panel, CurvesGoThroughTheirPoints) {
  TemporaryFolder folder;
  Canvas canvas(220, 220);
  Panel panel(canvas, {10, 10, 210, 210}, {.high = 10}, {.high = 10});
  const Colour red{255, 0, 0};
  panel.draw_curve({"", {.colour = red, .thickness = 3}, {{0, 0}, {4, 8}, {5, std::nan("")}, {6, 2}, {10, 2}}});
  panel.draw_curve({"", {.colour = red}, {{8, 8}}});  // a point alone is a dot
  canvas.write_png(folder.path("c.png"));
  const Picture picture = read_png(folder.path("c.png"));
  for (auto [x, y] : {Point(2, 4), {3, 6}, {6.5, 2}, {9, 2}, {8, 8}})
    EXPECT_TRUE(picture.is(static_cast<int>(panel.x_of(x)), static_cast<int>(panel.y_of(y)), red)) << x << ' ' << y;
  EXPECT_EQ(picture.drawn({panel.x_of(4.3), 0, panel.x_of(5.7), 220}), 0);  // parted at what is no number
}

TEST(Panel, HistogramsAreAsHighAsTheirCounts) {
  TemporaryFolder folder;
  Canvas canvas(220, 120);
  Panel panel(canvas, {10, 10, 210, 110}, {.high = 4, .has_texts = false}, {.high = 100, .has_texts = false});
  panel.draw_histogram("", {0, 1, 2, 3, 4}, {10, 100, 0, 50}, plot::kBlue);
  canvas.write_png(folder.path("h.png"));
  const Picture picture = read_png(folder.path("h.png"));
  const int heights[] = {10, 100, 0, 50};
  for (int bar = 0; bar < 4; ++bar) {
    int height = 0;
    for (int y = 0; y < 120; ++y) height += picture.is(35 + 50 * bar, y, plot::kBlue);
    EXPECT_EQ(height, heights[bar]) << bar;
  }
  // In the SVG file the same boxes, at whole pixels: viewers round others each in its own way.
  canvas.write_svg(folder.path("h.svg"));
  EXPECT_EQ(of_svg(folder.path("h.svg"),
                   "for e in root.iter():\n  if e.get(\"fill\") == \"#1f62b4\": "
                   "print(*(e.get(k) for k in (\"x\", \"y\", \"width\", \"height\")))"),
            "10 100 50 10\n60 10 50 100\n160 60 50 50\n");
}

// One among many thousands is seen; none is not.
TEST(Panel, BarsOfFewAreSeen) {
  TemporaryFolder folder;
  Canvas canvas(120, 60);
  Panel panel(canvas, {10, 10, 110, 50}, {.high = 4, .has_texts = false}, {.high = 1e6, .has_texts = false});
  panel.draw_histogram("", {0, 1, 2, 3, 4}, {1e6, 1, 0, 20000}, plot::kBlue);
  canvas.write_png(folder.path("h.png"));
  const Picture picture = read_png(folder.path("h.png"));
  const int heights[] = {40, 1, 0, 1};
  for (int bar = 0; bar < 4; ++bar) {
    int height = 0;
    for (int y = 0; y < 60; ++y) height += picture.is(22 + 25 * bar, y, plot::kBlue);
    EXPECT_EQ(height, heights[bar]) << bar;
  }
}

TEST(Panel, ShortenedTexts) {
  const std::string text = "a rather long n\xc3\xa4me of a run";
  EXPECT_EQ(shortened(text, 1000, 12), text);
  for (double width = 20; width < 160; width += 5) {
    const std::string cut = shortened(text, width, 12);
    EXPECT_LE(Canvas::text_width(cut, 12), width);
    EXPECT_TRUE(cut.ends_with("…"));
    EXPECT_TRUE(text.starts_with(cut.substr(0, cut.size() - 3)));
    EXPECT_NE(static_cast<uint8_t>(cut[cut.size() - 4]), 0xc3) << "half a letter: " << cut;
  }
}

TEST(Polyline, ThinnedLinesStayNear) {
  Points wave;
  for (int i = 0; i < 2000; ++i) wave.emplace_back(i * 0.2, 50 * std::sin(i * 0.02));
  const Points thin = simplified(wave, 0.06);
  EXPECT_EQ(thin.size(), 264u);  // as many as simplify(0.06) of GEOS 3.14 keeps
  size_t at = 0;
  for (const auto& [x, y] : wave) {
    while (at + 2 < thin.size() && thin[at + 1].first < x) ++at;
    const auto [x0, y0] = thin[at];
    const auto [x1, y1] = thin[at + 1];
    const double slope = (y1 - y0) / (x1 - x0);
    EXPECT_LE(std::abs(y0 + slope * (x - x0) - y) / std::hypot(1, slope), 0.06 + 1e-9);
  }
  EXPECT_EQ(simplified({{0, 0}, {1, 1}}, 1).size(), 2u);
}

}  // namespace
}  // namespace thtrain
