// Heat maps, confusion matrices, decision maps and histograms.
#include <cmath>
#include <limits>

#include "reports/confusion_picture.h"
#include "reports/decision_map.h"
#include "reports/heat_map.h"
#include "reports/histograms.h"
#include "reports/plot.h"
#include "tests/reports/picture_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

double lightness(Colour c) {
  return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
}

TEST(HeatMap, DarkerCellsAreLarger) {
  TemporaryFolder folder;
  HeatMap map{.row_names = {""}};
  map.values.emplace_back();
  for (int i = 0; i <= 20; ++i) {
    map.values[0].push_back(i);
    map.column_names.emplace_back("");
  }
  Canvas canvas(700, 80);
  draw_heat_map(canvas, {0, 0, 700, 80}, map);
  canvas.write_png(folder.path("m.png"));
  const Picture picture = read_png(folder.path("m.png"));
  double before = 256;
  for (const Canvas::Text& number : canvas.texts()) {
    if (number.text.empty()) continue;
    const Colour cell = picture.at(static_cast<int>(number.box.left) - 4, static_cast<int>(number.box.top) - 6);
    EXPECT_LT(lightness(cell), before) << number.text;
    before = lightness(cell);
    // Readable: dark on light, or light on dark.
    EXPECT_GT(std::abs(lightness(number.style.colour) - lightness(cell)), number.text == "0" ? 50 : 95) << number.text;
  }
  EXPECT_LT(before, 60);
}

TEST(HeatMap, NumbersContrastWithTheirCells) {
  for (bool of_row_sums : {false, true}) {
    HeatMap map{.column_names = {"", ""}, .of_row_sums = of_row_sums};
    for (int i = 0; i <= 1000; ++i) {
      map.values.push_back({static_cast<double>(i), static_cast<double>(1000 - i)});
      map.row_names.emplace_back("");
    }
    Canvas canvas(200, 20 * 1001 + 40);
    draw_heat_map(canvas, {0, 0, 200, 20 * 1001 + 40.0}, map);
    Colour cell{};
    int numbers = 0;
    for (const Canvas::Shape& shape : canvas.shapes()) {
      if (const auto* filled = std::get_if<Canvas::Filled>(&shape)) cell = filled->colour;
      const auto* number = std::get_if<Canvas::Placed>(&shape);
      if (!number || number->text.empty() || number->text == "0") continue;
      ++numbers;
      EXPECT_GE(contrast_ratio(number->style.colour, cell), 4.58) << number->text;
    }
    EXPECT_EQ(numbers, 2000);
  }
}

TEST(ConfusionPicture, CountsAreInTheirCells) {
  TemporaryFolder folder;
  const std::vector<std::vector<int64_t>> counts = {{90, 10, 0}, {5, 200, 7}, {0, 0, 1234567}};
  const std::vector<std::string> names = {"cat", "a dog with a name that is longer than any picture has room for",
                                          "<&>"};
  EXPECT_EQ(draw_confusion_matrix(folder.path("c"), counts, names, "test examples"),
            (std::vector<std::string>{folder.path("c.png"), folder.path("c.svg")}));
  const std::string texts = svg_texts(folder.path("c.svg"));
  for (const char* text : {"cat\n", "90\n", "10\n", "200\n", "7\n", "1.2e+06\n", "<&>\n", "class\n", "taken for\n",
                           "test examples\n", "a dog with a name"})
    EXPECT_NE(texts.find(text), std::string::npos) << text << texts;
  // Many classes: cells get smaller, and lose their numbers.
  const std::vector<std::vector<int64_t>> many(100, std::vector<int64_t>(100, 3));
  draw_confusion_matrix(folder.path("c"), many, std::vector<std::string>(100, "name"), "");
  EXPECT_LT(read_png(folder.path("c.png")).width, 900u);
  EXPECT_EQ(svg_texts(folder.path("c.svg")), "taken for\nclass\n");
}

TEST(ConfusionPicture, NothingIsCutOff) {
  for (size_t classes : {1, 2, 3, 10, 30}) {
    HeatMap map{.title = "a title", .row_title = "class", .column_title = "taken for"};
    for (size_t i = 0; i < classes; ++i) {
      map.row_names.push_back(str("class ", i));
      map.column_names.push_back(str("class ", i));
      map.values.emplace_back(classes, 17.0);
    }
    Canvas canvas(500, 520);
    draw_heat_map(canvas, {5, 5, 495, 515}, map);
    for (const Canvas::Text& text : canvas.texts())
      EXPECT_TRUE(text.box.left >= 5 && text.box.top >= 5 && text.box.right <= 495 && text.box.bottom <= 515)
          << text.text << " of " << classes;
  }
}

