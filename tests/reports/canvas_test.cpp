#include "reports/canvas.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "compiler/base/file.h"
#include "reports/font.h"
#include "reports/raster.h"
#include "reports/svg.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

constexpr Colour kRed{255, 0, 0}, kBlue{0, 0, 255}, kBlack{0, 0, 0};

class CanvasTest : public testing::Test {
 protected:
  Picture drawn(const Canvas& canvas) {
    canvas.write_png(folder.path("c.png"));
    return read_png(folder.path("c.png"));
  }
  TemporaryFolder folder;
};

// Ratios of WCAG 2.1: white and black have 21, #767676 is the lightest grey with 4.5 on white.
TEST(Colours, TextsContrastWithTheirGround) {
  EXPECT_NEAR(contrast_ratio(kWhite, kBlack), 21, 1e-12);
  EXPECT_NEAR(contrast_ratio(kRed, kWhite), 3.9985, 1e-4);
  EXPECT_NEAR(contrast_ratio({0x76, 0x76, 0x76}, kWhite), 4.5415, 1e-3);
  EXPECT_LT(contrast_ratio({0x77, 0x77, 0x77}, kWhite), 4.5);
  for (int red = 0; red < 256; red += 5)
    for (int green = 0; green < 256; green += 5)
      for (int blue = 0; blue < 256; blue += 15) {
        const Colour ground{static_cast<uint8_t>(red), static_cast<uint8_t>(green), static_cast<uint8_t>(blue)};
        EXPECT_GE(contrast_ratio(text_colour_on(ground), ground), 4.58) << red << ' ' << green << ' ' << blue;
      }
}

TEST_F(CanvasTest, LinesCoverWhatTheyAreOver) {
  Canvas canvas(40, 20);
  canvas.line(-10, 5.5, 50, 5.5, {.colour = kRed});
  canvas.line(5, 12.5, 35, 12.5, {.colour = kBlue, .within = Box{10, 0, 20, 20}});
  canvas.line(0, 16.25, 40, 16.25, {});  // from 15.75 to 16.75
  Picture picture = drawn(canvas);
  ASSERT_EQ(picture.width, 40u);
  ASSERT_EQ(picture.height, 20u);
  for (int x = 0; x < 40; ++x) {
    EXPECT_TRUE(picture.is(x, 5, kRed)) << x;
    EXPECT_TRUE(picture.is(x, 8, kWhite)) << x;
    EXPECT_EQ(picture.is(x, 12, kBlue), x >= 10 && x < 20) << x;
    EXPECT_NEAR(picture.at(x, 15).red, 255 * 0.75, 2) << x;
    EXPECT_NEAR(picture.at(x, 16).red, 255 * 0.25, 2) << x;
  }
}

// The coverage of all pixels adds up to the area.
TEST_F(CanvasTest, AreasOfMarkersAndLines) {
  auto area = [&](const Canvas& canvas) {
    Picture picture = drawn(canvas);
    double out = 0;
    for (size_t i = 0; i < picture.pixels.size(); i += 3) out += (255.0 - picture.pixels[i]) / 255;
    return out;
  };
  const std::pair<Marker, double> kAreas[] = {{Marker::kDisc, std::acos(-1.0) * 100},
                                              {Marker::kSquare, 18 * 18.0},
                                              {Marker::kDiamond, 25 * 25 / 2.0},
                                              {Marker::kTriangle, 23 * 20.5 / 2},
                                              {Marker::kTriangleDown, 23 * 20.5 / 2}};
  for (auto [shape, expected] : kAreas) {
    Canvas canvas(60, 60);
    canvas.marker(30.3, 29.6, {.shape = shape, .size = 20});
    EXPECT_NEAR(area(canvas), expected, 0.01 * expected) << static_cast<int>(shape);
  }
  Canvas lines(120, 120);
  lines.line(20.2, 30.1, 90.7, 77.3, {.thickness = 2.5});
  EXPECT_NEAR(area(lines), 2.5 * std::hypot(70.5, 47.2), 2);
  Canvas dashes(120, 20);
  dashes.line(10, 10, 110, 10, {.thickness = 4, .dash = {6, 4}});
  EXPECT_NEAR(area(dashes), 4 * 60, 2);
}

TEST_F(CanvasTest, DashesArePartsOfALine) {
  Canvas canvas(60, 40);
  canvas.line(0, 5.5, 60, 5.5, {.dash = {6, 4}});
  canvas.polyline({{0, 20.5}, {7, 20.5}, {7, 20.5}, {23, 20.5}, {60, 20.5}}, {.dash = {6, 4}});  // the same
  Picture picture = drawn(canvas);
  for (int x = 0; x < 60; ++x) {
    EXPECT_EQ(picture.is(x, 5, kBlack), x % 10 < 6) << x;
    EXPECT_EQ(picture.at(x, 20), picture.at(x, 5)) << x;
  }
}

