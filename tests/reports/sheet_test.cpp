// Pages of small pictures, and numbers as pixels.
#include "reports/sheet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/base/str.h"
#include "reports/matrix_picture.h"

namespace thtrain {
namespace {

TEST(PixelsOfNumbers, AreScaledToTheRange) {
  const std::vector<double> values = {-1, 0, 0.5, 1, 2, 0.25};
  const Pixels grey = image_pixels(values.data(), {1, 2, 3}, {0, 1});
  EXPECT_EQ(grey.width, 3);
  EXPECT_EQ(grey.height, 2);
  EXPECT_EQ(grey.values, (std::vector<uint8_t>{0, 0, 128, 255, 255, 64}));
  const Pixels coloured = image_pixels(values.data(), {3, 1, 2}, {0, 1});
  EXPECT_EQ(coloured.channels, 3);
  EXPECT_EQ(coloured.values, (std::vector<uint8_t>{0, 128, 255, 0, 255, 64}));
  EXPECT_EQ(image_pixels(values.data(), {1, 1, 2}, {3, 3}).values, (std::vector<uint8_t>{128, 128}));
}

TEST(PixelsOfNumbers, ScalesBeginAndEndWhereTheySay) {
  const Colour white{255, 255, 255};
  EXPECT_EQ(scale_colour(ColourScale::kBlue, 0), white);
  EXPECT_EQ(scale_colour(ColourScale::kFromRed, 1), white);
  EXPECT_EQ(scale_colour(ColourScale::kSigned, 0.5), (Colour{128, 128, 128}));
  const Pixels got = scale_pixels(Tensor::matrix<double>({{0, 4}}), {0, 4}, ColourScale::kBlue);
  const Colour last = scale_colour(ColourScale::kBlue, 1);
  EXPECT_EQ(got.values, (std::vector<uint8_t>{255, 255, 255, last.red, last.green, last.blue}));
}

// CIE 1976 lightness of an sRGB colour, 0 to 100: what is left of it in black and white.
double lightness_of(Colour colour) {
  const double y = 1.05 / contrast_ratio(colour, {255, 255, 255}) - 0.05;  // relative luminance, by WCAG 2.1
  return y > 216.0 / 24389 ? 116 * std::cbrt(y) - 16 : 24389.0 / 27 * y;
}

// Without colours, numbers below 0 are darker than 0 and those above it lighter, in even steps.
TEST(PixelsOfNumbers, SignsDifferInBlackAndWhite) {
  const double none = lightness_of(scale_colour(ColourScale::kSigned, 0.5));
  EXPECT_NEAR(none, 53.6, 0.1);  // of (128, 128, 128)
  double before = -1;
  for (int i = 0; i <= 100; ++i) {
    const double lightness = lightness_of(scale_colour(ColourScale::kSigned, i / 100.0));
    if (i > 0) {
      EXPECT_GT(lightness, before + 0.4) << i;
      EXPECT_LT(lightness, before + 1.5) << i;
    }
    before = lightness;
  }
  for (double size : {0.1, 0.25, 0.5, 1.0}) {
    const double below = lightness_of(scale_colour(ColourScale::kSigned, 0.5 - size / 2)),
                 above = lightness_of(scale_colour(ColourScale::kSigned, 0.5 + size / 2));
    EXPECT_NEAR(none - below, 41 * size, 3) << size;
    EXPECT_NEAR(above - none, 41 * size, 3) << size;
  }
}

// What is on the page, in its order: texts and pictures.
struct Found {
  std::vector<Box> images;
  std::vector<std::string> texts;
};
Found found_on(const Canvas& canvas) {
  Found out;
  for (const Canvas::Shape& shape : canvas.shapes()) {
    if (const auto* image = std::get_if<Canvas::Image>(&shape)) out.images.push_back(image->box);
    if (const auto* text = std::get_if<Canvas::Placed>(&shape)) out.texts.push_back(text->text);
  }
  return out;
}

TEST(Sheets, PicturesAreInRowsAndEnlargedByWholeNumbers) {
  const Pixels tile{.width = 10, .height = 8, .values = std::vector<uint8_t>(80)};
  Sheet sheet{.title = "Title", .sections = {{.title = "Section", .columns = 2, .row_names = {"first", "second"}}}};
  for (int i = 0; i < 3; ++i) sheet.sections[0].tiles.push_back({.pixels = tile, .lines = {"below"}});
  const Canvas canvas = draw_sheet(sheet);
  EXPECT_EQ(canvas.width(), 320);
  const Found found = found_on(canvas);
  EXPECT_EQ(found.texts, (std::vector<std::string>{"Title", "Section", "first", "below", "below", "second", "below"}));
  ASSERT_EQ(found.images.size(), 3u);
  for (const Box& box : found.images) {
    EXPECT_EQ(box.width(), 50);  // 5 times
    EXPECT_EQ(box.height(), 40);
  }
  EXPECT_EQ(found.images[0].top, found.images[1].top);
  EXPECT_GE(found.images[1].left, found.images[0].right + 1);
  EXPECT_EQ(found.images[2].left, found.images[0].left);
  EXPECT_GE(found.images[2].top, found.images[0].bottom + 15);  // below the text
}

TEST(Sheets, RowsAreAsLongAsThePageIsWideUnlessColumnsAreGiven) {
  const Pixels tile{.width = 28, .height = 28, .values = std::vector<uint8_t>(784)};
  Sheet sheet{.sections = {{.tiles = std::vector<SheetTile>(40, SheetTile{.pixels = tile})}}};
  const auto in_first_row = [&] {
    const Found found = found_on(draw_sheet(sheet));
    return std::count_if(found.images.begin(), found.images.end(),
                         [&](const Box& box) { return box.top == found.images[0].top; });
  };
  EXPECT_EQ(in_first_row(), 14);  // (960 - 40 + 6) / (56 + 6)
  sheet.sections[0].columns = 20;
  EXPECT_EQ(in_first_row(), 20);
  EXPECT_EQ(draw_sheet(sheet).width(), 40 + 20 * 62 - 6);
}

TEST(Sheets, RowsOfPixelsMayHaveNames) {
  const Pixels matrix{.width = 2, .height = 3, .values = std::vector<uint8_t>(6)};
  const Canvas canvas =
      draw_sheet({.sections = {{.tiles = {{.pixels = matrix}}, .pixel_names = {"a", "b", "c"}, .side = 60}}});
  const Box box = found_on(canvas).images.at(0);
  EXPECT_EQ(box.height(), 60);
  std::vector<double> middles;
  for (const Canvas::Text& text : canvas.texts())
    if (!text.text.empty()) middles.push_back((text.box.top + text.box.bottom) / 2);
  ASSERT_EQ(middles.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(middles[i], box.top + 10 + 20 * static_cast<double>(i), 0.5);
}

std::vector<std::string> numbered(const std::string& name, int64_t count) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(str(name, i));
  return out;
}

// The box of a matrix of this shape on its page.
Box matrix_box(int64_t rows, int64_t columns) {
  const MatrixPicture drawn = draw_matrix(Tensor::zeros(DType::kFloat64, {rows, columns}), {}, {}, "weight");
  return found_on(draw_sheet({.sections = {drawn.section}})).images.at(0);
}

TEST(MatrixPictures, CellsAreAsLargeAsThePageAllows) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{300, 10},
                                                                              {10, 300},
                                                                              {1024, 10},
                                                                              {3, 1024},
                                                                              {200, 150},
                                                                              {128, 64},
                                                                              {26, 1},
                                                                              {1, 1},
                                                                              {25, 2},
                                                                              {1024, 1024}}) {
    const Box box = matrix_box(rows, columns);
    const auto longer = static_cast<double>(std::max(rows, columns)),
               shorter = static_cast<double>(std::min(rows, columns));
    EXPECT_LE(box.width(), 920) << rows << ' ' << columns;
    EXPECT_LE(box.height(), 610) << rows << ' ' << columns;
    if (rows > 25) {
      EXPECT_GE(box.width(), std::min(24.0, 250 / longer) * longer) << rows << ' ' << columns;
      EXPECT_GE(box.height(), std::min(18.0, 250 / shorter) * shorter) << rows << ' ' << columns;
    }
  }
}