TEST(DecisionMap, RegionsAndExamples) {
  TemporaryFolder folder;
  DecisionMap map{.rows = 2, .columns = 2};
  map.classes = {0, 1, 0, 1};  // class 1 where x > 0
  map.class_names = {"left", "right"};
  map.examples = {{-0.5, 0.5, 0}, {0.5, -0.5, 1}, {7, 7, 1}};  // the last one is outside
  Canvas canvas(400, 300);
  draw_decisions(canvas, {0, 0, 400, 300}, "decisions", {.low = -1, .high = 1}, {.low = -1, .high = 1}, map);
  EXPECT_EQ(canvas.write(folder.path("d")).size(), 2u);
  const Picture picture = read_png(folder.path("d.png"));
  EXPECT_GE(picture.count(curve_style(0).colour), 10);  // an example and the legend's
  EXPECT_GE(picture.count(curve_style(1).colour), 10);
  const std::string texts = svg_texts(folder.path("d.svg"));
  for (const char* text : {"decisions\n", "left\n", "right\n", "-1.0\n"})
    EXPECT_NE(texts.find(text), std::string::npos) << text << texts;
  // Regions differ in grey.
  EXPECT_EQ(of_svg(folder.path("d.svg"), "print(sum(tag(e) == \"image\" for e in root))"), "1\n");
}

TEST(Histograms, CountsOfBins) {
  const double nan = std::nan("");
  const HistogramPanel one = histogram_of("W", std::vector<double>{0, 0.5, 1, 1, 3, 4, nan, HUGE_VAL}, 4);
  EXPECT_EQ(one.edges, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(one.counts, (std::vector<double>{2, 2, 0, 2}));
  // numpy.mean and numpy.std of the finite ones: 1.5833..., 1.4264...
  EXPECT_EQ(one.note, "mean 1.58, deviation 1.43, 2 not finite");
  const HistogramPanel equal = histogram_of("b", std::vector<double>(7, 2.5));
  EXPECT_EQ(equal.edges, (std::vector<double>{2, 3}));
  EXPECT_EQ(equal.counts, std::vector<double>{7});
  EXPECT_EQ(histogram_of("none", {}).note, "no finite values");
  EXPECT_EQ(histogram_of("none", {}).counts, std::vector<double>{0});
  const double most = std::numeric_limits<double>::max();
  for (const std::vector<double>& values :
       {std::vector<double>{-most, most}, {0, 5e-324}, {1e17, 1e17 + 16}, {-1e-300, 1e-300}}) {
    double count = 0;
    for (double c : histogram_of("far", values).counts) count += c;
    EXPECT_EQ(count, 2) << values[1];
  }
}

TEST(Histograms, PanelsForAll) {
  TemporaryFolder folder;
  std::vector<HistogramPanel> all;
  for (int i = 0; i < 5; ++i)
    all.push_back(histogram_of(str("layer", i, "/W"), std::vector<double>{0, 1, 1, 2, 5, 0, 1, 1, 2, 5}));
  EXPECT_EQ(draw_histograms(folder.path("h"), all, "parameters").size(), 2u);
  const std::string texts = svg_texts(folder.path("h.svg"));
  for (const char* text : {"parameters\n", "layer0/W\n", "layer4/W\n", "mean 1.8, deviation 1.72\n"})
    EXPECT_NE(texts.find(text), std::string::npos) << text << texts;
  const Picture picture = read_png(folder.path("h.png"));
  EXPECT_EQ(picture.width, 960u);
  EXPECT_GT(picture.count(plot::kBlue), 1000);
  draw_histograms(folder.path("h"), {}, "nothing");
}

// Bins of few numbers would be blocks that say nothing.
TEST(Histograms, FewNumbersAreLines) {
  TemporaryFolder folder;
  const HistogramPanel one = histogram_of("b", std::vector<double>{0.25});
  EXPECT_EQ(one.numbers, std::vector<double>{0.25});
  draw_histograms(folder.path("h"), {one}, "one number");
  const Picture picture = read_png(folder.path("h.png"));
  EXPECT_GT(picture.count(plot::kBlue), 100);
  EXPECT_LT(picture.count(plot::kBlue), 600);
  const HistogramPanel some = histogram_of("b", std::vector<double>{3, 1, 1, std::nan("")});
  EXPECT_EQ(some.numbers, (std::vector<double>{1, 1, 3}));
  draw_histograms(folder.path("h"), {some}, "three numbers");
  // Two lines, the first one twice as high.
  EXPECT_EQ(of_svg(folder.path("h.svg"),
                   "print(sum(e.get(\"stroke\") == \"#1f62b4\" and tag(e) != \"circle\" for e in root.iter()))"),
            "2\n");
  EXPECT_TRUE(histogram_of("W", std::vector<double>(10, 1.0)).numbers.empty());
  const double most = std::numeric_limits<double>::max();
  draw_histograms(folder.path("h"), {histogram_of("far", std::vector<double>{-most, most, 1e17})}, "far");
}

}  // namespace
}  // namespace thtrain