// Parts of long lines are drawn one after another: nothing is missing where they meet, and nothing stands out.
TEST_F(CanvasTest, LongLinesHaveNoGaps) {
  Canvas canvas(400, 100);
  std::vector<Point> zigzag, smooth;
  for (int i = 0; i <= 4000; ++i) {
    zigzag.emplace_back(0.1 * i, i % 2 == 0 ? 30 : 34);
    smooth.emplace_back(0.1 * i, 70 + 10 * std::sin(0.01 * i));
  }
  canvas.polyline(zigzag, {.thickness = 2});
  canvas.polyline(smooth, {.thickness = 3, .colour = kBlue});
  Picture picture = drawn(canvas);
  for (int x = 1; x < 399; ++x) {
    EXPECT_TRUE(picture.is(x, 32, kBlack)) << x;
    const double y = 70 + 10 * std::sin(0.1 * (x + 0.5));
    EXPECT_TRUE(picture.is(x, static_cast<int>(y), kBlue)) << x;
    EXPECT_TRUE(picture.is(x, static_cast<int>(y) + 5, kWhite)) << x;
    EXPECT_TRUE(picture.is(x, static_cast<int>(y) - 5, kWhite)) << x;
  }
}

// More cells in a row than FreeType has memory for: a curve that stays near its last value.
TEST_F(CanvasTest, FlatCurvesThatTrembleAreDrawn) {
  for (double height : {0.1, 0.3, 0.5, 0.8, 1.0}) {
    SCOPED_TRACE(height);
    Canvas canvas(1000, 60);
    std::vector<Point> curve;
    for (int i = 0; i <= 96; ++i) curve.emplace_back(20 + 10 * i, 30 + height * (i % 3 - 1));
    canvas.polyline(curve, {.thickness = 2});
    Picture picture = drawn(canvas);
    for (int x = 20; x < 980; ++x) {
      double covered = 0;
      for (int y = 0; y < 60; ++y) covered += (255.0 - picture.at(x, y).red) / 255;
      EXPECT_NEAR(covered, 2, 0.35) << x;
    }
  }
}

TEST_F(CanvasTest, TextsAreWhereTheirBoxesSay) {
  for (bool upward : {false, true})
    for (bool bold : {false, true})
      for (Anchor anchor : {Anchor::kLeft, Anchor::kMiddle, Anchor::kRight})
        for (TextLevel level : {TextLevel::kBase, TextLevel::kMiddle, TextLevel::kTop}) {
          Canvas canvas(200, 200);
          canvas.text(100, 100, "HEMHE",
                      {.size = 20, .anchor = anchor, .level = level, .bold = bold, .upward = upward});
          const Box box = canvas.texts().at(0).box;
          const double length = upward ? box.height() : box.width(), height = upward ? box.width() : box.height();
          EXPECT_DOUBLE_EQ(length, Canvas::text_width("HEMHE", 20, bold));
          EXPECT_NEAR(height, 14.6, 0.1);
          const double share = anchor == Anchor::kLeft ? 0 : anchor == Anchor::kMiddle ? 0.5 : 1;
          const double deep = level == TextLevel::kTop ? 0 : level == TextLevel::kMiddle ? 0.5 : 1;
          EXPECT_NEAR(upward ? box.bottom - share * length : box.left + share * length, 100, 1e-9);
          EXPECT_NEAR(upward ? box.left + deep * height : box.top + deep * height, 100, 1e-9);
          // All ink is in the box, and comes near to each of its sides.
          Picture picture = drawn(canvas);
          const Box wide{box.left - 1, box.top - 1, box.right + 2, box.bottom + 2};
          EXPECT_EQ(picture.drawn(wide), picture.drawn({0, 0, 200, 200}));
          EXPECT_GT(picture.drawn(wide), 300);
          for (const Box& side : {Box{wide.left, wide.top, wide.left + 5, wide.bottom},
                                  Box{wide.right - 5, wide.top, wide.right, wide.bottom},
                                  Box{wide.left, wide.top, wide.right, wide.top + 5},
                                  Box{wide.left, wide.bottom - 5, wide.right, wide.bottom}})
            EXPECT_GT(picture.drawn(side), 5);
        }
}