TEST(MatrixPictures, HighOnesAreTransposedAndNamesAreNextToTheirCells) {
  Tensor values = Tensor::zeros(DType::kFloat64, {100, 3});
  values.data<double>()[3 * 99 + 1] = 2;  // the last row, the middle column
  const MatrixPicture high = draw_matrix(values, numbered("x", 100), {"cat", "dog", "cow"}, "weight");
  EXPECT_TRUE(high.is_transposed);
  EXPECT_EQ(high.section.pixel_names, (std::vector<std::string>{"cat", "dog", "cow"}));
  EXPECT_EQ(high.section.pixel_columns, std::vector<std::string>());  // no room
  const Pixels& pixels = high.section.tiles.at(0).pixels;
  ASSERT_EQ(pixels.width, 100);
  const Colour most = scale_colour(ColourScale::kSigned, 1), none = scale_colour(ColourScale::kSigned, 0.5);
  int64_t coloured = 0;
  for (int64_t i = 0; i < pixels.width * pixels.height; ++i) {
    if (pixels.values[static_cast<size_t>(3 * i)] == none.red) continue;
    ++coloured;
    EXPECT_EQ(pixels.values[static_cast<size_t>(3 * i)], most.red);
    EXPECT_EQ(i % 100, 99);
    EXPECT_EQ(i / 100 * 3 / pixels.height, 1);
  }
  EXPECT_EQ(coloured * 3, pixels.height);

  const MatrixPicture low =
      draw_matrix(Tensor::zeros(DType::kFloat64, {2, 3}), {"a", "b"}, {"cat", "dog", "a long name"}, "weight");
  EXPECT_FALSE(low.is_transposed);
  const Canvas canvas = draw_sheet({.sections = {low.section}});
  const Box box = found_on(canvas).images.at(0);
  const double width = box.width() / 3, height = box.height() / 2;
  for (const Canvas::Text& text : canvas.texts()) {
    const double x = (text.box.left + text.box.right) / 2, y = (text.box.top + text.box.bottom) / 2;
    if (text.text == "b") {
      EXPECT_NEAR(y, box.top + 1.5 * height, 0.5);
    } else if (text.text == "dog") {
      EXPECT_NEAR(x, box.left + 1.5 * width, 3);
      EXPECT_GT(text.box.top, box.bottom);
    } else if (text.text == "a long name") {
      EXPECT_GT(text.box.top, box.bottom);
    }
  }
}

