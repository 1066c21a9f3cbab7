#include "reports/learning_curves.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "datasets/file.h"
#include "reports/canvas.h"
#include "reports/plot.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

struct Picture {
  uint32_t width, height;
  std::vector<uint8_t> pixels;
  bool is(int x, int y, Colour c) const {
    const uint8_t* p = &pixels[(static_cast<size_t>(y) * width + static_cast<size_t>(x)) * 3];
    return p[0] == c.red && p[1] == c.green && p[2] == c.blue;
  }
};

Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  Picture out{image.width, image.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  EXPECT_NE(png_image_finish_read(&image, nullptr, out.pixels.data(), 0, nullptr), 0);
  return out;
}

TEST(LearningCurves, TicksAreRoundNumbers) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis_ticks(1, 9, 8), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(axis_ticks(0, 0.043, 5).size(), 5u);
  EXPECT_EQ(axis_ticks(0, 999, 6), (std::vector<double>{0, 200, 400, 600, 800}));
}

TEST(LearningCurves, ASmallPictureOfALongRun) {
  std::vector<EpochReport> history;
  for (int64_t epoch = 1; epoch <= 1000; ++epoch) {
    double x = static_cast<double>(epoch);
    history.push_back(
        {.epoch = epoch, .train_loss = 1 / std::sqrt(x), .valid_error = 2 + 10 / x, .best = epoch == 900});
    if (epoch % 7 == 0) history.back().test_error = 2.2 + 9 / x + std::sin(x);
  }
  TemporaryFolder folder;
  draw_learning_curves(folder.path("curves.png"), history);
  EXPECT_LT(read_file(folder.path("curves.png")).size(), 50'000u);
  Picture picture = read_png(folder.path("curves.png"));
  EXPECT_EQ(picture.width, 960u);
  EXPECT_EQ(picture.height, 400u);
  int coloured = 0;
  for (int y = 0; y < 400; ++y)
    for (int x = 0; x < 480; ++x) coloured += picture.is(x, y, {31, 98, 180});
  EXPECT_GT(coloured, 400);
}

TEST(LearningCurves, ShortAndStrangeRuns) {
  TemporaryFolder folder;
  draw_learning_curves(folder.path("one.png"), {{.epoch = 1, .train_loss = 0.5}});
  draw_learning_curves(folder.path("zero.png"), {{.epoch = 1, .train_loss = 0, .valid_error = 0},
                                                 {.epoch = 2, .train_loss = -1, .valid_error = 0}});
  draw_learning_curves(folder.path("none.png"), {});
  EXPECT_EQ(read_png(folder.path("none.png")).width, 960u);
  EXPECT_THROW(draw_learning_curves(folder.path("no/curves.png"), {}), UserError);
}

TEST(Canvas, LinesTextAndEdges) {
  TemporaryFolder folder;
  Canvas canvas(40, 20);
  canvas.line(-10, 5.5, 50, 5.5, {.colour = {255, 0, 0}});
  canvas.line(5, 12.5, 35, 12.5, 1, {0, 0, 255}, {10, 0, 20, 20});
  canvas.text(30, 14, "1\xc3\xa4", {0, 0, 0});  // runs over the edge
  canvas.write_png(folder.path("c.png"));
  Picture picture = read_png(folder.path("c.png"));
  for (int x = 0; x < 40; ++x) {
    EXPECT_TRUE(picture.is(x, 5, {255, 0, 0})) << x;
    EXPECT_TRUE(picture.is(x, 8, {255, 255, 255})) << x;
    EXPECT_EQ(picture.is(x, 12, {0, 0, 255}), x >= 10 && x < 20) << x;
  }
  EXPECT_TRUE(picture.is(32, 14, {0, 0, 0}));  // the top of the 1
}

// Nothing is drawn beyond the picture, and no loop runs there.
TEST(Canvas, CoordinatesThatAreFarOrNoNumbers) {
  TemporaryFolder folder;
  const double far = 1e300, most = std::numeric_limits<double>::max(), inf = HUGE_VAL, nan = std::nan("");
  Canvas canvas(40, 20);
  for (double bad : {inf, -inf, nan}) {
    canvas.line(bad, 5, 30, 5, 3, {});
    canvas.line(5, bad, 30, bad, 3, {});
    canvas.line(5, 5, 30, 5, bad, {});
    canvas.line(5, 5, 30, 5, 3, {}, {0, 0, bad, 20});
    canvas.fill({0, bad, 10, 20}, {});
    canvas.ring(bad, 10, 3, 1, {});
    canvas.ring(10, 10, bad, 1, {});
  }
  canvas.line(far, far, far, -far, 3, {});
  canvas.line(-far, -5, most, -5, 3, {});
  canvas.ring(far, 10, 3, 1, {});
  canvas.ring(10, 10, far, 1, {});
  canvas.fill({far, -far, most, far}, {});
  canvas.write_png(folder.path("white.png"));
  Picture white = read_png(folder.path("white.png"));
  EXPECT_EQ(std::count(white.pixels.begin(), white.pixels.end(), 255), 40 * 20 * 3);

  canvas.line(-most, 5.5, most, 5.5, 1, {255, 0, 0});
  canvas.line(20.5, far, 20.5, -far, 1, {0, 0, 255});
  canvas.line(5.5, 12.5, 5.5, 12.5, 1, {0, 0, 255});  // a point
  canvas.fill({-far, 17, far, most}, {0, 255, 0});
  canvas.write_png(folder.path("lines.png"));
  Picture lines = read_png(folder.path("lines.png"));
  EXPECT_TRUE(lines.is(5, 12, {0, 0, 255}));
  for (int x = 0; x < 40; ++x)
    if (x != 20) {
      EXPECT_TRUE(lines.is(x, 5, {255, 0, 0})) << x;
      EXPECT_TRUE(lines.is(x, 17, {0, 255, 0})) << x;
    }
  for (int y = 0; y < 17; ++y) EXPECT_TRUE(lines.is(20, y, {0, 0, 255})) << y;
}

TEST(LearningCurves, ValuesThatNoRunHas) {
  TemporaryFolder folder;
  const double most = std::numeric_limits<double>::max(), inf = HUGE_VAL, nan = std::nan("");
  for (double value : {1e300, -1e300, most, -most, inf, -inf, nan, 5e-324}) {
    std::vector<EpochReport> history;
    for (int64_t epoch : {int64_t{1}, int64_t{2}, std::numeric_limits<int64_t>::min(), int64_t{1} << 62})
      history.push_back({.epoch = epoch,
                         .train_loss = epoch == 2 ? 1 : value,
                         .valid_error = value,
                         .test_error = epoch == 1 ? 5 : value,
                         .best = true});
    draw_learning_curves(folder.path("curves.png"), history);
    EXPECT_EQ(read_png(folder.path("curves.png")).width, 960u) << value;
  }
  // Numbers with as few digits between them as doubles have.
  EXPECT_LE(axis_ticks(1e17, 1e17 + 32, 6).size(), 7u);
  EXPECT_TRUE(axis_ticks(0, inf, 6).empty());
  EXPECT_TRUE((Axis{.low = 0, .high = 10, .logarithmic = true}).tick_values().empty());
}

}  // namespace
}  // namespace thtrain