TEST_F(CanvasTest, ImagesHaveTheirPixelsAsRectangles) {
  Canvas canvas(30, 20);
  canvas.image({5, 5, 25, 15}, {.width = 2, .height = 1, .channels = 3, .values = {255, 0, 0, 0, 0, 255}});
  canvas.image({0, 0, 4, 4}, {.width = 2, .height = 2, .values = {0, 255, 255, 0}});
  Picture picture = drawn(canvas);
  for (int y = 0; y < 20; ++y)
    for (int x = 5; x < 30; ++x) {
      const bool is_inside = y >= 5 && y < 15 && x < 25;
      EXPECT_EQ(picture.at(x, y), !is_inside ? kWhite : x < 15 ? kRed : kBlue) << x << ' ' << y;
    }
  EXPECT_TRUE(picture.is(1, 1, kBlack) && picture.is(2, 1, kWhite) && picture.is(1, 2, kWhite));
  EXPECT_TRUE(picture.is(3, 3, kBlack));
}

// Nothing is drawn beyond the picture, and no loop runs there.
TEST_F(CanvasTest, CoordinatesThatAreFarOrNoNumbers) {
  const double far = 1e300, most = std::numeric_limits<double>::max(), inf = HUGE_VAL, nan = std::nan("");
  Canvas canvas(40, 20);
  for (double bad : {inf, -inf, nan}) {
    canvas.line(bad, 5, 30, 5, {.thickness = 0.2, .colour = kWhite});
    canvas.polyline({{5, bad}, {30, bad}}, {.thickness = 3});
    canvas.line(5, 5, 30, 5, {.thickness = bad});
    canvas.line(5, 5, 30, 5, {.thickness = 3, .within = Box{0, 0, bad, 20}});
    canvas.fill({0, bad, 10, 20}, {});
    canvas.frame({0, bad, 10, 20}, {});
    canvas.marker(bad, 10, {.hollow = true});
    canvas.marker(10, 10, {.size = bad});
    canvas.text(bad, 10, "text", {});
    canvas.text(10, 10, "text", {.size = bad});
    canvas.image({0, 0, bad, 10}, {.width = 1, .height = 1, .values = {0}});
  }
  canvas.line(far, far, far, -far, {.thickness = 3});
  canvas.line(-far, -5, most, -5, {.thickness = 3});
  canvas.marker(far, 10, {});
  canvas.marker(10, 10, {.size = far});
  canvas.text(far, far, "text", {});
  canvas.fill({far, -far, most, far}, {});
  EXPECT_EQ(drawn(canvas).count(kWhite), 40 * 20);

  canvas.line(-most, 5.5, most, 5.5, {.colour = kRed});
  canvas.line(20.5, far, 20.5, -far, {.colour = kBlue});
  canvas.line(5.5, 12.5, 5.5, 12.5, {.thickness = 2, .colour = kBlue});  // a point
  canvas.fill({-far, 17, far, most}, {0, 255, 0});
  Picture lines = drawn(canvas);
  EXPECT_TRUE(lines.is(5, 12, kBlue));
  for (int x = 0; x < 40; ++x)
    if (x != 20) {
      EXPECT_TRUE(lines.is(x, 5, kRed)) << x;
      EXPECT_TRUE(lines.is(x, 17, {0, 255, 0})) << x;
    }
  for (int y = 0; y < 17; ++y) EXPECT_TRUE(lines.is(20, y, kBlue)) << y;
  EXPECT_EQ(of_svg((canvas.write_svg(folder.path("c.svg")), folder.path("c.svg")), "print(root.get(\"width\"))"),
            "40\n");
}