// The bar below a matrix: its colours are those of the cells, with their numbers and a mark at 0.
TEST(MatrixPictures, ABarSaysWhichNumbersTheColoursAre) {
  const MatrixPicture drawn = draw_matrix(Tensor::matrix<double>({{-0.5, 0, 0.25}}), {}, {}, "weight");
  const Canvas canvas = draw_sheet({.sections = {drawn.section}});
  const Found found = found_on(canvas);
  ASSERT_EQ(found.images.size(), 2u);
  const Box bar = found.images[1];
  std::vector<std::string> texts;
  for (const Canvas::Text& text : canvas.texts()) {
    if (text.text.empty()) continue;
    texts.push_back(text.text);
    EXPECT_GT(text.box.top, bar.bottom) << text.text;
    EXPECT_LT(text.box.bottom, canvas.height() - 4) << text.text;
    const double middle = (text.box.left + text.box.right) / 2;
    if (text.text == "-0.5") {
      EXPECT_NEAR(text.box.left, bar.left, 0.5);
    } else if (text.text == "0.5") {
      EXPECT_NEAR(text.box.right, bar.right, 0.5);
    } else {
      EXPECT_NEAR(middle, (bar.left + bar.right) / 2, 0.5) << text.text;
    }
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"-0.5", "0", "weight", "0.5"}));
  std::vector<const Pixels*> pixels;
  for (const Canvas::Shape& shape : canvas.shapes())
    if (const auto* image = std::get_if<Canvas::Image>(&shape)) pixels.push_back(&image->pixels);
  // Each cell has the colour of its position on the bar.
  const auto colour_at = [](const Pixels& of, double part) {
    const auto i = static_cast<size_t>(std::lround(part * static_cast<double>(of.width - 1)));
    return std::vector<int>{of.values[3 * i], of.values[3 * i + 1], of.values[3 * i + 2]};
  };
  for (const auto& [cell, part] : {std::pair(0.0, 0.0), {0.5, 0.5}, {1.0, 0.75}}) {
    const std::vector<int> of_cell = colour_at(*pixels[0], cell), of_bar = colour_at(*pixels[1], part);
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(of_cell[c], of_bar[c], 3) << cell << ' ' << c;
  }
}

TEST(Sheets, LongTextIsCut) {
  const Pixels tile{.width = 28, .height = 28, .values = std::vector<uint8_t>(784)};
  const std::string name(400, 'm');
  const Found found = found_on(draw_sheet({.sections = {{.tiles = {{.pixels = tile, .lines = {name}}}}}}));
  ASSERT_EQ(found.texts.size(), 2u);
  EXPECT_LT(found.texts[1].size(), 45u);
  EXPECT_TRUE(found.texts[1].ends_with("m…"));
}

}  // namespace
}  // namespace thtrain