TEST_F(CanvasTest, SvgHasTheSameShapes) {
  Canvas canvas(200, 100);
  canvas.polyline({{1, 2}, {30, 40.126}, {50, 10}}, {.thickness = 1.5, .colour = {255, 128, 0}, .dash = {3, 2}});
  canvas.fill({10, 20, 30, 45}, kBlue);
  canvas.marker(70, 50, {.size = 8, .colour = kRed});
  canvas.marker(90, 50, {.shape = Marker::kCross, .size = 8});
  canvas.text(100, 80, "a < b & \"c\" \xc3\xa4 \xff\x01", {.size = 10, .anchor = Anchor::kMiddle, .bold = true});
  canvas.image({150, 10, 170, 30}, {.width = 1, .height = 1, .values = {77}});
  EXPECT_EQ(canvas.write(folder.path("c")), (std::vector<std::string>{folder.path("c.png"), folder.path("c.svg")}));
  EXPECT_EQ(of_svg(folder.path("c.svg"), "for e in root: print(tag(e), end=\" \")"),
            "rect path rect circle path text image ");
  EXPECT_EQ(
      of_svg(folder.path("c.svg"), "e = root[1]; print(e.get(\"d\"), e.get(\"stroke\"), e.get(\"stroke-dasharray\"))"),
      "M1 2 L30 40.13 50 10 #ff8000 3 2\n");
  EXPECT_EQ(svg_texts(folder.path("c.svg")), "a < b & \"c\" \xc3\xa4 \xef\xbf\xbd \n");
  const double width = Canvas::text_width(canvas.texts()[0].text, 10, true);
  EXPECT_NEAR(std::stod(of_svg(folder.path("c.svg"), "print(root[5].get(\"textLength\"))")), width, 0.006);
  EXPECT_NEAR(std::stod(of_svg(folder.path("c.svg"), "print(root[5].get(\"x\"))")), 100 - width / 2, 0.006);
  EXPECT_EQ(of_svg(folder.path("c.svg"), "print(root.get(\"font-family\"))"), "'DejaVu Sans', Verdana, sans-serif\n");
  // The image is a PNG file of one grey pixel.
  EXPECT_EQ(of_svg(folder.path("c.svg"),
                   "import base64; b = [v for k, v in root[6].items() if \"href\" in k][0]; "
                   "print(base64.b64decode(b.split(\",\")[1])[:24].hex())"),
            "89504e470d0a1a0a0000000d494844520000000100000001\n");
}

TEST_F(CanvasTest, WherePicturesCannotBeWritten) {
  Canvas canvas(10, 10);
  const std::string png = folder.path("no/c.png"), svg = folder.path("no/c.svg");
  EXPECT_EQ(error_text([&] { canvas.write_png(png); }),
            str("error: ", png, ": the file cannot be written\n  expected: a folder ", folder.path("no"),
                "\n  got:      no such folder\n  hint:     run: mkdir -p ", folder.path("no")));
  EXPECT_EQ(error_text([&] { canvas.write_svg(svg); }),
            str("error: ", svg, ": the file cannot be written\n  expected: a folder ", folder.path("no"),
                "\n  got:      no such folder\n  hint:     run: mkdir -p ", folder.path("no")));
}

TEST(Font, WidthsAreTheFilesOwn) {
  const auto font = Font::find();
  ASSERT_TRUE(font);
  EXPECT_EQ(font->family(), "DejaVu Sans");
  // Of the table hmtx of DejaVuSans.ttf 2.37, in units of 2048 to an em.
  EXPECT_DOUBLE_EQ(font->width("0", 2048, false), 1303);
  EXPECT_DOUBLE_EQ(font->width("M", 2048, false), 1767);
  EXPECT_DOUBLE_EQ(font->width(" ", 2048, false), 651);
  EXPECT_DOUBLE_EQ(font->width("0M ", 12, false), (1303 + 1767 + 651) * 12 / 2048.0);
  EXPECT_DOUBLE_EQ(font->width("0", 2048, true), 1425);  // DejaVuSans-Bold.ttf
}

// Where there is none, SVG is written, with texts that are placed by an estimate.
TEST_F(CanvasTest, WithoutAFont) {
  Canvas canvas(100, 40);
  canvas.text(50, 20, "words", {.anchor = Anchor::kMiddle});
  const std::string none = folder.write("none.ttf", "no font");
  const std::string expected =
      str("error: pictures: $THTRAIN_FONT names no font that can be read\n"
          "  expected: a TrueType or OpenType file with outlines\n  got:      ",
          none, "\n  hint:     without the variable DejaVu Sans is taken: apt-get install fonts-dejavu-core");
  {
    EnvironmentVariable variable("THTRAIN_FONT", none.c_str());
    EXPECT_EQ(error_text([&] { canvas.write_png(folder.path("c.png")); }), expected);
    EXPECT_EQ(canvas.write(folder.path("c")), std::vector<std::string>{folder.path("c.svg")});
    EXPECT_FALSE(std::filesystem::exists(folder.path("c.png")));
    EXPECT_EQ(svg_texts(folder.path("c.svg")), "words\n");
    EXPECT_GT(Canvas::text_width("words", 10), 25);
    EXPECT_EQ(without_font(), str("pictures: $THTRAIN_FONT names no font that can be read: ", none,
                                  "; they are written as SVG alone (without the variable DejaVu Sans is taken: "
                                  "apt-get install fonts-dejavu-core)"));
    Canvas(10, 10).write(folder.path("empty"));  // no text, no font
    EXPECT_TRUE(std::filesystem::exists(folder.path("empty.png")));
  }
  EXPECT_EQ(canvas.write(folder.path("c")).size(), 2u);  // the variable is read again
}

}  // namespace
}  // namespace thtrain
